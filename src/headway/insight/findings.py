"""What insight has found: conditions that stand, and the one verdict that a person reads first.

A :class:`Finding` is a condition before it has a history: it stands at the moment it is returned, and is withdrawn by no
longer being returned. :mod:`headway.tracking` merges findings into a job's conditions, with the time from when to when
each stood.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from headway.protocol.message import Message
from headway.protocol.verdict import SEVERITY, ConditionType, Severity, Verdict

Evidence = dict[str, float | int | str | None]
"""Named figures that a finding rests on. Every value is finite or None."""

_ORDER: Final = {type_: rank for rank, type_ in enumerate(SEVERITY)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that the numbers say now.

    ``since_t`` is on the clock that the caller gave to insight (Unix seconds in the server, seconds since the beginning in
    a replayed log), NaN where the log holds no times. ``(type, metric)`` is what makes two findings the same one.
    """

    type: ConditionType
    since_t: float
    since_step: int | None = None
    metric: str | None = None
    evidence: Evidence = field(default_factory=dict)
    text: str = ""

    @property
    def severity(self) -> Severity:
        """How grave it is."""
        return SEVERITY[self.type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """All that stands, and the verdict: the gravest finding or, with none, how the run goes."""

    verdict: Verdict
    text: str
    """One sentence for the verdict, with its figures."""
    message: Message | None = None
    """The same with its kind, where nothing stands; a finding has its evidence."""
    since_t: float | None = None
    since_step: int | None = None
    findings: tuple[Finding, ...] = ()
    """Gravest first."""
    notes: tuple[str, ...] = ()
    """What is worth knowing and no condition: spikes that recovered, an isolated NaN, a level step after a restart."""


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings in the order in which the verdict is chosen."""
    return tuple(sorted(findings, key=lambda finding: (_ORDER[finding.type], finding.metric or "")))
