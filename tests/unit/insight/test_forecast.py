"""What windows say of the improvement still to come: rounding, bounds that are reached, levels that were raised, and onsets."""

from __future__ import annotations

import random
from array import array
from statistics import median

from headway.insight.assess import RunInsight
from headway.insight.axis import Axis
from headway.insight.forecast import forecasts, may_fall_again, raised, stands_at_best
from headway.insight.replay import Replay, replay
from headway.insight.series import MetricSeries, resolution
from headway.protocol.report import Cell, Point
from headway.protocol.verdict import ConditionType
from headway.testing.curves import healthy, with_plateau


def run(values: list[float], name: str = "loss") -> list[Point]:
    return [Point(step, float(step), {name: Cell(value)}) for step, value in enumerate(values, 1)]


def series_of(values: list[float], name: str = "loss") -> tuple[MetricSeries, Axis]:
    series, axis = MetricSeries(name, {}), Axis()
    for step, value in enumerate(values, 1):
        series.add(step, value)
        axis.add(step, float(step), None)
    return series, axis


def plateau_of(found: Replay) -> int | None:
    steps = [c.detected_step for c in found.conditions if c.type is ConditionType.PLATEAUED]
    return steps[0] if steps else None


def test_the_resolution_is_the_step_of_decimal_rounding() -> None:
    assert resolution(array("d", [3.28, 3.3, 3.0])) == 0.01
    assert resolution(array("d", [-400.0, -357.5])) == 0.1
    assert resolution(array("d", [12.0, 7.0])) == 1.0
    assert resolution(array("d", [1 / 3, 0.5])) == 0.0
    assert resolution(array("d", [2.9e-8])) == 0.0


def test_improvement_that_rounding_hides_is_still_possible() -> None:
    true = [3.3 - 0.0004 * step for step in range(400)]
    rounded = [round(value, 1) for value in true]
    assert set(rounded[-80:]) == {3.1, 3.2}
    series, axis = series_of([3.2] * 400)
    for forecast in forecasts(series, axis, 800):
        assert forecast.most > 0.9 * 0.1 / 3.2 * forecast.ahead / forecast.trend.width
    assert plateau_of(replay(run(rounded), total_steps=600)) is None


def test_a_reward_at_its_cap_cannot_get_better_though_it_dips() -> None:
    rng = random.Random(3)
    climbing = [min(400.0, 20 + 8 * step + rng.gauss(0, 25)) for step in range(40)]
    capped = [400.0 if rng.random() < 0.55 else 400 - 130 * rng.random() for _ in range(80)]
    series, _ = series_of(climbing + capped, "reward")
    assert stands_at_best(series, 50)
    detected = plateau_of(replay(run(climbing + capped, "reward"), total_steps=160))
    assert detected is not None
    assert 45 < detected < 100


def test_a_share_of_perfect_scores_that_rises_is_no_cap() -> None:
    rng = random.Random(5)
    scores = [1.0 if rng.random() < 0.2 + 0.7 * step / 90 else rng.random() for step in range(90)]
    series, _ = series_of(scores, "reward")
    assert not stands_at_best(series, 1)


def test_a_level_that_was_raised_and_falls_again_is_no_plateau() -> None:
    rng = random.Random(1)
    values = [6.0 + 2.0 / (1 + step / 8) + 0.002 * rng.gauss(0, 1) for step in range(90)]
    values += [values[-1] + 0.09 - 0.003 * step + 0.002 * rng.gauss(0, 1) for step in range(30)]
    series, axis = series_of(values)
    step = raised(series, axis)
    assert step is not None
    assert 88 <= step <= 94
    assert may_fall_again(series, axis, 150)
    assert plateau_of(replay(run(values), total_steps=150)) is None


def test_a_level_that_was_raised_just_now_may_fall_again() -> None:
    rng = random.Random(8)
    values = [6.0 + 2.0 / (1 + step / 8) + 0.002 * rng.gauss(0, 1) for step in range(90)]
    values += [values[-1] + 0.09 + 0.002 * rng.gauss(0, 1) for _ in range(6)]
    series, axis = series_of(values)
    assert raised(series, axis) is not None
    assert may_fall_again(series, axis, 150)


def test_nothing_was_raised_in_a_curve_that_falls() -> None:
    series, axis = series_of([2 + 3 / step for step in range(1, 200)])
    assert raised(series, axis) is None
    assert not may_fall_again(series, axis, 400)


def test_a_report_that_comes_twice_counts_once() -> None:
    points = [point for point in run([2.0 + 1.0 / step for step in range(1, 20)]) for _ in range(2)]
    insight = RunInsight()
    for point in points:
        insight.observe(point, total_steps=40)
    assert "19 points" in insight.assess(20.0).text


def test_not_a_number_that_is_said_twice_is_one_report() -> None:
    bad = Point(5, 5.0, {"loss": Cell(float("nan"))})
    found = replay([*run([1.0, 0.9, 0.8, 0.7]), bad, bad, *run([0.6] * 8)[6:]], total_steps=100)
    assert not any(c.type is ConditionType.NON_FINITE for c in found.conditions)


def test_the_onset_is_found_within_a_few_per_cent_of_the_run() -> None:
    away = []
    for seed in range(15):
        curve = with_plateau(healthy(seed), 0.4)
        assert curve.onset_step is not None
        found = replay(curve.points, total_steps=curve.total_steps).conditions
        away += [
            abs(condition.since_step - curve.onset_step) / curve.total_steps
            for condition in found
            if condition.type is ConditionType.PLATEAUED and condition.since_step is not None
        ]
    assert len(away) >= 10
    assert median(away) < 0.05
    assert max(away) < 0.15


def test_a_level_that_got_worse_has_stood_since_its_best() -> None:
    values = [1.0 + abs(step - 40) / 40 for step in range(160)]
    (condition,) = [c for c in replay(run(values, "eval_loss")).conditions if c.type is ConditionType.PLATEAUED]
    assert condition.since_step is not None
    assert 37 <= condition.since_step <= 45
    assert condition.evidence["worsening"] == "yes"


def test_at_the_start_of_a_run_the_longest_windows_suffice() -> None:
    points = run([2 + 3 / step for step in range(1, 100)])
    early, later = RunInsight(), RunInsight()
    for point in points:
        early.observe(point, total_steps=100_000)
        later.observe(point, total_steps=400)
    looks = [insight._run.primary.plateau.look for insight in (early, later)]  # type: ignore[union-attr]
    assert [len(look.forecasts) for look in looks if look is not None] == [2, 5]
    assert early.assess(100.0).verdict is later.assess(100.0).verdict
