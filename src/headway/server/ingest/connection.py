"""One write for one answer: what is written to a connection in one turn of the event loop goes to the socket at once.

uvicorn writes the head and the body of an answer one after the other, and uvloop hands each to the kernel: two system calls, and
two awakenings of whoever reads them. That is a tenth of the processor time that a report takes.
"""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from headway.protocol.limits import MAX_BODY_BYTES
from headway.server.auth import Hosts
from headway.server.edge import STATUS_PREFIX
from headway.server.ingest.heads import BoundedHeads
from headway.server.ingest.status import HEADERS, Headers, StatusEndpoint

_CLOSE = (b"connection", b"close")
_FIXED = b"".join(b"%b: %b\r\n" % header for header in HEADERS)


class GatheringTransport:
    """A transport that gathers what is written until the event loop comes round; all else is as in the one behind it."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self.is_closing = transport.is_closing  # asked several times a request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Takes bytes to be sent."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def send(self, data: bytes) -> None:
        """Sends bytes at once, after what was gathered."""
        self._flush()
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Closes the connection once everything is sent."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data, self._parts = b"".join(self._parts), []
            if not self._transport.is_closing():
                self._transport.write(data)


class _Exchange:
    """Stands for a report under way where uvicorn looks for a request of its own: what comes next queues up behind it."""

    __slots__ = ("disconnected", "keep_alive", "message_event", "response_complete")

    def __init__(self) -> None:
        self.response_complete = self.disconnected = False
        self.keep_alive = True
        self.message_event = self

    def set(self) -> None:
        """Nobody waits for it."""


class HttpProtocol(BoundedHeads):
    """uvicorn's HTTP, over a :class:`GatheringTransport`, and with heads of bounded size.

    A report that is here to its last byte goes straight to its endpoint: no task, no scope, no events. That halves what HTTP
    costs of a report. All else, and all that is odd in any way, is handed to uvicorn as if nothing had been.
    """

    _held: list[bytes] | None = None
    """The body of what may be such a report, as far as it is here."""
    _stirred = 0.0
    """When something came last, or was answered."""

    def __init__(self, *arguments: Any, status: StatusEndpoint, hosts: Hosts, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._status = status
        self._hosts = hosts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        gathering = GatheringTransport(cast("asyncio.Transport", transport), asyncio.get_running_loop())
        super().connection_made(cast("asyncio.Transport", gathering))

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

    def _unset_keepalive_if_required(self) -> None:
        """Stands for stopping the timer with every request, to start another: it runs on, and looks again when it is due."""
        self._stirred = self.loop.time()

    def on_response_complete(self) -> None:
        """A request was answered; the next may begin."""
        if self.pipeline or self.timeout_keep_alive_task is None:
            super().on_response_complete()
        else:
            self._stirred = self.loop.time()
            self.server_state.total_requests += 1
            if not self.transport.is_closing():
                self.flow.resume_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Closes a connection on which nothing has come for as long as the settings allow."""
        self.timeout_keep_alive_task = None
        under_way: Any = self.cycle
        left = self._stirred + self.timeout_keep_alive - self.loop.time()
        if under_way is not None and not under_way.response_complete:
            return  # its answer starts the timer again
        if left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def on_message_begin(self) -> None:
        """A head follows. What uvicorn makes of one waits until it is known to be uvicorn's."""
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def _begin(self) -> None:
        url, headers, expect = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expect
        self.headers += headers

    def data_received(self, data: bytes) -> None:
        """Takes in what came."""
        super().data_received(data)
        if self._held is not None and not self.transport.is_closing():
            self._hand_on()

    def on_headers_complete(self) -> None:
        """A body follows."""
        before: Any = self.cycle
        if (before is None or before.response_complete) and self.url.startswith(STATUS_PREFIX) and self._is_plain():
            self._held, self._head = [], -math.inf
        else:
            self._begin()
            super().on_headers_complete()

    def _is_plain(self) -> bool:
        parser = self.parser
        if parser.get_method() != b"POST" or parser.get_http_version() != "1.1":
            return False
        if not parser.should_keep_alive() or parser.should_upgrade() or self.expect_100_continue:
            return False
        host = next((value for name, value in self.headers if name == b"host"), b"")
        return host in self._hosts and b"?" not in self.url and b"#" not in self.url

    def on_body(self, body: bytes) -> None:
        """Takes in a part of a body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """The next head follows."""
        if self._held is not None:
            content = b"".join(self._held)
            if len(content) <= MAX_BODY_BYTES:
                self._held, self._head = None, 0
                exchange: Any = _Exchange()
                self.cycle = exchange
                self._status.answer(self.url, self.headers, content, partial(self._say, exchange))
                return
            self._hand_on()
        super().on_message_complete()

    def _hand_on(self) -> None:
        """Gives uvicorn what was held back."""
        held, self._held = self._held or [], None
        self._begin()
        super().on_headers_complete()
        for part in held:
            super().on_body(part)

    def _say(self, exchange: _Exchange, code: int, body: bytes, extra: Headers) -> None:
        exchange.response_complete = True
        if exchange.disconnected:
            return
        if not exchange.keep_alive:
            extra = [*extra, _CLOSE]
        lines = [b"%b: %b\r\n" % header for header in (*self.server_state.default_headers, *extra)]
        cast("GatheringTransport", self.transport).send(
            b"%bcontent-length: %d\r\n%b%b\r\n%b" % (STATUS_LINE[code], len(body), _FIXED, b"".join(lines), body)
        )
        if _CLOSE in extra:
            self.transport.close()
        self.on_response_complete()
