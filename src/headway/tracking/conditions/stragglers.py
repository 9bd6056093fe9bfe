"""StragglingRank: which of a job's processes is behind, lost, or stands where the others do not. Read from their beats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from headway.insight import wording
from headway.insight.findings import Evidence, Finding
from headway.insight.frames import standing_at
from headway.protocol.verdict import ConditionType
from headway.tracking.attempts import AttemptState
from headway.tracking.conditions.patience import Patience, silence_limit
from headway.tracking.runs import RunState
from headway.tracking.tracked import TrackedJob

_NAMED: Final = 5
"""Ranks that are named; the others are counted."""
_ENOUGH_STACKS: Final = 3


class _Straggler(NamedTuple):
    """A rank, since when it straggles, and how, in words and in figures."""

    rank: int
    since: float
    text: str
    figures: Evidence


def stragglers(job: TrackedJob, now: float, listening_since: float, patience: Patience) -> list[Finding]:
    """StragglingRank, if some processes of the current attempt are behind or lost while the others are not."""
    attempt, judge = job.current, job.judge
    if attempt is None or judge is None or len(attempt.runs) < 2:
        return []

    def silent(run: RunState) -> bool:
        return now - max(run.spoke_at, listening_since) > silence_limit(run, patience)

    ranks = _members(attempt, silent)
    if len(ranks) < 2:
        return []
    lost = {rank for rank, run in ranks.items() if silent(run)}
    if len(lost) == len(ranks):
        return []
    lead = max((run.step for run in ranks.values() if run.step is not None), default=None)
    limit = judge.stall.limit()
    found: list[_Straggler] = []
    for rank, run in sorted(ranks.items()):
        if rank in lost:
            quiet = now - run.spoke_at
            text = f"has not been heard for {wording.duration(quiet)}, {len(ranks) - len(lost)} others have"
            found.append(_Straggler(rank, run.spoke_at, text, {"seconds": round(quiet, 3)}))
        elif lead is not None and run.step is not None and run.step < lead and run.step_at is not None:
            stood = min(now, run.spoke_at) - run.step_at
            if stood > limit:
                text = f"has stood at step {wording.step(run.step)} for {wording.duration(stood)}"
                text += f", others are at step {wording.step(lead)}"
                found.append(_Straggler(rank, run.step_at, text, {"seconds": round(stood, 3)}))
    if not found:
        found = _elsewhere(ranks)
    return [_finding(ranks, found, lead, len(lost))] if found else []


def _members(attempt: AttemptState, silent: Callable[[RunState], bool]) -> dict[int, RunState]:
    """The run of each rank that trains and has not said that it ended: the first that is heard, else the newest.

    A later one beside it is what its process started, such as an evaluation that inherited the environment.
    """
    chain = attempt.writers()
    members: dict[int, RunState] = {}
    for run in sorted(attempt.runs.values(), key=lambda each: each.order):
        if (run.wrote and run is not (chain[-1] if chain else None)) or run.ending is not None:
            continue
        known = members.get(run.rank)
        if known is None or silent(known):
            members[run.rank] = run
    return members


def _elsewhere(ranks: dict[int, RunState]) -> list[_Straggler]:
    """The one rank whose stack stands at another place than those of all others."""
    places: dict[int, str] = {}
    for rank, run in ranks.items():
        if (stack := run.present_stack) is not None and (frame := standing_at(stack)) is not None:
            places[rank] = frame.place
    if len(places) < _ENOUGH_STACKS:
        return []
    (usual, count), *others = Counter(places.values()).most_common()
    if count != len(places) - 1:
        return []
    rank, place = next((rank, place) for rank, place in places.items() if place == others[0][0])
    run = ranks[rank]
    since = run.step_at if run.step_at is not None else run.spoke_at
    text = f"stands at {place}, the {count} others at {usual}"
    return [_Straggler(rank, since, text, {"place": place, "othersPlace": usual, "others": count})]


def _finding(ranks: dict[int, RunState], found: list[_Straggler], lead: int | None, lost: int) -> Finding:
    parts = [f"{_name(ranks[one.rank])} {one.text}" for one in found[:_NAMED]]
    if len(found) > _NAMED:
        parts.append(f"and {len(found) - _NAMED} more")
    first = ranks[found[0].rank]
    return Finding(
        type=ConditionType.STRAGGLING_RANK,
        since_t=min(one.since for one in found),
        since_step=first.step,
        evidence={
            "rank": first.rank,
            "ranks": ", ".join(str(one.rank) for one in found),
            "host": first.info.value.host if first.info is not None else None,
            "step": first.step,
            "leadStep": lead,
            "lost": lost,
            "heard": len(ranks) - lost,
            **found[0].figures,
        },
        text="; ".join(parts),
    )


def _name(run: RunState) -> str:
    host = run.info.value.host if run.info is not None else None
    return f"rank {run.rank}" + (f" ({host})" if host else "")
