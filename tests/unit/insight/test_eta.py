"""When a run ends: the behaviours that trackers in the field got wrong, as small inputs."""

from __future__ import annotations

import sys

import pytest

from headway.insight.eta import EtaEstimator


def test_resumed_run_does_not_count_the_steps_before_it() -> None:
    eta = EtaEstimator()
    eta.begin_attempt(900, 0.0)
    eta.observe(901, 10.0)
    assert eta.estimate(10.0, 1000) is None
    for step in (902, 903):
        eta.observe(step, (step - 900) * 10.0)
    known = eta.estimate(30.0, 1000)
    assert known is not None
    assert known.seconds == pytest.approx(970, rel=0.05)


@pytest.mark.parametrize("total", [-1, 0, None, sys.maxsize, float("nan"), float("inf")])
def test_no_total_no_estimate(total: float | None) -> None:
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step in range(1, 30):
        eta.observe(step, float(step))
    assert eta.estimate(30.0, total) is None
