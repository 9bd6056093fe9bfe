"""What a job costs: time in Running x devices, and x the price where there is one."""

from __future__ import annotations

from headway.protocol.job import Cost, Ledger, Spec

_HOUR = 3600.0


def ledger(
    spec: Spec,
    devices: int | None,
    *,
    running_seconds: float,
    remaining_seconds: float | None,
    at_risk_seconds: float | None,
    without_progress_seconds: float | None,
) -> Ledger:
    """The ledger of a job from seconds of Running; None leaves an amount out.

    Args:
        spec: holds the price of the whole job per hour of Running.
        devices: devices of the whole job; None when unknown.
        running_seconds: time in Running, over all attempts.
        remaining_seconds: from now to the ETA.
        at_risk_seconds: since the last checkpoint.
        without_progress_seconds: since the onset of what says that nothing is gained.
    """

    def cost(seconds: float | None) -> Cost:
        if seconds is None:
            return Cost()
        hours = max(0.0, seconds) / _HOUR
        return Cost(
            device_hours=None if devices is None else hours * devices,
            money=None if spec.price_per_hour is None else hours * spec.price_per_hour,
        )

    return Ledger(
        price_per_hour=spec.price_per_hour,
        spent=cost(running_seconds),
        remaining=cost(remaining_seconds),
        at_risk=cost(at_risk_seconds),
        without_progress=cost(without_progress_seconds),
    )
