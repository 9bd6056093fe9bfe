"""RestartLoop: attempt after attempt ends before it has passed the step that was reached already."""

from __future__ import annotations

from typing import Final

from headway.insight import wording
from headway.insight.findings import Finding
from headway.protocol.report import EndingKind
from headway.protocol.verdict import ConditionType
from headway.tracking.attempts import AttemptState
from headway.tracking.progress import standing
from headway.tracking.tracked import TrackedJob

_IN_A_ROW: Final = 3
"""One crash is an accident, two a coincidence."""
_MEANT: Final = frozenset({EndingKind.COMPLETED, EndingKind.EARLY_STOPPED, EndingKind.CANCELLED})


def restart_loop(job: TrackedJob) -> list[Finding]:
    """RestartLoop, if the last attempts that ended gained nothing, and the present one has not yet either."""
    if len(job.ordered) < _IN_A_ROW:
        return []
    best: int | None = None
    fruitless: list[AttemptState] = []
    for attempt in job.ordered:
        here = standing(attempt)
        gained = here.advanced if best is None else here.step is not None and here.step > best
        if gained or _ended_on_purpose(attempt):
            fruitless = []
        elif attempt is not job.current or attempt.runner_ending is not None:
            fruitless.append(attempt)
        if here.step is not None:
            best = here.step if best is None else max(best, here.step)
    if len(fruitless) < _IN_A_ROW:
        return []
    reached = [standing(attempt).step for attempt in fruitless]
    passed = "making a step" if best is None else f"passing step {wording.step(best)}"
    at = ", ".join("none" if step is None else wording.step(step) for step in reached[-5:])
    why = _reason(fruitless[-1])
    return [
        Finding(
            type=ConditionType.RESTART_LOOP,
            since_t=fruitless[0].began_at,
            since_step=best,
            evidence={
                "attempts": len(fruitless),
                "bestStep": best,
                "lastStep": reached[-1],
                "lastSteps": at,
                "ending": why,
            },
            text=f"{len(fruitless)} attempts in a row ended without {passed} (last steps: {at})"
            + (f"; the last one: {why}" if why else ""),
        )
    ]


def _ended_on_purpose(attempt: AttemptState) -> bool:
    end = attempt.runner_ending
    return end is not None and end.ending is not None and end.ending.kind in _MEANT


def _reason(attempt: AttemptState) -> str | None:
    writer, end = attempt.writer(), attempt.runner_ending
    for ending in (writer.ending.how if writer is not None and writer.ending else None, end.ending if end else None):
        if ending is None:
            continue
        if ending.exception:
            return f"{ending.exception}: {ending.message}"[:200] if ending.message else ending.exception
        if ending.signal:
            return ending.signal
        if ending.exit_code:
            return f"exit code {ending.exit_code}"
    return None
