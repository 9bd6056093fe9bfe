"""How far the run is, at this moment: the progress and the Kubeflow status that every report of rank 0 carries.

Fed with what each tick brought; asked before each report. The percentage is rounded down, and 100 only when a run that
completed has reached its total.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from headway.insight.eta import EtaEstimator
from headway.insight.stall import StallSettings, StallWatch
from headway.protocol.codec import encode_number
from headway.protocol.kubeflow import shorten
from headway.protocol.limits import MAX_METRICS
from headway.protocol.report import Cell, Ending, EndingKind, Phase, Progress, TrainerStatus
from headway.reporter.fold import Folded
from headway.reporter.marks import Marks
from headway.reporter.notices import Notices
from headway.reporter.slots import Slots

_MOST_MARKS: Final = 512


class Snapshot:
    """The state of one run, as the reporter's thread knows it.

    Args:
        slots: what training wrote.
        origin: the monotonic time at which t is 0.
        notices: where warnings go.
        stall_floor: seconds without a step that are never a stall.
    """

    def __init__(self, slots: Slots, origin: float, notices: Notices, *, stall_floor: float | None = None) -> None:
        self._slots = slots
        self._origin = origin
        self._notices = notices
        self._eta = EtaEstimator()
        self._eta.begin_attempt(slots.step, 0.0)
        self._stall = StallWatch(StallSettings() if stall_floor is None else StallSettings(floor=stall_floor))
        self._stall.begin_attempt(slots.completed, origin)
        self._heard = slots.heard
        self._start = self._best = slots.completed
        self._advanced_at: float | None = None
        self._durations: list[float] = []
        self._latest: dict[str, Cell] = {}
        self.marks: Marks = ()
        """When steps were complete, lately."""

    def take_in(self, folded: Folded, now: float) -> None:
        """Learns from one tick."""
        slots = self._slots
        for point in folded.points:
            self._latest.update(point.metrics)
        if slots.heard is not self._heard:
            self._begin_again(now)
        done = slots.count(slots.step if folded.last_step is None else folded.last_step)
        at = now if folded.last_step_at is None else folded.last_step_at
        self._stall.observe(done, at)
        if done > self._best:
            self._advanced_at = at
            self._best = done
        self._stall.observe(done, now, phase=self.phase)
        if folded.marks:
            first = slots.heard.zero_based  # not as the lane counts now: it may have logged at a later step meanwhile
            self.marks = (*self.marks, *((step + first, at) for step, at in folded.marks))[-_MOST_MARKS:]
        self._durations = [*self._durations, *folded.durations][-512:]
        self._eta.observe(done, at - self._origin, phase=self.phase, step_seconds=_median(folded.durations))

    def _begin_again(self, now: float) -> None:
        """Somebody else counts from now on, perhaps from where an earlier attempt ended: what was learnt is another's."""
        self._heard = heard = self._slots.heard
        start = heard.start_step + heard.zero_based  # what it has logged meanwhile says nothing of where it began
        self._eta.begin_attempt(heard.start_step, now - self._origin)
        self._stall.begin_attempt(start, now)
        self._start = self._best = start
        self.marks = ()

    @property
    def stepped(self) -> bool:
        """Whether a step has advanced in this run."""
        return self._advanced_at is not None or self._slots.completed > self._start

    @property
    def phase(self) -> Phase:
        """What the run is doing: as declared, else training once a step is complete."""
        if self._slots.phase is not None:
            return self._slots.phase
        return Phase.TRAIN if self.stepped else Phase.INIT

    def progress(self, now: float) -> Progress:
        """How far the run is. ``step_seconds`` covers the time since the last call."""
        slots = self._slots
        step_seconds, self._durations = _median(self._durations), []
        advanced_at = self.last_advance()
        return Progress(
            step=slots.completed,
            total_steps=slots.total_steps,
            epoch=slots.epoch,
            total_epochs=slots.total_epochs,
            unit=slots.unit,
            phase=self.phase,
            last_step_age=None if advanced_at is None else round(max(0.0, now - advanced_at), 3),
            step_seconds=None if step_seconds is None else float(f"{step_seconds:.6g}"),
        )

    def status(self, now: float, ending: Ending | None) -> TrainerStatus:
        """The full snapshot in Kubeflow's terms."""
        slots = self._slots
        metrics = {"current_step": str(slots.completed)}
        if slots.total_steps is not None:
            metrics["total_steps"] = str(slots.total_steps)
        if slots.epoch is not None:
            metrics["current_epoch"] = f"{slots.epoch:.6g}"
        if slots.total_epochs is not None:
            metrics["total_epochs"] = f"{slots.total_epochs:g}"
        for name, cell in self._latest.items():
            if len(metrics) == MAX_METRICS:
                break
            if name:
                metrics.setdefault(shorten(name), str(encode_number(cell.mean)))
        return TrainerStatus(
            progress_percentage=self._percent(ending),
            estimated_remaining_seconds=self._remaining(now, ending),
            metrics=metrics,
            last_updated_time=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        )

    def standstill(self, now: float) -> tuple[float, float]:
        """Seconds since the last step, and how many this run's own pace explains."""
        return self._stall.age(now), self._stall.limit()

    @property
    def usual_seconds(self) -> float | None:
        """Seconds per step over the newest steps."""
        if len(self.marks) < 2 or self.marks[-1][0] <= self.marks[0][0]:
            return None
        return (self.marks[-1][1] - self.marks[0][1]) / (self.marks[-1][0] - self.marks[0][0])

    def last_advance(self) -> float | None:
        """When the last step advanced, also if it was not folded yet."""
        try:
            step, at, *_ = self._slots.entries[-1]
        except IndexError:
            return self._advanced_at
        return at if self._slots.count(step) > self._best else self._advanced_at

    def _percent(self, ending: Ending | None) -> int | None:
        total, done = self._slots.total_steps, self._slots.completed
        if total is None:
            return None
        if done > total:
            self._notices.once(
                "total",
                f"step {done} is past the announced total of {total}: progress stays at 99 % until the run ends",
            )
        if done >= total and ending is not None and ending.kind is EndingKind.COMPLETED:
            return 100
        return min(99, max(0, done * 100 // total))

    def _remaining(self, now: float, ending: Ending | None) -> int | None:
        total = self._slots.total_steps
        if ending is not None:
            done = ending.kind is EndingKind.COMPLETED and total is not None and self._slots.completed >= total
            return 0 if done else None
        estimate = self._eta.estimate(now - self._origin, total)
        return None if estimate is None else math.ceil(estimate.seconds)


def _median(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
