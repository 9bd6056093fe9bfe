"""Judge a log that is already there as an online watcher would have, point by point.

Every entry of the timeline rests on the points up to then alone: nothing is taken back with hindsight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headway.insight.assess import RunInsight
from headway.insight.eta import EtaEstimate, EtaEstimator
from headway.insight.findings import Assessment, Evidence, Finding
from headway.insight.total import total_wrong
from headway.protocol.report import Point
from headway.protocol.verdict import ConditionType, Severity, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCondition:
    """A condition with its history: when it set in, when it was seen, and when (if ever) it was withdrawn."""

    type: ConditionType
    metric: str | None
    since_step: int | None
    detected_step: int
    until_step: int | None
    text: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a watcher would have shown from ``step`` on."""

    step: int
    kind: Verdict
    since_step: int
    """Where what is shown set in; where it was first shown, for a verdict without a condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The judgement of a whole log."""

    total_steps: int | None
    final: Assessment
    eta: EtaEstimate | None
    """When the run would end, seen from the last point; None without times, without a total, or at the end."""
    conditions: tuple[ReplayedCondition, ...]
    """In the order in which they were detected."""
    timeline: tuple[Shown, ...]
    points: int
    judged_by: str | None = None
    """The metric that says how well it learns; None where there is none."""

    @property
    def healthy(self) -> bool:
        """Whether nothing graver than a notice stands at the end."""
        return all(finding.severity is Severity.NOTICE for finding in self.final.findings)

    def document(self, file: str) -> dict[str, Any]:
        """The judgement as JSON values: what ``headway check --json`` prints of ``file``."""
        return {
            "file": file,
            "totalSteps": self.total_steps,
            "verdict": self.final.verdict.value,
            "conditions": [
                {
                    "type": condition.type.value,
                    "metric": condition.metric,
                    "sinceStep": condition.since_step,
                    "detectedStep": condition.detected_step,
                    "untilStep": condition.until_step,
                    "text": condition.text,
                    "evidence": condition.evidence,
                }
                for condition in self.conditions
            ],
            "timeline": [
                {"step": shown.step, "kind": shown.kind.value, "sinceStep": shown.since_step} for shown in self.timeline
            ],
            "eta": None
            if self.eta is None
            else {"seconds": self.eta.seconds, "low": self.eta.low, "high": self.eta.high, "basis": self.eta.basis},
        }


@dataclass(slots=True)
class Watcher:
    """Keeps the history of conditions and verdicts while points come in."""

    insight: RunInsight
    total_steps: int | None = None
    standing: dict[tuple[ConditionType, str | None], ReplayedCondition] = field(default_factory=dict)
    ended: list[ReplayedCondition] = field(default_factory=list)
    timeline: list[Shown] = field(default_factory=list)
    last: Assessment | None = None
    highest: int = 0
    """The furthest step so far."""
    surpassed_at: float = math.nan
    """When the run passed its total."""

    def see(self, point: Point) -> Assessment:
        """Take in one point, and note what has changed."""
        self.insight.observe(point, total_steps=self.total_steps)
        if self.highest <= (self.total_steps or 0) < point.step:
            self.surpassed_at = point.t
        self.highest = max(self.highest, point.step)
        return self._note(point)

    def end(self, point: Point) -> None:
        """The log ends with ``point``: what is said of it, with the figures of its end."""
        self.insight.renew()
        self._note(point)

    def _note(self, point: Point) -> Assessment:
        others = total_wrong(self.highest, self.total_steps, self.surpassed_at)
        self.last = assessment = self.insight.assess(point.t, others=others)
        if assessment.findings or self.standing:
            found = {(finding.type, finding.metric): finding for finding in assessment.findings}
            for key in [key for key in self.standing if key not in found]:
                self.ended.append(replace(self.standing.pop(key), until_step=point.step))
            for key, finding in found.items():
                known = self.standing.get(key)
                self.standing[key] = _condition(finding, known.detected_step if known else point.step)
        if not self.timeline or self.timeline[-1].kind is not assessment.verdict:
            since = point.step if assessment.since_step is None else assessment.since_step
            self.timeline.append(Shown(step=point.step, kind=assessment.verdict, since_step=since))
        return assessment


def _condition(finding: Finding, detected: int) -> ReplayedCondition:
    return ReplayedCondition(
        type=finding.type,
        metric=finding.metric,
        since_step=finding.since_step,
        detected_step=detected,
        until_step=None,
        text=finding.text,
        evidence=finding.evidence,
    )


def replay(
    points: Iterable[Point],
    *,
    total_steps: int | None = None,
    metric: str | None = None,
    directions: Mapping[str, str] | None = None,
) -> Replay:
    """Judge a log: points in the order in which they were written, ``t`` NaN where no times are known."""
    watcher = Watcher(RunInsight(directions=directions, metric=metric), total_steps)
    pace = EtaEstimator()
    count, t = 0, math.nan
    last: Point | None = None
    for last in points:
        watcher.see(last)
        pace.observe(last.step, last.t)
        count, t = count + 1, last.t
    if last is not None:
        watcher.end(last)
    conditions = sorted([*watcher.ended, *watcher.standing.values()], key=lambda condition: condition.detected_step)
    return Replay(
        total_steps=total_steps,
        final=watcher.last or RunInsight().assess(math.nan),
        eta=pace.estimate(t, total_steps) if math.isfinite(t) else None,
        conditions=tuple(conditions),
        timeline=tuple(watcher.timeline),
        points=count,
        judged_by=watcher.insight.primary,
    )
