"""The parts that count: the histogram, slopes and their intervals, the axis, Kendall's tau, words."""

from __future__ import annotations

import itertools
import math
import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.insight import wording
from headway.insight.axis import Axis
from headway.insight.hints import uniform_guess
from headway.insight.histogram import ExponentialHistogram
from headway.insight.metrics import Role, role_of, sign_of
from headway.insight.overfit import rising_by_chance
from headway.insight.trend import DECIDE, QUOTE, Slopes


def filled(values: list[float]) -> ExponentialHistogram:
    histogram = ExponentialHistogram()
    for step, value in enumerate(values):
        histogram.add(step, value)
    return histogram


@given(st.integers(1, 5000), st.floats(0.0, 0.99))
@settings(max_examples=60, deadline=None)
def test_batches_cover_the_window_in_order_and_in_nearly_equal_parts(count: int, share: float) -> None:
    histogram = filled([float(step) for step in range(count)])
    start = share * count
    batches = histogram.batches(start)
    steps = [batch.step for batch in batches]
    assert steps == sorted(steps)
    assert 1 <= len(batches) <= 24 or count - start <= 1
    for batch in batches:
        assert start - count / 24 <= batch.step < count
        assert batch.level == pytest.approx(batch.step, abs=0.6 + count / 64)
    if len(steps) > 3:
        gaps = [after - before for before, after in itertools.pairwise(steps)]
        assert max(gaps) <= 3.1 * min(gaps)


def test_a_million_points_cost_few_numbers_and_all_are_counted() -> None:
    histogram = filled([1.0] * 200_000)
    assert histogram.count == 200_000
    kept = sum(len(level) for level in histogram._levels)
    assert kept <= 3 * 64 * math.log2(200_000 / 512) + 3 * 64
    assert sum(sum(level[2::3]) for level in histogram._levels) + len(histogram._steps) == 200_000


def test_isolated_spikes_leave_no_trace_in_batches() -> None:
    values = [1.0] * 2000
    for at in range(7, 2000, 40):
        values[at] = 1e6
    assert {batch.level for batch in filled(values).batches(0)} == {1.0}


