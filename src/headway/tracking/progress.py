"""How far a job is: read from its attempts, never past what they said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from headway.protocol.job import JobProgress
from headway.protocol.report import Phase, Unit
from headway.tracking.attempts import AttemptState
from headway.tracking.metric_state import MetricState
from headway.tracking.runs import RunState
from headway.tracking.stock import inferred_step
from headway.tracking.tracked import TrackedJob


@dataclass(slots=True)
class Standing:
    """Where an attempt stands: its successive writers taken together."""

    writer: RunState | None = None
    step: int | None = None
    step_at: float | None = None
    start: int | None = None
    total: int | None = None
    claim: int | None = None
    """Percentage that a stock client named, where no step tells it."""
    advanced: bool = False
    finished: bool = False
    """A stock client said 100 %, and nothing after."""


def standing(attempt: AttemptState) -> Standing:
    """Where an attempt stands."""
    chain = attempt.writers()
    if not chain:
        return Standing()
    writer = chain[-1]
    result = Standing(writer=writer, total=cast("int | None", writer.value("total_steps")))
    for run in chain:
        step = run.step
        if run.stock is not None and run.stock.final is not None and run.stock.final.epoch is not None:
            step = inferred_step(run, run.stock, run.stock.final.epoch)
        if step is not None and (result.step is None or step > result.step):
            result.step, result.step_at = step, run.step_at
        if run.began is not None and (result.start is None or run.began < result.start):
            result.start = run.began
        result.total = result.total or cast("int | None", run.value("total_steps"))
        result.advanced = result.advanced or run.advanced
    stock = writer.stock
    if stock is not None:
        result.claim = stock.claim.value if stock.claim else None
        result.finished = stock.final is not None and stock.final.seq == writer.seq
        if result.step is None and result.claim is not None:
            result.advanced = result.claim > 0
        if result.finished and result.step is None and result.total is None:
            result.claim = 100
    return result


@dataclass(slots=True)
class Overall:
    """Where a job stands, with what earlier attempts told and the current one has not yet."""

    here: Standing
    """The attempt that progress is read from: the current one, once it has told a step."""
    step: int | None = None
    total: int | None = None

    @property
    def percent(self) -> int | None:
        """Rounded down, at most 99: 100 is for the end. None when the total is not known."""
        if self.step is not None and self.total is not None:
            return min(99, 100 * self.step // self.total)
        if self.here.claim is not None and self.total is None:
            return min(99, self.here.claim)
        return None

    @property
    def complete(self) -> bool:
        """Whether the last step was reached (or, of a client that counts no steps, said to be)."""
        if self.step is not None and self.total is not None:
            return self.step >= self.total
        return self.total is None and self.here.claim is not None and self.here.claim >= 100


def overall(job: TrackedJob) -> Overall:
    """Where a job stands."""
    here = Standing()
    total: int | None = None
    for attempt in reversed(job.ordered):
        there = standing(attempt)
        if here.writer is None or (here.step is None and here.claim is None):
            here = there if there.writer is not None else here
        total = total or there.total
        if total is not None and (here.step is not None or here.claim is not None):
            break
    return Overall(here, here.step, total)


def shown(job: TrackedJob, where: Overall, now: float, *, running: bool, complete: bool) -> JobProgress:
    """Progress as it is shown."""
    writer = where.here.writer
    if writer is None:
        return JobProgress(total_steps=where.total)

    def known(name: str) -> object:
        for attempt in reversed(job.ordered):
            for run in reversed(attempt.writers()):
                if (value := run.value(name)) is not None:
                    return value
        return None

    at = where.here.step_at
    return JobProgress(
        percent=100 if complete and where.complete else where.percent,
        step=where.step,
        total_steps=where.total,
        epoch=cast("float | None", writer.value("epoch")),
        total_epochs=cast("float | None", known("total_epochs")),
        unit=cast("Unit | None", known("unit")),
        samples=cast("int | None", writer.value("samples")),
        tokens=cast("int | None", writer.value("tokens")),
        phase=cast("Phase | None", writer.value("phase")) if running else None,
        step_seconds=cast("float | None", writer.value("step_seconds")),
        last_step_age=max(0.0, now - at) if running and at is not None and where.here.advanced else None,
    )


def newest_metrics(job: TrackedJob) -> dict[str, float]:
    """Newest value of each metric: of the newest attempt that has it."""
    values: dict[str, float] = {}
    for attempt in job.ordered:
        newest: dict[str, MetricState] = {}
        for run in attempt.writers():
            newest.update(run.metrics)
        values.update((name, entry.value) for name, entry in newest.items())
    return values


def best_metrics(job: TrackedJob, directions: dict[str, str]) -> dict[str, float]:
    """Best finite value of each metric whose direction is known, over all attempts."""
    best: dict[str, float] = {}
    for attempt in job.ordered:
        for run in attempt.writers():
            for name, entry in run.metrics.items():
                direction = directions.get(name)
                if direction is None or entry.low > entry.high:
                    continue
                pick = min if direction == "min" else max
                value = entry.low if direction == "min" else entry.high
                best[name] = pick(best[name], value) if name in best else value
    return best
