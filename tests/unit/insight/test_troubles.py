"""What befalls a curve is seen after it began, and what only looks like trouble is not."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from headway.insight.replay import replay
from headway.protocol.verdict import ConditionType
from headway.testing.curves import Curve, healthy
from headway.testing.troubles import (
    doubled,
    late,
    with_divergence,
    with_evaluations,
    with_nan,
    with_restart,
    with_spike,
)

ALARMS = {ConditionType.PLATEAUED, ConditionType.DIVERGING, ConditionType.NON_FINITE, ConditionType.OVERFITTING}
QUIET = [seed for seed in range(40) if healthy(seed).name.split("-")[2] in {"0.01", "0.03"}][:18]
"""Runs of little noise, of all shapes."""


def learns_on(seed: int) -> bool:
    """Whether the training loss still falls by a sixth after 40 % of a run."""
    curve = healthy(seed)
    return curve.still_to_come(round(0.41 * curve.total_steps)) > 1 / 6


def alarms(curve: Curve) -> list[tuple[ConditionType, int]]:
    found = replay(curve.points, total_steps=curve.total_steps)
    return [
        (condition.type, condition.detected_step)
        for condition in found.conditions
        if condition.type in ALARMS and condition.detected_step < 0.95 * curve.total_steps
    ]


def wrong(curve: Curve) -> list[tuple[ConditionType, int]]:
    """Alarms on a run with nothing wrong: not those of a plateau with under 2 % still to come."""
    return [
        (kind, step)
        for kind, step in alarms(curve)
        if kind is not ConditionType.PLATEAUED or curve.still_to_come(step) >= 0.02
    ]


@pytest.mark.parametrize("seed", QUIET)
def test_a_divergence_is_seen_within_a_tenth_of_the_run_and_not_before(seed: int):
    curve = with_divergence(healthy(seed), 0.5)
    assert curve.onset_step is not None
    steps = [step for kind, step in alarms(curve) if kind is ConditionType.DIVERGING]
    assert steps
    assert curve.onset_step <= steps[0] < curve.onset_step + max(0.1 * curve.total_steps, 14 * curve.points[0].step)


@pytest.mark.parametrize("seed", QUIET[:6])
def test_not_a_number_is_seen_at_the_second_report(seed: int):
    curve = with_nan(healthy(seed), 0.5)
    at = next(index for index, point in enumerate(curve.points) if math.isnan(point.metrics["loss"].mean))
    assert (ConditionType.NON_FINITE, curve.points[at + 1].step) in alarms(curve)
    assert curve.onset_step == curve.points[at].step


@pytest.mark.parametrize("seed", QUIET)
def test_spikes_and_restarts_are_no_alarm(seed: int):
    assert wrong(with_spike(healthy(seed), 0.5)) == []
    assert wrong(with_restart(healthy(seed), 0.5)) == []


@pytest.mark.parametrize("seed", QUIET)
def test_reports_that_come_late_or_twice_change_nothing_that_matters(seed: int):
    curve = healthy(seed)
    assert alarms(doubled(curve, 1)) == alarms(curve)
    assert wrong(late(curve, 1)) == []
    stuck = with_divergence(curve, 0.5)
    assert {kind for kind, _ in alarms(doubled(late(stuck, 2), 2))} >= {ConditionType.DIVERGING}


@pytest.mark.parametrize("seed", [seed for seed in QUIET if learns_on(seed)])
def test_evaluations_that_turn_are_overfitting_and_others_are_not(seed: int):
    curve = with_evaluations(healthy(seed), 40, seed, overfit_from=0.4)
    assert curve.onset_step is not None
    steps = [step for kind, step in alarms(curve) if kind is ConditionType.OVERFITTING]
    assert steps
    assert curve.onset_step < steps[0] < 0.9 * curve.total_steps
    kinds = {kind for kind, _ in alarms(with_evaluations(healthy(seed), 40, seed))}
    assert ConditionType.OVERFITTING not in kinds


def test_late_and_doubled_points_are_all_there():
    curve = healthy(3)
    assert sorted(late(curve, 1).points) == sorted(curve.points)
    assert late(curve, 1).points != curve.points
    assert set(map(id, doubled(curve, 1).points)) == set(map(id, curve.points))
    assert len(doubled(curve, 1).points) > len(curve.points)


def test_a_restart_goes_back_in_steps_and_on_in_time():
    curve = with_restart(healthy(0), 0.5)
    steps, times = [point.step for point in curve.points], [point.t for point in curve.points]
    assert times == sorted(times)
    assert sum(after <= before for before, after in pairwise(steps)) == 1
    assert len(curve.levels) == len(curve.points)
