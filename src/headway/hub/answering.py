"""What the hub answers to whoever brought something: until when to wait with the next, and what is asked of it."""

from __future__ import annotations

from headway.protocol.directive import Answer
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer
from headway.protocol.report import Report
from headway.tracking.actions import commands_for, directives_for
from headway.tracking.conditions.merge import lately
from headway.tracking.conditions.patience import interval_of
from headway.tracking.fold import Folded
from headway.tracking.tracked import TrackedJob


def answer_to(report: Report, folded: Folded, job: TrackedJob, interval: float, now: float) -> Answer:
    """The answer to a report that was folded; ``interval`` is how many seconds runs leave between reports."""
    return Answer(
        status=report.status,
        ack=folded.seq,
        interval=interval_of(folded.run, interval, now),
        directives=directives_for(job, folded.attempt, folded.run, now),
        warnings=report.warnings,
        want=("job",) if folded.run.info is None and report.headway is not None else (),
    )


def answer_to_event(event: Lifecycle, job: TrackedJob, heartbeat: float, now: float) -> LifecycleAnswer:
    """The answer to a runner's event; ``heartbeat`` is how many seconds runners leave between signs of life."""
    return LifecycleAnswer(
        commands=commands_for(job, event.attempt, event.runner),
        heartbeat=heartbeat,
        conditions=tuple(lately(job.conditions, now)),
    )
