"""How long a job has run: when its attempts began and ended, and the time in Running that its ledger counts."""

from __future__ import annotations

import math

from headway.protocol.job import State
from headway.protocol.verdict import GOES_NOWHERE
from headway.tracking.attempts import AttemptState
from headway.tracking.state import Outcome, governing
from headway.tracking.tracked import TrackedJob


def begun(attempt: AttemptState) -> float | None:
    """When its processes are known to have run first; None as long as it was only announced."""
    if attempt.started_at is None and not attempt.runs:
        return None
    return attempt.began_at


def attempt_end(job: TrackedJob, index: int, end: Outcome) -> float | None:
    """When an attempt ended; None while it goes on."""
    attempt = job.ordered[index]
    ended = attempt.runner_ending
    if ended is not None:
        return ended.ended_at
    if attempt is governing(job) and (end.state.ended or end.state is State.PREEMPTED):
        return end.ended_at
    writer = attempt.writer()
    if not attempt.registered and writer is not None and writer.ending is not None:
        return writer.ending.at
    if index + 1 < len(job.ordered):
        last = max(
            (at for at in (attempt.heard_at, attempt.runner_heard_at) if at is not None), default=attempt.known_at
        )
        return max(attempt.began_at, min(last, job.ordered[index + 1].began_at))
    return None


def running_seconds(job: TrackedJob, end: Outcome, now: float, since: float = -math.inf) -> float:
    """Seconds in Running, over all attempts, from ``since`` on."""
    total = 0.0
    for index, attempt in enumerate(job.ordered):
        start = begun(attempt)
        if start is None:
            continue
        over = attempt_end(job, index, end)
        total += max(0.0, (now if over is None else over) - max(start, since))
    return total


def at_risk_seconds(attempt: AttemptState, now: float) -> float | None:
    """Seconds of work that a crash would lose: since the newest checkpoint of an attempt, else since it began."""
    saved = attempt.checkpoint
    since = saved.at if saved is not None else begun(attempt)
    return None if since is None else now - since


def without_progress_seconds(job: TrackedJob, end: Outcome, now: float) -> float:
    """Seconds in Running since nothing was gained any more; of a job that ended, if it ended that way."""
    ended = end.ended_at if end.state.ended and end.ended_at is not None else math.inf
    onsets = [
        one.since for one in job.conditions if one.type in GOES_NOWHERE and (one.until is None or one.until >= ended)
    ]
    return running_seconds(job, end, now, min(onsets)) if onsets else 0.0
