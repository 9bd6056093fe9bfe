"""One write for one answer: what is written to a connection in one turn of the event loop goes to the socket at once.

uvicorn writes the head and the body of an answer one after the other, and uvloop hands each to the kernel: two system calls, and
two awakenings of whoever reads them. That is a tenth of the processor time that a report takes.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from headway.server.heads import BoundedHeads


class GatheringTransport:
    """A transport that gathers what is written until the event loop comes round; all else is as in the one behind it."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Takes bytes to be sent."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """Closes the connection once everything is sent."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data, self._parts = b"".join(self._parts), []
            if not self._transport.is_closing():
                self._transport.write(data)


class HttpProtocol(BoundedHeads):
    """uvicorn's HTTP, over a :class:`GatheringTransport`, and with heads of bounded size."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        gathering = GatheringTransport(cast("asyncio.Transport", transport), asyncio.get_running_loop())
        super().connection_made(cast("asyncio.Transport", gathering))
