"""The history of a job's conditions, and the verdict that is read from it.

This is the door for :mod:`headway.insight`: whatever watches a job hands in the findings that stand now, for the types that it
watches, and :func:`merge` opens, keeps and withdraws conditions accordingly. The verdict is a projection: nothing else reads it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from headway.insight.findings import Finding
from headway.protocol.verdict import SEVERITY, Condition, ConditionType, Verdict

MOST_CONDITIONS: Final = 200
"""Conditions kept of one job; the oldest that no longer stand are dropped first."""

_LATELY: Final = 60.0
"""Seconds for which a condition that was withdrawn is still told to whoever asks now and then."""

_ORDER: Final = {kind: rank for rank, kind in enumerate(SEVERITY)}


def standing(conditions: Iterable[Condition]) -> list[Condition]:
    """Those that stand, the gravest first."""
    return sorted(
        (one for one in conditions if one.until is None), key=lambda one: (_ORDER[one.type], one.metric or "")
    )


def lately(conditions: Iterable[Condition], now: float) -> list[Condition]:
    """Those that stand, the gravest first, then those that were withdrawn within the last minute."""
    told = list(conditions)
    return standing(told) + [one for one in told if one.until is not None and one.until > now - _LATELY]


def merge(
    conditions: tuple[Condition, ...],
    findings: Iterable[Finding],
    types: Collection[ConditionType],
    now: float,
    step: int | None,
) -> tuple[tuple[Condition, ...], bool]:
    """The conditions after ``findings``, which are all that stands of ``types``; and whether one began or ended.

    A finding keeps the onset of the condition that it goes on with, and renews its evidence and text.
    """
    found = {(finding.type, finding.metric): finding for finding in findings if finding.type in types}
    merged: list[Condition] = []
    turned = False
    for condition in conditions:
        if condition.until is not None or condition.type not in types:
            merged.append(condition)
            continue
        finding = found.pop((condition.type, condition.metric), None)
        if finding is None:
            merged.append(replace(condition, until=now, until_step=step))
            turned = True
        elif finding.evidence != condition.evidence or finding.text != condition.text:
            merged.append(replace(condition, evidence=dict(finding.evidence), text=finding.text))
        else:
            merged.append(condition)
    for finding in found.values():
        merged.append(_begin(finding, now))
        turned = True
    if len(merged) > MOST_CONDITIONS:
        past = [one for one in merged if one.until is not None][: len(merged) - MOST_CONDITIONS]
        merged = [one for one in merged if not any(one is old for old in past)]
    return tuple(merged), turned


def end_all(conditions: tuple[Condition, ...], now: float, step: int | None) -> tuple[tuple[Condition, ...], bool]:
    """Withdraws what stands: the job ended, or its next attempt began."""
    return merge(conditions, (), tuple(ConditionType), now, step)


def _begin(finding: Finding, now: float) -> Condition:
    return Condition(
        type=finding.type,
        severity=finding.severity,
        since=min(now, finding.since_t) if math.isfinite(finding.since_t) else now,
        since_step=finding.since_step,
        metric=finding.metric,
        evidence=dict(finding.evidence),
        text=finding.text,
    )


def verdict_of(condition: Condition) -> Verdict:
    """The verdict that a condition stands for."""
    return Verdict(condition.type.value)
