"""The handle that training code holds: :class:`Run`, the script's own voice and the run's beginning and end.

Only :meth:`Run.finish` waits, and says for how long.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from headway.protocol.report import Ending, EndingKind, Unit
from headway.reporter.endings import ending_of
from headway.reporter.notices import log
from headway.reporter.reporter import Reporter
from headway.reporter.slots import Layer, Slots
from headway.reporter.voice import Voice


class Run(Voice):
    """One process's part in a training job. Made by :func:`headway.track`.

    As a context manager it ends with the block: completed, or failed with the exception's type, which goes on.
    A run that is switched off (``HEADWAY_DISABLED=1``, a forked child, after :meth:`finish`) takes every call and does nothing.
    """

    __slots__ = ("_ended", "_finish_timeout", "_on_finish", "_reporter", "_signal")

    def __init__(self, slots: Slots, reporter: Reporter | None, *, finish_timeout: float = 3.0) -> None:
        script = slots.lanes[0]
        super().__init__(slots, Layer.SCRIPT, script.start_step, script.unit)
        slots.join(self)
        self._reporter = reporter
        self._finish_timeout = finish_timeout
        self._on_finish: list[Any] = []
        self._ended = reporter is None
        self._signal: str | None = None
        if reporter is None:
            self.mute()

    @property
    def active(self) -> bool:
        """Whether this run reports."""
        return self._reporter is not None

    @property
    def _ending_now(self) -> bool:
        """Whether some thread is just bringing it to its end."""
        return self._reporter is None and not self._ended

    def finish(self, ending: str | None = None, *, timeout: float | None = None, message: str | None = None) -> None:
        """Ends the run: sends all that is left, and how it ended; what cannot be sent in time is spooled. Once only.

        Args:
            ending: completed, early_stopped, failed or cancelled. Left out: cancelled after a signal, or when asked to
                stop and the total was not reached; else completed.
            timeout: longest time that this waits, in seconds; ``HEADWAY_FINISH_TIMEOUT``, or 3, if left out.
            message: why, in words.
        """
        kind: EndingKind | None = None
        try:
            kind = None if ending is None else EndingKind(ending)
        except ValueError:
            log.warning("ending %r is not known; it may be one of %s", ending, ", ".join(EndingKind))
        self._end(self._natural_ending(kind, message), timeout)

    def __reduce__(self) -> tuple[Any, ...]:
        """Handed to another process, or copied with a model, it is a run that is switched off."""
        return _copy, (self._step, self.unit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_with(error)

    def _start(self) -> None:
        if self._reporter is not None:
            self._reporter.start()

    def _heed(self, signal: str) -> bool:
        """A signal came: whether the loop is asked to save and end, instead of ending here and now."""
        reporter = self._reporter
        if reporter is None or not reporter.asking.heed(signal):
            return False
        reporter.hurry()
        return True

    def _on_asking(self, die: Callable[[str], None], joined: Callable[[], None]) -> None:
        if self._reporter is not None:
            self._reporter.asking.die = die
            self._reporter.asking.joined = joined

    def _end_with(self, error: BaseException | None) -> None:
        self._end(ending_of(error) or self._natural_ending())

    def _end(self, ending: Ending, timeout: float | None = None) -> None:
        reporter, self._reporter = self._reporter, None
        if reporter is None:
            return
        self._silence()
        try:
            seconds = min(self._finish_timeout, reporter.countdown.last_seconds())
            reporter.finish(ending, seconds if timeout is None else max(0.0, float(timeout)))
        except Exception as error:  # noqa: BLE001 - never into training
            log.warning("the end of the run was not reported: %r", error)
        self._ended = True
        for undo in self._on_finish:
            undo()

    def _natural_ending(self, kind: EndingKind | None = None, message: str | None = None) -> Ending:
        slots = self._slots
        asked = slots.stopped_by
        signal = self._signal or (asked.signal if asked is not None else None)
        early = slots.total_steps is None or slots.completed < slots.total_steps
        if asked is not None and asked.signal is not None and early:
            natural = EndingKind.PREEMPTED
        elif self._signal is not None or (asked is not None and early and slots.total_steps is not None):
            natural = EndingKind.CANCELLED
        else:
            natural = EndingKind.COMPLETED
        return Ending(kind=kind or natural, signal=signal, message=message)

    def _abandon(self) -> None:
        """In a forked child: from now on this handle does nothing."""
        reporter, self._reporter = self._reporter, None
        self._ended = True
        self._silence()
        if reporter is not None:
            reporter.abandon()

    def _silence(self) -> None:
        for lane in self._slots.lanes:
            lane.mute()


def _copy(step: int, unit: Unit) -> Run:
    return inert_run(Slots(step, unit))


def inert_run(slots: Slots) -> Run:
    """A run that does nothing."""
    return Run(slots, None)
