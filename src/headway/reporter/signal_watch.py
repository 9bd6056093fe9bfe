"""Hears of a signal where the main thread does not: in a call that never returns, such as a collective whose other end is gone.

Python runs a signal's handler on its main thread, between two of its instructions. In the meantime the interpreter writes the
signal's number to a wakeup descriptor, if it has one, from wherever the signal arrived. Ours is one end of a socket, and a thread
waits at the other::

    signal ──► interpreter's own C handler ──► socket ──► this thread ──► the main one has not come round to it? overdue
                        └──► main thread's handler, once it runs again ──► handled

The kernel says with each byte which process wrote it, so a forked child that has inherited the socket is never mistaken for this
process. There is one wakeup descriptor in an interpreter: where somebody has set one (an event loop with signal handlers), it is
left alone, and whoever sets one after us has it. Then, and where the kernel does not tell, the thread only counts down.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from headway.reporter.notices import log

_MAIN_SECONDS: Final = 1.0
"""What the main thread gets to run its handler."""
_CREDENTIALS: Final = struct.Struct("3i")
"""Linux's ``struct ucred``: process, user, group."""
_MOST_BYTES: Final = 256
_HANDLED: Final = b"\xff"
_LOOK: Final = b"\0"
"""What we say ourselves; everything else is a signal's number."""
_PAUSE: Final = 0.05
"""Seconds between two looks at signals that mean nothing here: a timer may send a thousand a second."""

_left_open: list[int] = []
"""Our descriptors of earlier watches that the interpreter may still have."""


class SignalWatch:
    """Watches one signal, and a time. Made on the main thread.

    Args:
        number: the signal.
        overdue: called on the watching thread when it came and the main thread has not run its handler within a second; gets the
            monotonic time at which it came.
        due_at: the monotonic time at which ``due`` is to be called; None: not yet.
        due: called on the watching thread when that time has come, once.
    """

    def __init__(
        self,
        number: int,
        *,
        overdue: Callable[[float], None],
        due_at: Callable[[], float | None],
        due: Callable[[], None],
    ) -> None:
        self._number = number
        self._overdue, self._due_at, self._due = overdue, due_at, due
        self._pid = os.getpid()
        self._there, self._here = socket.socketpair()
        self._there.setblocking(False)
        self._sending = threading.Lock()
        """Held while a byte is sent, or the socket closed; never waited for by who sends, for that may be a handler."""
        self._closed = self._chained = False
        self._since: float | None = None
        """When it was seen that the signal lies there, as long as it does."""
        self._unheard = False
        """The main thread ran its handler, which there was no room to say."""
        self._told = self._over = False
        """``overdue``, for the signal that lies there, and ``due`` have been called."""
        self._thread = threading.Thread(target=self._run, name="headway-signals", daemon=True)

    def start(self) -> None:
        """Chains to the interpreter, and begins to watch."""
        try:
            self._chain()
        except (OSError, ValueError) as error:
            log.debug("signals are heard on the main thread alone: %s", error)
        self._thread.start()

    def _chain(self) -> None:
        if not hasattr(socket, "SO_PASSCRED") or "trio" in sys.modules:  # trio warns of any descriptor but its own
            return
        self._here.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        before = signal.set_wakeup_fd(self._there.fileno(), warn_on_full_buffer=False)
        self._chained = before == -1 or before in _left_open
        if not self._chained:
            signal.set_wakeup_fd(before)

    def handled(self) -> None:
        """The main thread runs the signal's handler. Called from there."""
        if not self._send(_HANDLED):
            self._unheard = True

    def look(self) -> None:
        """Has the thread look at the time anew. From any thread, and from a handler."""
        self._send(_LOOK)

    @property
    def standing(self) -> bool:
        """Whether the main thread has let the signal lie for too long."""
        since = self._since
        return since is not None and time.monotonic() - since >= _MAIN_SECONDS

    def close(self) -> None:
        """Ends the watch, and puts back what the interpreter had, if this is the main thread."""
        self._unchain()
        self._closed = True
        self._send(_LOOK)

    def abandon(self) -> None:
        """In a forked child, whose only thread is its main one: the socket is the parent's."""
        self._unchain()
        self._closed = True
        if not self._chained:
            self._here.close()
            self._there.close()

    def _send(self, what: bytes) -> bool:
        if not self._sending.acquire(blocking=False):
            return False  # somebody else is waking the thread just now
        try:
            self._there.send(what)
        except OSError as error:  # closed, or so full that the thread has enough to look at
            log.debug("the thread that watches signals was not told: %s", error)
            return False
        finally:
            self._sending.release()
        return True

    def _unchain(self) -> None:
        if not self._chained or threading.current_thread() is not threading.main_thread():
            return
        before = signal.set_wakeup_fd(-1)
        if before == self._there.fileno():
            self._chained = False
        elif before != -1:
            signal.set_wakeup_fd(before)  # somebody else's by now, who may yet put back ours

    # --- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # signals are for the threads that were here before
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not self._closed:
            try:
                self._hear(self._wait(time.monotonic()))
                self._turn(time.monotonic())
            except Exception as error:  # noqa: BLE001 - a fault here must not end the watch
                log.debug("a fault while a signal was looked after", exc_info=error)
        if self._chained:
            self._drain()
        with self._sending:
            self._there.close()
            self._here.close()

    def _drain(self) -> None:
        """The interpreter goes on writing to the socket, or somebody may have it do so again: it stays, and never fills up."""
        _left_open.append(self._there.fileno())
        self._here.settimeout(None)
        while True:
            self._here.recv(_MOST_BYTES)

    def _hear(self, wait: float | None) -> None:
        """Waits for word, and takes it in: one message is of one process."""
        self._here.settimeout(wait)
        sender = None
        try:
            if self._chained:
                said, ancillary = self._here.recvmsg(_MOST_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))[:2]
                sender = next((_CREDENTIALS.unpack(data)[0] for _, _, data in ancillary), None)
            else:
                said = self._here.recv(_MOST_BYTES)
        except (TimeoutError, BlockingIOError):
            return
        if self._chained and sender != self._pid:
            return
        for byte in said:
            if byte == self._number:
                self._since = self._since or time.monotonic()
            elif byte == _HANDLED[0]:
                self._since = None
        if not {self._number, *_HANDLED, *_LOOK}.intersection(said):
            time.sleep(_PAUSE)

    def _turn(self, now: float) -> None:
        if self._unheard:
            self._unheard, self._since = False, None
        if self._since is None:
            self._told = False
        elif not self._told and now >= self._since + _MAIN_SECONDS:
            self._told = True
            self._overdue(self._since)
        due_at = self._due_at()
        if not self._over and due_at is not None and now >= due_at:
            self._over = True
            self._due()

    def _wait(self, now: float) -> float | None:
        """Seconds until something is due; None: nothing is."""
        overdue_at = None if self._since is None or self._told else self._since + _MAIN_SECONDS
        times = [at - now for at in (overdue_at, None if self._over else self._due_at()) if at is not None]
        return max(0.0, min(times)) if times else None
