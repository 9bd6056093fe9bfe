"""The door of :mod:`headway.tracking`: events go in, the job changes, and what is to be kept comes out.

Nothing here does I/O or looks at a clock: ``now`` is the server's time at receipt. Each fold is a join (see
:mod:`headway.tracking.runs`): any order, repetition or delay of the same reports leads to the same job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.points import Points
from headway.protocol.report import Envelope, Progress, Report
from headway.tracking.actions import hear, note_outcomes
from headway.tracking.attempts import AttemptState, RunnerState
from headway.tracking.runs import MOST_STEPS, RunState
from headway.tracking.said import Stuck
from headway.tracking.stock import as_report, note
from headway.tracking.tracked import TrackedJob


class History(NamedTuple):
    """Points that a report adds to the history, and the name that makes storing them twice harmless."""

    attempt: str
    run: str
    seq: int
    points: Points


@dataclass(slots=True)
class Folded:
    """What came of a report."""

    attempt: AttemptState
    run: RunState
    seq: int
    history: History | None
    """Points to store."""
    keep: bool
    """Whether the job must be persisted before the report is acknowledged; a mere beat need not be."""
    news: bool
    """Whether watchers would see a difference other than in ages."""
    duplicate: bool
    newest: bool
    """Whether it is the newest word of the run that writes the current attempt's progress."""
    points: Points
    progress: Progress


def fold_report(job: TrackedJob, report: Report, envelope: Envelope, now: float) -> Folded:
    """Folds one report into its job."""
    sent = now - max(0.0, envelope.age)
    said = report.headway
    stock = said is None
    if said is None:
        if report.status is None:
            raise ValueError("a report holds a status, a headway object, or both")
        said = as_report(job, report.status, envelope, sent)
    points = _believable(Points.of(said.points))
    attempt, new_attempt = job.attempt(said.attempt, sent)
    run = attempt.runs.get(said.run)
    new_run = run is None
    if run is None:
        run = attempt.runs[said.run] = RunState(said.run, said.rank)
    duplicate = said.seq in run.seen
    before = run.step
    wrote = report.status is not None or bool(points)
    run.take(said, points, sent, wrote=wrote, stock=stock, warnings=report.warnings)
    if stock and report.status is not None:
        note(run, report.status, said, before, sent)
    attempt.fragment = None
    revived = attempt.lost_at is not None and not attempt.registered and sent >= attempt.lost_at
    if revived:
        attempt.lost_at = None
        attempt.changed()
    heard = hear(job, said.acks, None, sent)
    job.updated_at = max(job.updated_at, sent)
    writer = attempt.writer()
    auxiliary = writer is not None and run is not writer and run.wrote and run not in attempt.writers()
    history = None
    if points:
        where = f"{attempt.id}/{run.run}" if auxiliary else attempt.id
        history = History(where, run.run, said.seq, points)
    return Folded(
        attempt=attempt,
        run=run,
        seq=said.seq,
        history=history,
        keep=run.wrote or new_attempt or revived or heard or said.ending is not None,
        news=not duplicate and (wrote or new_run or revived or said.ending is not None),
        duplicate=duplicate,
        newest=not duplicate and attempt is job.current and run is writer and said.seq == run.seq,
        points=points,
        progress=said.progress,
    )


def _believable(points: Points) -> Points:
    """The points with a step and a time that a store can keep."""
    if not points:
        return points
    steps, times = points.steps, points.times
    if (
        points.ordered
        and steps[0] >= 0
        and steps[-1] <= MOST_STEPS
        and times[0] > -MOST_STEPS
        and times[-1] < MOST_STEPS
    ):
        return points
    return Points.of([point for point in points if 0 <= point.step <= MOST_STEPS and abs(point.t) < MOST_STEPS])


def fold_registration(job: TrackedJob, registration: Registration, now: float, age: float = 0.0) -> bool:
    """Makes a runner's attempt known, which happened ``age`` seconds ago; whether the attempt is new."""
    at = now - max(0.0, age)
    attempt, new = job.attempt(registration.attempt, at)
    attempt.changed()
    attempt.registered = True
    if attempt is job.current:
        job.spec, job.tags = registration.spec, registration.tags
        job.log = registration.log or job.log
        job.host = registration.host or job.host
        job.head_fragment = None
    if attempt.lost_at is not None and at >= attempt.lost_at:
        attempt.lost_at = None
    runner = attempt.runners.get(registration.runner)
    if runner is None:
        attempt.runners[registration.runner] = RunnerState(heard_at=at)
    else:
        runner.heard_at = max(runner.heard_at, at)
    for other in job.ordered[: job.ordered.index(attempt)]:
        mine = other.runners.get(registration.runner)
        if mine is not None and mine.ended_at is None:
            mine.ended_at = at
            other.changed()
    job.updated_at = max(job.updated_at, at)
    return new


def fold_lifecycle(job: TrackedJob, event: Lifecycle, now: float) -> bool:
    """Folds a runner's event; whether it tells more than that the runner is alive."""
    at = now - max(0.0, event.age)
    attempt, new = job.attempt(event.attempt, at)
    attempt.registered = True
    attempt.changed()
    runner = attempt.runners.get(event.runner)
    if runner is None:
        runner = attempt.runners[event.runner] = RunnerState(heard_at=at)
        new = True
    runner.heard_at = max(runner.heard_at, at)
    news = new
    if attempt.lost_at is not None and (at >= attempt.lost_at or event.kind is LifecycleKind.ENDED):
        attempt.lost_at = None
        news = True
    match event.kind:
        case LifecycleKind.STARTED:
            news = news or attempt.started_at is None
            attempt.started_at = at if attempt.started_at is None else min(attempt.started_at, at)
        case LifecycleKind.ENDED:
            if runner.ended_at is None or runner.ending is None:
                runner.ended_at, runner.ending = at, event.ending
                runner.restarting, runner.paused = event.restarting, event.paused
                news = True
            elif (runner.restarting and not event.restarting) or (runner.paused and not event.paused):
                # it had meant to go on, and was stopped before it could
                runner.restarting, runner.paused, news = event.restarting, event.paused, True
        case LifecycleKind.ALIVE:
            pass
    if event.stuck is not None and (run := attempt.runs.get(event.stuck.run)) is not None:
        run.stuck = Stuck(at, event.stuck.stack)
    news = hear(job, event.acks, event.runner, at) or news
    news = note_outcomes(job, event.outcomes, event.runner) or news
    if news:
        job.updated_at = max(job.updated_at, at)
    return news


def keep_signs_of_life(known: TrackedJob, job: TrackedJob) -> None:
    """Carries over, to a job that was put back to what is stored, who was heard and when: that needs no storing."""
    for attempt in job.ordered:
        before = known.attempts.get(attempt.id)
        if before is None:
            continue
        attempt.changed()
        for name, runner in attempt.runners.items():
            if name in before.runners:
                runner.heard_at = max(runner.heard_at, before.runners[name].heard_at)
        for name, run in before.runs.items():
            if name in attempt.runs:
                attempt.runs[name].fragment = None
                attempt.runs[name].spoke_at = max(attempt.runs[name].spoke_at, run.spoke_at)
            elif not run.wrote:
                attempt.runs[name] = run
