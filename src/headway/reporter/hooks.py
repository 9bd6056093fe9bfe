"""How a run learns that its process ends: signals, exits, uncaught exceptions, forks. All chained, and undone afterwards."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

from headway.protocol.report import Ending, EndingKind
from headway.reporter.c_signals import CHandler, address_of, previous_handler, put
from headway.reporter.countdown import Countdown
from headway.reporter.endings import ending_of, exit_code
from headway.reporter.notices import log
from headway.reporter.run import Run
from headway.reporter.signal_watch import SignalWatch
from headway.reporter.stacks import place_of

_SAY_SECONDS: Final = 0.5


class Hooks:
    """The hooks of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pid = os.getpid()
        self._error: BaseException | None = None
        self._exit_code = 0
        self._exit_step = -1
        self._previous_signal: Any = None
        self._address: int | None = None
        """Where the operating system goes on SIGTERM, once our handler is in place."""
        self._watch: SignalWatch | None = None
        self._countdown: Countdown | None = None
        self._dying = False
        self._waiting_signal: int | None = None
        self._previous_excepthook = sys.excepthook
        self._previous_exit = sys.exit

    def install(self) -> None:
        """Chains everything that may be chained from this thread."""
        sys.excepthook = self._on_exception
        sys.exit = self._on_exit  # type: ignore[assignment]
        atexit.register(self._at_exit)
        self._run._on_asking(self._give_up, self.look_again)
        self._finalize_child()
        if threading.current_thread() is threading.main_thread():
            previous = previous_handler(signal.SIGTERM)
            # None: installed from C; SIG_IGN: the process does not mean to end. Neither is ours to change.
            if previous is not None and previous is not signal.SIG_IGN:
                self._previous_signal = previous
                signal.signal(signal.SIGTERM, self._on_signal)
                self._address = address_of(signal.SIGTERM)
                self._begin_to_watch()

    def _begin_to_watch(self) -> None:
        reporter = self._run._reporter
        if reporter is None:
            return
        countdown = self._countdown = reporter.countdown
        try:
            watch = SignalWatch(
                signal.SIGTERM,
                overdue=self._act_for_main,
                due_at=lambda: countdown.give_up_at,
                due=lambda: self._give_up("it had not saved and ended by itself in time"),
            )
            watch.start()
        except (OSError, RuntimeError) as error:  # no more files, or threads
            log.debug("nobody looks after signals but the main thread: %r", error)
            return
        self._watch = watch
        countdown.changed = watch.look
        reporter.stands = lambda: watch.standing

    def remove(self) -> None:
        """Puts back what was there, where nobody has chained on top meanwhile."""
        atexit.unregister(self._at_exit)
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._previous_excepthook
        if sys.exit == self._on_exit:
            sys.exit = self._previous_exit
        self.restore_signal()
        if self._watch is not None:
            self._watch.close()
        if self._waiting_signal is not None:
            _die_of(self._waiting_signal)

    def forget(self) -> None:
        """In a forked child: handler and watch are the parent's."""
        self.restore_signal()
        if self._watch is not None:
            self._watch.abandon()

    def restore_signal(self) -> None:
        """Puts the signal's handler back; from another thread than the main one that cannot be, and the handler passes on."""
        if self._previous_signal is None or self._dying:
            return
        try:
            if signal.getsignal(signal.SIGTERM) == self._on_signal:
                if isinstance(self._previous_signal, CHandler):
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    put(signal.SIGTERM, self._previous_signal.address)
                else:
                    signal.signal(signal.SIGTERM, self._previous_signal)
        except ValueError:
            pass

    def look_again(self) -> None:
        """Chains a handler that was installed from C after ours, as JAX does when its processes meet. On any thread."""
        address = address_of(signal.SIGTERM)
        if self._address is None or address is None or address == self._address or os.getpid() != self._pid:
            return
        if signal.getsignal(signal.SIGTERM) == self._on_signal:
            self._previous_signal = CHandler(address)
            put(signal.SIGTERM, self._address)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Called on the main thread, between two of its instructions."""
        previous, run = self._previous_signal, self._run
        ours = os.getpid() == self._pid
        if ours:
            run._signal = signal.Signals(number).name
            if self._watch is not None:
                self._watch.handled()
        heeded = ours and not self._dying and run._heed(signal.Signals(number).name)
        if callable(previous):
            previous(number, frame)  # it decides whether the process ends; then the run is cancelled, at its own pace
            return
        if heeded:
            _owed[self._pid] = number  # it saves, ends, and then dies of it
            return
        if ours and run._ending_now and not self._dying:
            self._waiting_signal = number  # the run is just ending; a few seconds more
            return
        if ours and not self._dying:
            self._dying = True
            if self._countdown is not None:
                self._countdown.begin()
            run._end(Ending(kind=EndingKind.CANCELLED, signal=run._signal))
        _die_of(number)

    def _act_for_main(self, came_at: float) -> None:
        """Called on the watching thread: SIGTERM came, and the main thread is in a call from which it does not come round."""
        run = self._run
        if signal.getsignal(signal.SIGTERM) != self._on_signal or callable(self._previous_signal):
            return  # somebody else decides what it means, and can do so on the main thread only
        run._signal = signal.SIGTERM.name
        if self._countdown is not None:
            self._countdown.begin(came_at)
        if not run._heed(run._signal):
            self._give_up("it did not come round to it")

    def _give_up(self, why: str) -> None:
        """Called on another thread, since the main one may hang: the process ends now as the signal would have ended it."""
        run = self._run
        if run._signal is None or self._dying or callable(self._previous_signal) or os.getpid() != self._pid:
            return  # no signal of its own, it is ending already, or somebody else decides what it means
        if (reporter := run._reporter) is not None:
            reporter.stands = lambda: True
        why = f"{why}; its main thread stood in {place_of(threading.main_thread().ident)}"
        _say(f"the process got {run._signal}, and ends: {why}")
        run._end(Ending(kind=EndingKind.CANCELLED, signal=run._signal, message=why))
        while run._ending_now:  # on another thread
            time.sleep(0.01)
        _die_of(signal.Signals[run._signal])

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
        if ending is not None:
            _owed.clear()  # how it failed is what its parent should hear
        if ending is None:
            self._run._end_with(None)
        else:
            self._run._end(ending)

    def _finalize_child(self) -> None:
        """Children of multiprocessing leave without ``atexit``; their own list of last things is used."""
        if (processes := sys.modules.get("multiprocessing.process")) and processes.parent_process() is not None:
            from multiprocessing.util import Finalize

            Finalize(None, self._at_exit, exitpriority=100)


_owed: dict[int, int] = {}
"""By process, the signal that was put off until it had saved and ended."""


def _die_of_what_is_owed() -> None:
    """Almost the last thing: a process that was to end by a signal has not simply completed, for who started it looks at that."""
    number = _owed.get(os.getpid())
    if number is None:
        return
    logging.shutdown()
    if (util := sys.modules.get("multiprocessing.util")) is not None:
        util._exit_function()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    _die_of(number)


atexit.register(_die_of_what_is_owed)  # before a script registers anything, so that it comes after all of that


def _say(text: str) -> None:
    """Warns, but does not wait for it: whoever hangs may hold the log's lock, or its far end may read no more."""
    thread = threading.Thread(target=log.warning, args=("%s", text), name="headway-log", daemon=True)
    thread.start()
    thread.join(_SAY_SECONDS)


def _die_of(number: int) -> None:
    """Ends the process as the signal does by default. On any thread."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.SIG_DFL)
    elif not put(number, None):  # signal.signal() is the main thread's alone
        os._exit(128 + number)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def on_fork(forget: Callable[[], None]) -> None:
    """Calls ``forget`` in every forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
