"""CheckpointLate: more work is at risk than this run usually lets come to be between two checkpoints.

What is usual is learnt from the job's own checkpoints, in steps, over all attempts; a job that was never heard to save is not
judged. The limit is generous, for some save only what is better than before.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import Final

from headway.insight import wording
from headway.insight.findings import Evidence, Finding
from headway.protocol.verdict import ConditionType
from headway.tracking.tracked import TrackedJob

_LEAST_SECONDS: Final = 300.0
"""Work of fewer seconds is little to lose, however often a run saves."""
_ENOUGH: Final = 3
"""Gaps between checkpoints that tell what is usual."""
_RECENT: Final = 5
_TIMES_USUAL: Final = 3.0
_TIMES_LONGEST: Final = 2.0


def checkpoint_late(job: TrackedJob, now: float) -> list[Finding]:
    """CheckpointLate, if the current attempt has come further since its last checkpoint than the job's habit explains.

    Before the first checkpoint of an attempt, what it has done since it began counts.
    """
    attempt = job.current
    writer = attempt.writer() if attempt is not None else None
    if attempt is None or writer is None or writer.step is None or writer.ending is not None:
        return []
    saved = attempt.checkpoint
    since = saved.at if saved is not None else writer.origin
    if not now - since >= _LEAST_SECONDS:
        return []
    begin = saved.step if saved is not None else writer.began
    gaps = usual_gaps(job)
    if begin is None or len(gaps) < _ENOUGH:
        return []
    usual = median(gaps)
    limit = max(_TIMES_USUAL * usual, _TIMES_LONGEST * max(gaps))
    steps = writer.step - begin
    if steps <= limit:
        return []
    seconds = now - since
    price = job.spec.price_per_hour
    money = None if price is None else price * seconds / 3600
    evidence: Evidence = {
        "step": writer.step,
        "lastCheckpointStep": saved.step if saved is not None else None,
        "stepsAtRisk": steps,
        "secondsAtRisk": round(seconds, 3),
        "moneyAtRisk": None if money is None else round(money, 4),
        "usualSteps": usual,
        "limitSteps": limit,
    }
    text = (
        f"no checkpoint for {wording.step(steps)} steps ({wording.duration(seconds)}"
        + (f", {wording.number(money, 2)} at the job's price" if money is not None else "")
        + (f"), since the one at step {wording.step(begin)}" if saved is not None else "), none in this attempt yet")
        + f"; usually there is one every {wording.step(usual)} steps"
    )
    return [Finding(type=ConditionType.CHECKPOINT_LATE, since_t=since, since_step=begin, evidence=evidence, text=text)]


def usual_gaps(job: TrackedJob) -> list[int]:
    """The newest gaps between checkpoints, in steps: of the newest attempt that has enough of them, else of all together."""
    gaps: list[int] = []
    for attempt in reversed(job.ordered):
        own = [later - earlier for earlier, later in pairwise(attempt.saves)]
        if len(own) >= _ENOUGH:
            return own[-_RECENT:]
        gaps = own + gaps
    return gaps[-_RECENT:]
