"""Stalled, as the server sees it: by the pace that was learnt, and with the place where the run itself says that it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headway.insight.findings import Finding
from headway.insight.frames import where
from headway.insight.stall import StallSettings
from headway.tracking.attempts import AttemptState
from headway.tracking.runs import RunState
from headway.tracking.tracked import TrackedJob

_UNHEARD: Final = 5.0
"""Seconds by which another process must have been heard later than the writer to speak for it."""


def stalled(job: TrackedJob, now: float, floor: float) -> list[Finding]:
    """Stalled, if the current attempt stands still for longer than its pace explains.

    A run that is not heard may be stepping for all one knows: its clock stops at its last word, at the last word of a runner that
    sees its interpreter stand still, or at that of a process that trains with it.

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
    stuck = writer.stuck if writer.stuck is not None and writer.stuck.at > writer.spoke_at else None
    witness = _witness(attempt, writer)
    if witness.step_at is not None and (witness.step or 0) > (watch.step or 0):
        watch.observe(witness.step, witness.step_at, blind=True)
    heard = max(witness.spoke_at, writer.spoke_at if stuck is None else stuck.at)
    finding = watch.finding(now, heard=heard)
    if finding is None:
        return []
    stack = stuck.text if stuck is not None else writer.present_stack or witness.present_stack
    place = where(stack) if stack is not None else None
    if place is None:
        return [finding]
    text = f"{finding.text}; it stands at {place}"
    evidence = {**finding.evidence, "where": place}
    if stuck is not None:
        text += ", and nothing else in the process can run: the interpreter lock is held"
        evidence["lockHeld"] = "yes"
    return [replace(finding, text=text, evidence=evidence)]


def _witness(attempt: AttemptState, writer: RunState) -> RunState:
    """Who tells where training stands: the writer or, when that is not heard, the process that counts with it and was."""
    others = [
        run
        for run in attempt.runs.values()
        if not run.wrote and run.ending is None and run.step is not None and run.step >= (writer.step or 0) - 1
    ]
    newest = max(others, key=lambda run: run.spoke_at, default=writer)
    return newest if newest.spoke_at > writer.spoke_at + _UNHEARD else writer


def floor_of(job: TrackedJob, writer: RunState | None, floor: float) -> float:
    """Seconds below which nothing is a stall: as the job says, or its run, or else the server (``floor``)."""
    info = writer.info.value if writer is not None and writer.info is not None else None
    for told in (job.spec.stall_floor, info.stall_floor if info is not None else None):
        if told is not None and told > 0:
            return told
    return floor


def hold(job: TrackedJob, now: float) -> None:
    """The job waits, or its next attempt does: the clock stands."""
    if job.judge is not None:
        job.judge.stall.hold(now)
