"""Stalled, as the server sees it: by the pace that was learnt, and with the place where the run itself says that it stands."""

from __future__ import annotations

from dataclasses import replace

from headway.insight.findings import Finding
from headway.insight.frames import where
from headway.insight.stall import StallSettings
from headway.tracking.runs import RunState
from headway.tracking.tracked import TrackedJob


def stalled(job: TrackedJob, now: float, floor: float) -> list[Finding]:
    """Stalled, if the current attempt stands still for longer than its pace explains.

    A run that is not heard may be stepping for all one knows: its clock stops at its last word, or at the last word of a runner
    that sees its interpreter stand still.

    Args:
        job: running.
        now: the server's clock.
        floor: seconds below which nothing is a stall, unless the job or its run names other ones.
    """
    judge, attempt = job.judge, job.current
    writer = attempt.writer() if attempt is not None else None
    if judge is None or writer is None or attempt is None or judge.attempt != attempt.id or writer.ending is not None:
        return []
    watch = judge.stall
    watch.release(now)
    floor = floor_of(job, writer, floor)
    if watch.settings.floor != floor:
        watch.settings = StallSettings(floor=floor)
    stuck = writer.stuck if writer.stuck is not None and writer.stuck[0] > writer.spoke_at else None
    finding = watch.finding(now, heard=stuck[0] if stuck is not None else writer.spoke_at)
    if finding is None:
        return []
    stack = stuck[1] if stuck is not None else writer.present_stack
    place = where(stack) if stack is not None else None
    if place is None:
        return [finding]
    text = f"{finding.text}; it stands at {place}"
    if stuck is not None:
        text += ", and nothing else in the process can run: the interpreter lock is held"
    return [replace(finding, text=text, evidence={**finding.evidence, "where": place})]


def floor_of(job: TrackedJob, writer: RunState | None, floor: float) -> float:
    """Seconds below which nothing is a stall: as the job says, or its run, or else the server (``floor``)."""
    info = writer.info[1] if writer is not None and writer.info is not None else None
    for told in (job.spec.stall_floor, info.stall_floor if info is not None else None):
        if told is not None and told > 0:
            return told
    return floor


def hold(job: TrackedJob, now: float) -> None:
    """The job waits, or its next attempt does: the clock stands."""
    if job.judge is not None:
        job.judge.stall.hold(now)
