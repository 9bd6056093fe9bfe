"""What a plateau rests on: the best so far, an end that is shown, rises that are over, bounds that are real."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.insight.axis import Axis
from headway.insight.forecast import Forecast, forecasts
from headway.insight.plateau import Course, PlateauJudge, judge
from headway.insight.replay import replay
from headway.insight.series import MetricSeries
from headway.insight.trend import Interval, Trend
from headway.protocol.report import Cell, Point
from headway.protocol.verdict import ConditionType


def series_of(values: list[float], name: str = "loss") -> tuple[MetricSeries, Axis]:
    series, axis = MetricSeries(name, {}), Axis()
    for step, value in enumerate(values, 1):
        series.add(step, value)
        axis.add(step, float(step), None)
    return series, axis


def plateau_of(values: list[float], total: int, name: str = "loss") -> int | None:
    points = [Point(step, float(step), {name: Cell(value)}) for step, value in enumerate(values, 1)]
    found = replay(points, total_steps=total).conditions
    return next((each.detected_step for each in found if each.type is ConditionType.PLATEAUED), None)


def regressed(seed: int) -> list[float]:
    """Falls for 100 points, then stands at half as much again, and scatters there by a fifth, for 260 more."""
    rng = random.Random(seed)
    falling = [1 + 4 * 0.96**step + 0.02 * rng.gauss(0, 1) for step in range(100)]
    return [*falling, *(1.5 + 0.2 * rng.gauss(0, 1) for _ in range(260))]


def test_what_only_makes_up_for_a_loss_is_no_improvement() -> None:
    series, axis = series_of(regressed(1))
    found = forecasts(series, axis, 400)
    assert found[0].behind > 0.02
    for forecast in found:
        bound = -forecast.trend.decide.low * forecast.ahead / forecast.scale
        assert forecast.most == bound - forecast.behind
        assert forecast.quoted.high <= bound


def test_a_run_that_got_worse_and_scatters_is_found_nevertheless() -> None:
    detected = [plateau_of(regressed(seed), 400) for seed in range(12)]
    assert sum(step is not None and 100 < step < 360 for step in detected) >= 10


def test_a_run_that_got_worse_and_recovers_is_no_plateau() -> None:
    rng = random.Random(2)
    falling = [1 + 4 * 0.95**step + 0.01 * rng.gauss(0, 1) for step in range(100)]
    recovering = [1.4 - 0.0022 * step + 0.01 * rng.gauss(0, 1) for step in range(180)]
    assert plateau_of(falling + recovering, 500) is None


@settings(max_examples=40, deadline=None)
@given(
    exponent=st.floats(0.05, 1.5),
    height=st.floats(0.1, 20),
    count=st.integers(60, 600),
    share=st.floats(0.2, 0.9),
)
def test_a_curve_that_only_falls_is_never_behind_its_best(
    exponent: float, height: float, count: int, share: float
) -> None:
    series, axis = series_of([1 + height * (step / count + 0.02) ** -exponent for step in range(1, count + 1)])
    assert all(forecast.behind == 0 for forecast in forecasts(series, axis, count / share))


@settings(max_examples=30, deadline=None)
@given(
    raised_at=st.floats(0.3, 0.8),
    by=st.floats(0.01, 0.03),
    count=st.integers(80, 300),
    seed=st.integers(0, 9),
)
def test_a_rise_is_waited_out_before_anything_is_called_flat(
    raised_at: float, by: float, count: int, seed: int
) -> None:
    """A level that falls by a tenth over the second half, is raised once, and loses the rise within a tenth of the run."""
    rng = random.Random(seed)
    values = []
    for index in range(count):
        progress = index / count
        rise = by * 0.5 ** ((progress - raised_at) / 0.03) if progress >= raised_at else 0.0
        values.append((1.2 - 0.2 * progress) * (1 + rise) * (1 + 0.0005 * rng.gauss(0, 1)))
    assert plateau_of(values[: round(0.94 * count)], count) is None


def window(first: float, low: float, likely: float, high: float) -> Forecast:
    """A window up to step 800 of 1,000 in which ``low`` to ``high`` is what is to come of a level of 1."""
    slopes = Interval(-high / 200, -low / 200)
    trend = Trend(
        first_step=first, last_step=800, width=800 - first, slope=-likely / 200, decide=slopes, quote=slopes,
        lenient=slopes, level=1.0, batches=24,
    )  # fmt: skip
    return Forecast(trend=trend, scale=1.0, ahead=200)


def test_a_pause_is_no_plateau_while_longer_windows_measure_improvement() -> None:
    falling = (window(200, 0.03, 0.04, 0.05), window(400, 0.008, 0.016, 0.024), window(536, 0.006, 0.014, 0.023))
    too_short_to_tell = (window(640, -0.007, 0.002, 0.012), window(704, -0.01, 0.003, 0.018))
    it_has_ended = (window(640, -0.005, 0.0, 0.006), window(704, -0.008, 0.001, 0.01))
    courses = []
    for short in (too_short_to_tell, it_has_ended):
        look = judge(falling + short, 500)
        assert look is not None
        courses.append(look.course)
    assert courses == [Course.PROGRESSING, Course.PLATEAU]


def test_a_positive_loss_has_no_cap_that_rounding_could_be_taken_for() -> None:
    rng = random.Random(6)
    values = [round(6.2 - 0.4 * index / 200 + 0.02 * rng.gauss(0, 1), 1) for index in range(200)]
    series, axis = series_of(values)
    assert not any(forecast.at_best for forecast in forecasts(series, axis, 260))
    rewards = [-300.0 + 2 * index if index < 40 else -400.0 for index in range(80)]
    capped, axis = series_of([-value for value in rewards], "reward")
    assert any(forecast.at_best for forecast in forecasts(capped, axis, 120))


def test_looks_are_closer_where_a_plateau_is_near_and_only_there() -> None:
    """Growth of the number of points from look to look: of a descent, and of a level whose bound is near the margin."""
    rng = random.Random(9)
    growth = {}
    for name, fall, share in (("falling", 0.5, 0.3), ("flat", 0.0, 0.9)):
        series, axis, watch = MetricSeries("loss", {}), Axis(), PlateauJudge()
        looks: list[int] = []
        for step in range(1, 301):
            value = (2.0 - fall * step / 300) * (1 + 0.03 * rng.gauss(0, 1))
            series.add(step, value)
            axis.add(step, float(step), None)
            if watch.consider(series, axis, 300 / share, None) and watch.standing is not Course.PLATEAU:
                looks.append(series.count)
        growth[name] = min(after / before for before, after in pairwise(looks[-4:]))
    assert growth["flat"] < 1.06 < 1.075 < growth["falling"]
