"""The closed lists of what a run's numbers can mean: conditions, which stand side by side, and the one verdict shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How grave a condition is."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTICE = "notice"


class ConditionType(StrEnum):
    """Types of conditions, gravest first."""

    STALLED = "Stalled"
    NON_FINITE = "NonFinite"
    DIVERGING = "Diverging"
    RESTART_LOOP = "RestartLoop"
    SILENT = "Silent"
    STRAGGLING_RANK = "StragglingRank"
    SLOW = "Slow"
    OVERFITTING = "Overfitting"
    PLATEAUED = "Plateaued"
    EVAL_PLATEAUED = "EvalPlateaued"
    FROZEN = "Frozen"
    TOTAL_WRONG = "TotalWrong"
    CHECKPOINT_LATE = "CheckpointLate"


class Verdict(StrEnum):
    """What a person reads first: the gravest condition that stands or, with none, how the run goes."""

    STARTING = "Starting"
    UNDECIDED = "Undecided"
    PROGRESSING = "Progressing"
    FINISHING = "Finishing"
    STALLED = "Stalled"
    NON_FINITE = "NonFinite"
    DIVERGING = "Diverging"
    RESTART_LOOP = "RestartLoop"
    SILENT = "Silent"
    STRAGGLING_RANK = "StragglingRank"
    SLOW = "Slow"
    OVERFITTING = "Overfitting"
    PLATEAUED = "Plateaued"
    EVAL_PLATEAUED = "EvalPlateaued"
    FROZEN = "Frozen"
    TOTAL_WRONG = "TotalWrong"
    CHECKPOINT_LATE = "CheckpointLate"


SEVERITY: Final[dict[ConditionType, Severity]] = {
    ConditionType.STALLED: Severity.CRITICAL,
    ConditionType.NON_FINITE: Severity.CRITICAL,
    ConditionType.DIVERGING: Severity.CRITICAL,
    ConditionType.RESTART_LOOP: Severity.CRITICAL,
    ConditionType.SILENT: Severity.WARNING,
    ConditionType.STRAGGLING_RANK: Severity.WARNING,
    ConditionType.SLOW: Severity.WARNING,
    ConditionType.OVERFITTING: Severity.WARNING,
    ConditionType.PLATEAUED: Severity.WARNING,
    ConditionType.EVAL_PLATEAUED: Severity.NOTICE,
    ConditionType.FROZEN: Severity.NOTICE,
    ConditionType.TOTAL_WRONG: Severity.NOTICE,
    ConditionType.CHECKPOINT_LATE: Severity.NOTICE,
}
"""Severity of each type, in the order in which the gravest is chosen."""


GOES_NOWHERE: Final = frozenset(
    {
        ConditionType.STALLED,
        ConditionType.NON_FINITE,
        ConditionType.DIVERGING,
        ConditionType.RESTART_LOOP,
        ConditionType.PLATEAUED,
    }
)
"""What says that nothing is gained: the ledger counts what is spent since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that the numbers say, with the figures that it rests on."""

    type: ConditionType
    severity: Severity
    since: float
    """When it set in, as Unix seconds."""
    since_step: int | None = None
    until: float | None = None
    """When it was withdrawn; None while it stands."""
    until_step: int | None = None
    metric: str | None = None
    evidence: dict[str, float | int | str | None] = field(default_factory=dict)
    text: str = ""
