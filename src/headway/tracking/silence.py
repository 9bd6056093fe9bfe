"""What is judged without any metric: that nothing is heard (after a while Silent, later Lost), and that the total was wrong.

Time passes here without an event, so the hub calls :func:`sweep` regularly. Time in which the server itself did not listen (it
was down, or asleep) is not held against anybody: ``listening_since`` says since when it has listened without a gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from headway.insight.findings import Finding
from headway.protocol.job import State
from headway.protocol.verdict import ConditionType
from headway.tracking.attempts import AttemptState
from headway.tracking.conditions import end_all, merge
from headway.tracking.progress import Overall, overall
from headway.tracking.runs import RunState
from headway.tracking.state import governing, outcome
from headway.tracking.tracked import TrackedJob

_MISSED: Final = 3
_SLACK: Final = 3.0
_STOCK_SILENCE: Final = 300.0
"""A client that does not beat is not silent before this many seconds."""
_OWNED: Final = frozenset({ConditionType.SILENT, ConditionType.TOTAL_WRONG})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long nothing may be heard."""

    report_interval: float = 1.0
    """Seconds between reports that the server asks for."""
    heartbeat: float = 2.0
    """Seconds between a runner's signs of life that the server asks for."""
    lost_after: float = 300.0
    """Seconds after which a job without a runner is given up."""


def silence_limit(run: RunState, patience: Patience) -> float:
    """Seconds without a word from a run after which it is silent."""
    gap = run.usual_gap
    if run.stock is not None:
        return max(_STOCK_SILENCE, 3.0 * max(run.gaps, default=0.0))
    return _MISSED * max(patience.report_interval, min(gap or 0.0, 60.0)) + _SLACK


def sweep(job: TrackedJob, now: float, listening_since: float, patience: Patience) -> bool:
    """Turns silence into Silent and Lost, and withdraws Silent; whether anything changed."""
    attempt = governing(job)
    if attempt is None:
        return False
    where = overall(job)
    if outcome(job, where).state is not State.RUNNING:
        job.conditions, turned = end_all(job.conditions, now, where.step)
        return turned
    lost = _lost(attempt, now, listening_since, patience)
    if lost:
        attempt.lost_at, attempt.fragment = now, None
        job.updated_at = max(job.updated_at, now)
        job.conditions, _ = end_all(job.conditions, now, where.step)
        return True
    findings = [*_silent(job, now, listening_since, patience), *_total_wrong(where)]
    job.conditions, turned = merge(job.conditions, findings, _OWNED, now, where.step)
    return turned


def _lost(attempt: AttemptState, now: float, listening_since: float, patience: Patience) -> bool:
    if attempt.registered:
        heard, limit = attempt.runner_heard_at, _MISSED * patience.heartbeat
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
    if heard is None or writer is None:
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


def _total_wrong(where: Overall) -> list[Finding]:
    step, total = where.step, where.total
    if step is None or total is None or step <= total:
        return []
    return [
        Finding(
            type=ConditionType.TOTAL_WRONG,
            since_t=where.here.step_at or math.nan,
            since_step=total + 1,
            evidence={"step": step, "totalSteps": total},
            text=f"step {step} is past the announced total of {total}",
        )
    ]