@given(st.integers(20, 3000), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_what_is_cut_is_forgotten(count: int, share: float) -> None:
    histogram = filled([1.0] * count)
    step = math.floor(share * count)
    histogram.cut(step)
    assert step - count / 16 - 8 <= histogram.count <= step + count / 16 + 8
    assert all(batch.step < step for batch in histogram.batches(-1))


def test_the_slope_is_the_median_of_all_pairs_and_its_interval_widens_with_certainty() -> None:
    rng = random.Random(4)
    xs = [float(x) for x in range(24)]
    ys = [3 - 0.5 * x + rng.gauss(0, 1) for x in xs]
    slopes = Slopes(xs, ys)
    pairs = [(ys[j] - ys[i]) / (xs[j] - xs[i]) for i, j in itertools.combinations(range(24), 2)]
    assert slopes.slope == pytest.approx(median(pairs))
    quote, decide = slopes.interval(QUOTE), slopes.interval(DECIDE)
    assert decide.low <= quote.low <= slopes.slope <= quote.high <= decide.high
    assert decide.low < -0.5 < decide.high


def test_intervals_cover_the_true_slope_as_often_as_they_say() -> None:
    rng = random.Random(7)
    inside = 0
    for _ in range(400):
        ys = [0.1 * x + rng.gauss(0, 1) for x in range(16)]
        interval = Slopes([float(x) for x in range(16)], ys).interval(QUOTE)
        inside += interval.low <= 0.1 <= interval.high
    assert 0.92 <= inside / 400 <= 0.99


def test_three_points_cannot_be_certain() -> None:
    interval = Slopes([0.0, 1.0, 2.0], [3.0, 2.0, 1.0]).interval(DECIDE)
    assert (interval.low, interval.high) == (-math.inf, math.inf)


def test_kendalls_tau_is_exact_for_few_and_normal_for_many() -> None:
    assert rising_by_chance([1, 2, 3, 4, 5]) == pytest.approx(1 / math.factorial(5))
    assert rising_by_chance([5, 4, 3, 2, 1]) == pytest.approx(1.0)
    by_hand = sum(
        sum((p[j] > p[i]) - (p[j] < p[i]) for i, j in itertools.combinations(range(5), 2)) >= 6
        for p in itertools.permutations(range(5))
    )
    assert rising_by_chance(
        [
            1,
            2,
            4,
            3,
            5,
        ][:5]
    ) == pytest.approx(5 / 120)
    assert rising_by_chance([1, 3, 2, 5, 4]) == pytest.approx(by_hand / 120)
    assert rising_by_chance([float(x) for x in range(20)]) < 1e-8
    assert 0.3 < rising_by_chance([float(x % 2) for x in range(30)]) < 0.7


def test_the_axis_sums_the_learning_rate_and_tells_times() -> None:
    axis = Axis()
    for step in range(0, 10_001, 10):
        axis.add(step, 2.0 * step, 0.1 * (1 - step / 10_000))
    assert axis.rated
    assert axis.x(10_000) == pytest.approx(500, rel=0.01)
    assert axis.x(5_000) == pytest.approx(375, rel=0.01)
    assert axis.time(5_000) == pytest.approx(10_000, rel=0.01)
    assert axis.ahead(20_000) == pytest.approx(0.0)
    axis.cut(5_000)
    assert axis.last_step < 5_000
    assert axis.x(axis.last_step) == pytest.approx(375, rel=0.02)


def test_the_axis_knows_a_warm_up_and_leaves_steps_alone_without_a_rate() -> None:
    axis, plain = Axis(), Axis()
    for step in range(100):
        axis.add(step, math.nan, 1e-5 * (step + 1))
        plain.add(step, math.nan, None)
    assert axis.warming(1000)
    assert not axis.warming(110)
    assert not plain.warming(1000)
    assert plain.x(42.0) == 42.0
    assert plain.ahead(1000) == 901
    assert plain.ahead(None) == 99


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("loss", Role.TRAIN_LOSS),
        ("train/loss", Role.TRAIN_LOSS),
        ("train_loss_step", Role.TRAIN_LOSS),
        ("val_loss", Role.EVAL_LOSS),
        ("eval/loss", Role.EVAL_LOSS),
        ("Validation Loss", Role.EVAL_LOSS),
        ("rollout/ep_rew_mean", Role.REWARD),
        ("lr-AdamW", Role.LEARNING_RATE),
        ("train/learning_rate", Role.LEARNING_RATE),
        ("grad_norm", Role.GRAD_NORM),
        ("val_acc", Role.ACCURACY),
        ("perplexity_of_the_world", Role.OTHER),
    ],
)
def test_names_in_any_frameworks_spelling(name: str, role: Role) -> None:
    assert role_of(name) is role


def test_directions_are_known_or_declared_or_nobodys_business() -> None:
    assert sign_of("eval_loss", {}) == 1
    assert sign_of("reward", {}) == -1
    assert sign_of("bleu", {}) is None
    assert sign_of("bleu", {"bleu": "max"}) == -1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.000194, "0.000194"), (3.284, "3.28"), (41234.0, "41,200"), (0.0, "0"), (math.nan, "NaN"), (9.999, "10.0")],
)
def test_figures_have_the_digits_they_are_worth(value: float, text: str) -> None:
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.2, "12 s"), (1500, "25 min"), (22_320, "6.2 h"), (5400, "1.5 h"), (259_200, "3.0 d")]
)
def test_lengths_of_time(seconds: float, text: str) -> None:
    assert wording.duration(seconds) == text


def test_a_uniform_guess_is_named() -> None:
    vocabulary, classes = uniform_guess(10.3735), uniform_guess(1.3863)
    assert vocabulary is not None
    assert "32,000" in vocabulary.text
    assert classes is not None
    assert "4 classes" in classes.text
    assert classes.figures == {"uniformLevel": 1.3863, "uniformClasses": 4}
    assert uniform_guess(2.0) is None
