"""HTTP connections with heads of bounded size: uvicorn's own parser takes them in however large they grow."""

from __future__ import annotations

import math
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD: Final = 64 * 1024
"""Bytes that the head of a request may have without being complete: far more than any client of ours sends."""
_REFUSAL: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """One connection. A head that grows beyond the bound is answered 431, and the connection closed."""

    _head: float = 0
    """Bytes of a head that is not complete yet; minus infinity within a body."""

    def data_received(self, data: bytes) -> None:
        """Takes in what came."""
        if self.transport.is_closing():
            return
        self._head += len(data)
        super().data_received(data)
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_REFUSAL)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """A body follows."""
        self._head = -math.inf
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next head follows."""
        self._head = 0
        super().on_message_complete()
