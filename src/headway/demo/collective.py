"""Two ranks that average over a socket, as data-parallel training does; the other one can stop answering.

The other rank is a thread that answers each message with the same bytes: what matters here is only that a step needs it.
"""

from __future__ import annotations

import socket
import threading


class Group:
    """This rank's end of the group.

    Args:
        answers: how often the other rank takes part before it is lost; None: always.
    """

    def __init__(self, answers: int | None = None) -> None:
        self._here, self._there = socket.socketpair()
        self._answers = answers
        threading.Thread(target=self._other_rank, name="rank-1", daemon=True).start()

    def all_reduce(self, value: float) -> float:
        """The mean of both ranks' values. Waits for the other rank, however long that takes."""
        self._here.sendall(value.hex().encode() + b"\n")
        received = b""
        while not received.endswith(b"\n"):
            received += self._here.recv(64)
        return (value + float.fromhex(received.decode())) / 2

    def _other_rank(self) -> None:
        answered = 0
        while self._answers is None or answered < self._answers:
            message = self._there.recv(64)
            if not message:
                return
            self._there.sendall(message)
            answered += 1
