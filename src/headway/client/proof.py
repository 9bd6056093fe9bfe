"""Has a server of this machine prove who it is, on each new connection, before a request with a token goes over it.

Hooked into the HTTP library where it tells of a connection that was just made. The question and its answer travel over that very
connection, so nobody can take the port in between.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from typing import Any, Final

import httpx2

from headway.reporter.discovery import LONGEST_PROOF, is_proof, proof_target

_CONNECTED: Final = "connection.connect_tcp.complete"
_LONGEST_HEAD: Final = 16 * 1024
_STEP: Final = 4096


class Demand:
    """The demand for a proof, as the HTTP library's ``trace`` extension.

    Args:
        url: of the server.
        secret: what it must know.
        timeout: seconds for each wait.
    """

    def __init__(self, url: str, secret: str, timeout: float) -> None:
        self._url = url
        self._secret = secret
        self._timeout = timeout

    def in_sync(self, event: str, info: dict[str, Any]) -> None:
        """The hook of synchronous clients.

        Raises:
            httpx2.ConnectError: the other side is not this user's server.
        """
        if event != _CONNECTED:
            return
        stream, talk = info["return_value"], self._talk()
        try:
            stream.write(next(talk), self._timeout)
            while True:
                talk.send(stream.read(_STEP, self._timeout))
        except StopIteration as end:
            if end.value:
                return
        except BaseException:
            stream.close()
            raise
        stream.close()
        raise self._refusal()

    async def in_async(self, event: str, info: dict[str, Any]) -> None:
        """The hook of asynchronous clients; raises as the other."""
        if event != _CONNECTED:
            return
        stream, talk = info["return_value"], self._talk()
        try:
            await stream.write(next(talk), self._timeout)
            while True:
                talk.send(await stream.read(_STEP, self._timeout))
        except StopIteration as end:
            if end.value:
                return
        except BaseException:
            await stream.aclose()
            raise
        await stream.aclose()
        raise self._refusal()

    def _refusal(self) -> httpx2.ConnectError:
        return httpx2.ConnectError(f"what answers at {self._url} is not this user's server")

    def _talk(self) -> Generator[bytes, bytes, bool]:
        """Yields the request, is sent what comes back, and returns whether that is the proof."""
        nonce = secrets.token_hex(16)
        host = self._url.partition("://")[2]
        received = yield f"GET {proof_target(nonce)} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("ascii")
        while b"\r\n\r\n" not in received:
            more = yield b""
            if not more or len(received) > _LONGEST_HEAD:
                return False
            received += more
        head, _, body = received.partition(b"\r\n\r\n")
        length = _length(head)
        if length is None or length > LONGEST_PROOF:
            return False
        while len(body) < length:
            more = yield b""
            if not more:
                return False
            body += more
        return len(body) == length and is_proof(body, self._secret, nonce)


def _length(head: bytes) -> int | None:
    """What Content-Length says; None where the answer is no success, has none, or ends the connection."""
    status, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = fields.get("content-length", "")
    kept = fields.get("connection", "").lower() != "close"
    return (
        int(length) if status.split(" ")[1:2] == ["200"] and length.isdecimal() and len(length) < 6 and kept else None
    )
