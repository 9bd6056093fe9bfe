"""Signals that reach the runner go on to the command, as if the runner were not there."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final, Self

from headway.runner.child import Child

_TYPED: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""What a terminal sends to all processes in the foreground."""
_ENDING: Final = (signal.SIGTERM, *_TYPED)
_MEMORY_SECONDS: Final = 300.0
_PASSED: Final = (*_ENDING, signal.SIGUSR1, signal.SIGUSR2)


class Signals:
    """Passes signals on while it is entered. Those that were ignored before stay ignored, as under ``nohup``.

    What a terminal sends goes to the whole process group, as it would without a runner; other signals to the command alone,
    for its helpers (workers that load data) may know nothing of them.

    Args:
        resized: called when the terminal's size has changed.
    """

    def __init__(self, resized: Callable[[], None]) -> None:
        self._resized = resized
        self._before: dict[int, Any] = {}
        self._child: Child | None = None
        self._early: list[int] = []
        self.ending: signal.Signals | None = None
        """The newest signal that asked the command to end, if one did."""
        self.count = 0
        """How many such signals came."""
        self._asked_at = 0.0

    def attend(self, child: Child | None) -> None:
        """Signals go to this child from now on; those that came before it was there, too."""
        self._child = child
        while child is not None and self._early:
            self._pass(self._early.pop(0))

    @property
    def asked(self) -> bool:
        """Whether an end that comes now is owed to a signal; one that was handled long ago has nothing to do with it."""
        return self.ending is not None and time.monotonic() - self._asked_at < _MEMORY_SECONDS

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (*_PASSED, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT):
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN and before is not None:
                    self._before[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a handler
        if number == signal.SIGWINCH:
            self._resized()
        if number in _ENDING:
            self.count += 1
            self.ending, self._asked_at = signal.Signals(number), time.monotonic()
        if self._child is None:
            if number in _PASSED:
                self._early.append(number)
            elif number == signal.SIGTSTP:
                os.kill(os.getpid(), signal.SIGSTOP)
            return
        self._pass(number)

    def _pass(self, number: int) -> None:
        child = self._child
        if child is None:
            return
        if number == signal.SIGTSTP:
            # A session without a terminal ignores SIGTSTP, so it is stopped for good measure; then so are we.
            child.signal(signal.SIGSTOP, group=True)
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this very thread, so it stands still here
            # SIGCONT may be told to another thread, while this one would wait for the command and not look.
            child.signal(signal.SIGCONT, group=True)
        else:
            typed = number in _TYPED and (os.isatty(0) or os.isatty(1) or os.isatty(2))
            child.signal(number, group=typed or number in (signal.SIGWINCH, signal.SIGCONT))
