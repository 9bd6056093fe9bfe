"""Ports on loopback that are no servers of Headway: for tests of what happens when another program answers, or nobody."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self


class Listener:
    """Accepts connections, and serves each in a thread of its own; closed, it cuts them all.

    Args:
        serve: takes one connection, until it is over or cut.
        port: 0 for any free one.
    """

    def __init__(self, serve: Callable[[socket.socket], None], port: int = 0) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", port))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="listener", daemon=True).start()

    def opened(self, connection: socket.socket) -> None:
        """Another connection that is cut with the others."""
        self._open.append(connection)

    def close(self) -> None:
        """Cuts everything."""
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), name="listener", daemon=True).start()


@contextmanager
def black_hole() -> Iterator[str]:
    """Base URL of a port that accepts connections in the kernel and never reads from them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def refused_url() -> str:
    """Base URL of a port that nobody listens on."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{closed.getsockname()[1]}"
