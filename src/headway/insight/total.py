"""TotalWrong: a run that has made more steps than it announced."""

from __future__ import annotations

from headway.insight.findings import Finding
from headway.protocol.verdict import ConditionType


def total_wrong(step: int | None, total: int | None, since_t: float) -> list[Finding]:
    """The finding, where ``step`` is past ``total``; nothing where either is unknown. ``since_t`` as in :class:`Finding`."""
    if step is None or not total or total < 0 or step <= total:
        return []
    return [
        Finding(
            type=ConditionType.TOTAL_WRONG,
            since_t=since_t,
            since_step=total + 1,
            evidence={"step": step, "totalSteps": total},
            text=f"step {step} is past the announced total of {total}",
        )
    ]
