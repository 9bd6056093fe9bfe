"""What is judged without any metric: silence (Silent, later Lost), standstill, stragglers, useless restarts, late checkpoints.

Time passes here without an event, so the hub calls :func:`sweep` regularly. Time in which the server itself did not listen (it
was down, or asleep) is not held against anybody: ``listening_since`` says since when it has listened without a gap.
"""

from __future__ import annotations

import math
from typing import Final

from headway.insight.findings import Finding
from headway.insight.total import total_wrong
from headway.protocol.job import State
from headway.protocol.report import EndingKind
from headway.protocol.verdict import ConditionType
from headway.tracking.attempts import AttemptState
from headway.tracking.conditions.checkpoint_late import checkpoint_late
from headway.tracking.conditions.merge import end_all, merge
from headway.tracking.conditions.patience import MISSED, Patience, silence_limit
from headway.tracking.conditions.restart_loop import restart_loop
from headway.tracking.conditions.stalled import hold, stalled
from headway.tracking.conditions.stragglers import stragglers
from headway.tracking.progress import overall
from headway.tracking.state import governing, outcome
from headway.tracking.tracked import TrackedJob

_GOOD: Final = frozenset({EndingKind.COMPLETED, EndingKind.EARLY_STOPPED})
_OF_AN_ATTEMPT: Final = frozenset(
    {
        ConditionType.STALLED,
        ConditionType.SILENT,
        ConditionType.STRAGGLING_RANK,
        ConditionType.SLOW,
        ConditionType.CHECKPOINT_LATE,
    }
)
"""Conditions of processes: they end with them. What was said of the curves, and of restarts, goes on into the next attempt."""
_OWNED: Final = frozenset(
    {
        ConditionType.STALLED,
        ConditionType.SILENT,
        ConditionType.STRAGGLING_RANK,
        ConditionType.RESTART_LOOP,
        ConditionType.TOTAL_WRONG,
        ConditionType.CHECKPOINT_LATE,
    }
)


def sweep(job: TrackedJob, now: float, listening_since: float, patience: Patience) -> bool:
    """Judges what time alone can change, and withdraws what no longer holds; whether anything began or ended."""
    attempt = governing(job)
    if attempt is None:
        return False
    where = overall(job)
    state = outcome(job, where).state
    if state is State.PAUSED and _lost(attempt, now, listening_since, patience):
        attempt.lost_at = now
        attempt.changed()
        job.updated_at = max(job.updated_at, now)
        return True
    if state is not State.RUNNING:
        hold(job, now)
        over = tuple(ConditionType) if state.ended else _OF_AN_ATTEMPT
        job.conditions, turned = merge(job.conditions, (), over, now, where.step)
        return turned
    lost = _lost(attempt, now, listening_since, patience)
    if lost:
        attempt.lost_at = now
        attempt.changed()
        job.updated_at = max(job.updated_at, now)
        job.conditions, _ = end_all(job.conditions, now, where.step)
        return True
    findings = [
        *stalled(job, now, patience.stall_floor),
        *_silent(job, now, listening_since, patience),
        *stragglers(job, now, listening_since, patience),
        *restart_loop(job),
        *total_wrong(where.step, where.total, where.here.step_at or math.nan),
        *checkpoint_late(job, now),
    ]
    job.conditions, turned = merge(job.conditions, findings, _OWNED, now, where.step)
    return turned


def _lost(attempt: AttemptState, now: float, listening_since: float, patience: Patience) -> bool:
    if attempt.registered:
        heard, limit = attempt.runner_heard_at, MISSED * patience.heartbeat
        heard = attempt.known_at if heard is None else heard
    else:
        heard, limit = attempt.heard_at or attempt.known_at, patience.lost_after
        writer = attempt.writer()
        if writer is not None and writer.stock is not None:
            limit = max(limit, 2 * silence_limit(writer, patience))
    return now - max(heard, listening_since) > limit


def _silent(job: TrackedJob, now: float, listening_since: float, patience: Patience) -> list[Finding]:
    attempt = job.current
    heard = attempt.heard_at if attempt is not None else None
    writer = attempt.writer() if attempt is not None else None
    if heard is None or writer is None or (writer.ending is not None and writer.ending.how.kind in _GOOD):
        return []
    limit = silence_limit(writer, patience)
    stands = any(
        one.type is ConditionType.SILENT and one.until is None and one.since >= heard for one in job.conditions
    )
    if not stands and now - max(heard, listening_since) <= limit:
        return []
    step = writer.step
    return [
        Finding(
            type=ConditionType.SILENT,
            since_t=heard,
            since_step=step,
            evidence={"lastContact": heard, "lastStep": step, "limitSeconds": limit},
            text="no contact with the run" + (f" since step {step}" if step is not None else ""),
        )
    ]
