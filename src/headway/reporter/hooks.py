"""How a run learns that its process ends: signals, exits, uncaught exceptions, forks. All chained, and undone afterwards."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from headway.protocol.report import Ending, EndingKind
from headway.reporter.endings import ending_of, exit_code
from headway.reporter.run import Run


class Hooks:
    """The hooks of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pid = os.getpid()
        self._error: BaseException | None = None
        self._exit_code = 0
        self._exit_step = -1
        self._previous_signal: Any = None
        self._dying = False
        self._waiting_signal: int | None = None
        self._previous_excepthook = sys.excepthook
        self._previous_exit = sys.exit

    def install(self) -> None:
        """Chains everything that may be chained from this thread."""
        sys.excepthook = self._on_exception
        sys.exit = self._on_exit  # type: ignore[assignment]
        atexit.register(self._at_exit)
        self._finalize_child()
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGTERM)
            # None: installed from C; SIG_IGN: the process does not mean to end. Neither is ours to change.
            if previous is not None and previous is not signal.SIG_IGN:
                self._previous_signal = previous
                signal.signal(signal.SIGTERM, self._on_signal)

    def remove(self) -> None:
        """Puts back what was there, where nobody has chained on top meanwhile."""
        atexit.unregister(self._at_exit)
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._previous_excepthook
        if sys.exit == self._on_exit:
            sys.exit = self._previous_exit
        self.restore_signal()
        if self._waiting_signal is not None:
            _die_of(self._waiting_signal)

    def restore_signal(self) -> None:
        """Puts the signal's handler back; from another thread than the main one that cannot be, and the handler passes on."""
        if self._previous_signal is None or self._dying:
            return
        try:
            if signal.getsignal(signal.SIGTERM) == self._on_signal:
                signal.signal(signal.SIGTERM, self._previous_signal)
        except ValueError:
            pass

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Called on the main thread, between two of its instructions."""
        previous, run = self._previous_signal, self._run
        ours = os.getpid() == self._pid
        if ours:
            run._signal = signal.Signals(number).name
        if callable(previous):
            previous(number, frame)  # it decides whether the process ends; then the run is cancelled, at its own pace
            return
        if ours and run._ending_now and not self._dying:
            self._waiting_signal = number  # the run is just ending; a few seconds more
            return
        if ours and not self._dying:
            self._dying = True
            run._end(Ending(kind=EndingKind.CANCELLED, signal=run._signal))
        _die_of(number)

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        self._error = error
        return self._previous_excepthook(kind, error, trace)

    def _on_exit(self, code: Any = None) -> None:
        self._exit_code, self._exit_step = exit_code(code), self._run.last_step
        self._previous_exit(code)

    def _at_exit(self) -> None:
        if os.getpid() != self._pid:
            return
        error = self._error or sys.exc_info()[1]
        if error is None and self._exit_code and self._exit_step == self._run.last_step:
            error = SystemExit(self._exit_code)
        ending = ending_of(error)
        if ending is not None and isinstance(error, SystemExit) and self._run._signal is not None:
            ending = None  # it left because it was told to
        if ending is None:
            self._run._end_with(None)
        else:
            self._run._end(ending)

    def _finalize_child(self) -> None:
        """Children of multiprocessing leave without ``atexit``; their own list of last things is used."""
        if (processes := sys.modules.get("multiprocessing.process")) and processes.parent_process() is not None:
            from multiprocessing.util import Finalize

            Finalize(None, self._at_exit, exitpriority=100)


def _die_of(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def on_fork(forget: Callable[[], None]) -> None:
    """Calls ``forget`` in every forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
