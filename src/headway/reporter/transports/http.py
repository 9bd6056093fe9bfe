"""Posts reports over one kept-alive connection. Used by the reporter's thread alone.

Tokens and certificates are files that others replace while the run goes on (the kubelet does so every hour), so a refusal
means: read them again and try once more, and only then tell.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headway.errors import ForbiddenError, HeadwayError, InvalidError, UnavailableError
from headway.protocol.codec import loads
from headway.protocol.directive import Answer
from headway.protocol.limits import HEADER_AGE, MAX_BODY_BYTES
from headway.protocol.problem import error_from_status
from headway.protocol.wire import decode_answer
from headway.reporter.discovery import proved

_MOST_ANSWER: Final = 4 * MAX_BODY_BYTES


class HttpTransport:
    """One status URL.

    Args:
        url: the full status URL.
        token: the bearer token, or
        token_file: the file that holds it.
        ca_file: certificates to trust; None for the system's.
        timeout: seconds for connecting, and for each wait on the answer.
        prove: have the other side prove that it knows the token, on every connection, before it is sent there.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_file: Path | None = None,
        ca_file: Path | None = None,
        timeout: float = 5.0,
        prove: bool = False,
    ) -> None:
        parts = urlsplit(url)
        self.url = url
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._token, self._token_file, self._ca_file = token, token_file, ca_file
        self._timeout = timeout
        self._prove = prove
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes, *, age: float = 0.0) -> Answer | None:
        """Sends one report. None: a stock server took it.

        Raises:
            UnavailableError: nobody answered in time, or the answer was 5xx.
            RateLimitedError: too fast.
            ForbiddenError: the token was refused, also after it was read again.
            InvalidError: the report was refused; a smaller one may pass.
            HeadwayError: any other answer.
        """
        try:
            return self._post(body, age)
        except ForbiddenError:
            self._forget()
            return self._post(body, age)
        except UnavailableError as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):  # the certificates may have been replaced
                self._forget()
                return self._post(body, age)
            raise

    def close(self) -> None:
        """Closes the connection; the next post opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def limit(self, seconds: float) -> None:
        """From now on waits no longer than this: the run is ending."""
        self._timeout = max(0.05, min(self._timeout, seconds))
        if self._connection is not None and self._connection.sock is not None:
            self._connection.sock.settimeout(self._timeout)

    def abandon(self) -> None:
        """In a forked child: closes the child's copy of the socket, which the parent goes on using."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            connection.sock.close()

    def _forget(self) -> None:
        self.close()
        if self._token_file is not None:
            self._token = None

    def _post(self, body: bytes, age: float) -> Answer | None:
        headers = {"Content-Type": "application/json", "Connection": "keep-alive"}
        if token := self._read_token():
            headers["Authorization"] = f"Bearer {token}"
        if age > 0:
            headers[HEADER_AGE] = f"{age:.3f}"
        fresh = self._connection is None
        try:
            try:
                return self._exchange(body, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if fresh:
                    raise
                return self._exchange(body, headers)  # the kept connection had been closed by the other side meanwhile
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise UnavailableError(f"{type(error).__name__}: {error}") from error

    def _exchange(self, body: bytes, headers: dict[str, str]) -> Answer | None:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect()
        connection.request("POST", self._target, body, headers)
        response = connection.getresponse()
        content = response.read(_MOST_ANSWER)
        if response.will_close or not response.isclosed():
            self.close()
        if 200 <= response.status < 300:
            return _read_answer(content)
        raise _error(response, content)

    def _connect(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context(cafile=self._ca_file)
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._prove:
            self._demand_proof(connection)
        return connection

    def _demand_proof(self, connection: http.client.HTTPConnection) -> None:
        """The server may be gone, and its port another program's: that must not get to see the token."""
        connection.auto_open = 0  # a closed connection stays closed: another would not have proved anything
        try:
            known = proved(connection, self._token or "") and connection.sock is not None
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        if not known:
            connection.close()
            raise ConnectionError(f"what answers at {self._host}:{self._port} is not this user's server")

    def _read_token(self) -> str | None:
        if self._token is None and self._token_file is not None:
            try:
                self._token = self._token_file.read_text(encoding="utf-8").strip() or None
            except (OSError, ValueError) as error:
                raise ForbiddenError(f"the token file {self._token_file} cannot be read: {error}") from error
            if self._token is None:
                raise ForbiddenError(f"the token file {self._token_file} is empty")
        return self._token


def _read_answer(content: bytes) -> Answer | None:
    try:
        return decode_answer(loads(content)) if content.strip() else None
    except InvalidError:
        return None  # taken in by something that does not speak our protocol


def _error(response: http.client.HTTPResponse, content: bytes) -> HeadwayError:
    retry_after: float | None = None
    try:
        retry_after = max(0.0, float(response.headers.get("Retry-After", "")))
    except ValueError:
        pass
    message = f"{response.status} {response.reason}"
    try:
        message = f"{response.status} {json.loads(content)['message']}"[:300]
    except (ValueError, KeyError, TypeError):
        pass
    if response.status >= 500:
        return UnavailableError(message, retry_after=retry_after)
    return error_from_status(response.status, message, retry_after=retry_after)
