"""When a run ends: the behaviours that trackers in the field got wrong, as small inputs."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from headway.insight.eta import EtaEstimate, EtaEstimator

Seen = tuple[int, float]


def steps(
    pace: Callable[[int], float],
    total: int,
    *,
    first: int = 0,
    pause: Callable[[int], float] = lambda _: 0.0,
) -> tuple[list[Seen], float]:
    """When each step is complete, and when the run is over; a pause comes after its step."""
    t = 0.0
    seen = []
    for step in range(first + 1, total + 1):
        t += pace(step)
        seen.append((step, t))
        t += pause(step)
    return seen, t


def watch(seen: list[Seen], total: float | None, *, first: int = 0) -> Iterator[tuple[int, float, EtaEstimate | None]]:
    """Feed an estimator; yields step, time and the estimate after each observation."""
    eta = EtaEstimator()
    eta.begin_attempt(first, 0.0)
    for step, t in seen:
        eta.observe(step, t)
        yield step, t, eta.estimate(t, total)


def known(estimate: EtaEstimate | None) -> EtaEstimate:
    assert estimate is not None
    assert 0 <= estimate.low <= estimate.seconds <= estimate.high < math.inf
    return estimate


def test_resumed_run_does_not_count_the_steps_before_it() -> None:
    seen, _ = steps(lambda _: 10.0, 1000, first=900)
    for step, _, estimate in watch(seen[:20], 1000, first=900):
        truth = (1000 - step) * 10.0
        if step == 901:
            assert estimate is None or 890 <= estimate.seconds <= 1090
        elif step >= 903:
            assert known(estimate).seconds == pytest.approx(truth, rel=0.02)


def test_resume_that_nobody_announced_does_not_count_the_steps_before_it_either() -> None:
    seen, _ = steps(lambda _: 10.0, 1000, first=900)
    estimates = [estimate for _, _, estimate in watch(seen[:4], 1000, first=0)]
    assert estimates[0] is None
    assert known(estimates[-1]).seconds == pytest.approx(960, rel=0.02)


@pytest.mark.parametrize("total", [-1, 0, None, sys.maxsize, math.nan, math.inf])
def test_no_total_no_estimate(total: float | None) -> None:
    seen, _ = steps(lambda _: 1.0, 100)
    assert all(estimate is None for _, _, estimate in watch(seen, total))


def test_past_the_total_no_estimate() -> None:
    seen, _ = steps(lambda _: 1.0, 100)
    assert [step for step, _, estimate in watch(seen, 90) if estimate][-1] == 90


def test_compilation_in_the_first_step_does_not_count() -> None:
    seen, _ = steps(lambda s: 300.0 if s == 1 else 1.0, 1000)
    for step, _, estimate in watch(seen[:40], 1000):
        if step < 3:
            assert estimate is None
        if step == 20:
            assert 900 < known(estimate).seconds <= 1100


def test_compilation_in_the_second_step_does_not_count() -> None:
    seen, _ = steps(lambda s: {1: 300.0, 2: 100.0}.get(s, 1.0), 1000)
    for _, _, estimate in watch(seen[:40], 1000):
        assert estimate is None or estimate.seconds < 1100


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("every", [1, 5])
def test_evaluations_are_counted(declared: bool, every: int) -> None:
    seen, end = steps(lambda _: 1.0, 1000, pause=lambda s: 60.0 if s % 100 == 0 else 0.0)
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step, t in seen:
        if step % every == 0:
            eta.observe(step, t)
        if declared and step % 100 == 0:
            eta.observe(step, t + 1, phase="eval")
        if step >= 210 and step % 100 in (10, 50, 95):
            assert known(eta.estimate(t, 1000)).seconds == pytest.approx(end - t, rel=0.15 if every == 1 else 0.2)
        if step == 500:
            assert known(eta.estimate(t, 1000)).seconds == pytest.approx(end - t, rel=0.02)


def test_an_evaluation_seen_within_its_step_is_counted_too() -> None:
    seen, end = steps(lambda s: 61.0 if s % 100 == 0 else 1.0, 1000)
    at = {step: (t, estimate) for step, t, estimate in watch(seen, 1000)}
    t, estimate = at[500]
    assert known(estimate).seconds == pytest.approx(end - t, rel=0.02)


def test_the_first_evaluation_is_expected_again_and_the_doubt_is_told() -> None:
    seen, end = steps(lambda _: 1.0, 1000, pause=lambda s: 60.0 if s % 100 == 0 else 0.0)
    at = {step: (t, estimate) for step, t, estimate in watch(seen, 1000)}
    t, estimate = at[150]
    assert known(estimate).seconds == pytest.approx(end - t, rel=0.1)
    assert known(estimate).high - known(estimate).low > 600, "it may have been the only one"


def test_a_mishap_is_not_expected_again() -> None:
    seen, end = steps(lambda s: 3600.0 if s == 200 else 1.0, 1000)
    for step, t, estimate in watch(seen, 1000):
        if step > 200:
            assert known(estimate).seconds == pytest.approx(end - t, rel=0.05, abs=2)


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("ratio", [0.5, 2.0, 5.0])
def test_a_change_of_speed_is_followed_within_twenty_steps(ratio: float, every: int) -> None:
    seen, end = steps(lambda s: 1.0 if s <= 500 else ratio, 1000)
    for step, t, estimate in watch([(s, t) for s, t in seen if s % every == 0], 1000):
        if 100 < step <= 500:
            assert known(estimate).seconds == pytest.approx(1000 - t, rel=0.05)
        if (step >= 520 and every == 1) or step >= 545:
            assert known(estimate).seconds == pytest.approx(end - t, rel=0.2)


def test_speed_halves_with_reports_every_five_seconds() -> None:
    seen, end = steps(lambda s: 1.0 if s <= 500 else 2.0, 1000)
    ticks = [b for a, b in itertools.pairwise(seen) if b[1] // 5 != a[1] // 5]
    for step, t, estimate in watch(ticks, 1000):
        if step >= 521:
            assert known(estimate).seconds == pytest.approx(end - t, rel=0.2)


@pytest.mark.parametrize(("pace", "total"), [(1e-4, 3_000_000), (3600.0, 200)])
def test_very_fast_and_very_slow_runs(pace: float, total: int) -> None:
    stride = max(1, round(1 / pace))
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step in range(stride, total, stride):
        eta.observe(step, step * pace)
    left = total - step
    assert known(eta.estimate(step * pace, total)).seconds == pytest.approx(left * pace, rel=0.01)


def test_runs_that_only_count_epochs() -> None:
    eta = EtaEstimator()
    eta.begin_attempt(0.0, 0.0)
    for k in range(1, 41):
        eta.observe(k / 100, k * 5.0)
    assert known(eta.estimate(200.0, 3.0)).seconds == pytest.approx(1300, rel=0.02)


def test_step_set_back_within_an_attempt() -> None:
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step in range(1, 301):
        eta.observe(step, float(step))
    eta.observe(250, 400.0)
    for step in range(251, 270):
        eta.observe(step, 400.0 + step - 250)
    assert known(eta.estimate(419.0, 1000)).seconds == pytest.approx(731, rel=0.02)


def test_clock_that_starts_again_and_late_reports() -> None:
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step in range(1, 50):
        eta.observe(step, 1000.0 + step)
    eta.observe(50, 3.0)
    for step in range(51, 100):
        eta.observe(step, 3.0 + step - 50)
        eta.observe(step - 5, 3.0 + step - 55)
    assert known(eta.estimate(52.0, 1000)).seconds == pytest.approx(901, rel=0.02)


def test_counts_down_between_steps_and_not_further_than_the_next_one_is_due() -> None:
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step in range(1, 51):
        eta.observe(step, step * 3600.0)
    now = 50 * 3600.0
    at_once = known(eta.estimate(now, 100))
    assert known(eta.estimate(now + 1800, 100)).seconds == pytest.approx(at_once.seconds - 1800)
    late = known(eta.estimate(now + 9000, 100))
    assert late.seconds == pytest.approx(at_once.seconds - 3600)
    assert late.high - late.seconds > at_once.high - at_once.seconds + 5000


def test_counts_down_through_an_evaluation_that_is_due() -> None:
    seen, _ = steps(lambda _: 1.0, 500, pause=lambda s: 60.0 if s % 100 == 0 else 0.0)
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step, t in seen:
        eta.observe(step, t)
    at_once = known(eta.estimate(t, 1000))
    assert known(eta.estimate(t + 50, 1000)).seconds == pytest.approx(at_once.seconds - 50, rel=0.001)


def test_periods_of_an_earlier_attempt_are_remembered_and_its_pace_is_not() -> None:
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    seen, _ = steps(lambda _: 1.0, 450, pause=lambda s: 60.0 if s % 100 == 0 else 0.0)
    for step, t in seen:
        eta.observe(step, t)
    eta.begin_attempt(400, 0.0)
    for step in range(401, 420):
        eta.observe(step, 2.0 * (step - 400))
    assert known(eta.estimate(38.0, 1000)).seconds == pytest.approx(581 * 2 + 6 * 60, rel=0.06)


def test_interval_is_wide_at_first_and_narrows() -> None:
    rng = random.Random(2)
    seen, _ = steps(lambda _: rng.lognormvariate(0, 0.1), 1000)
    width = {
        step: (estimate.high - estimate.low) / estimate.seconds
        for step, _, estimate in watch(seen[:500], 1000)
        if estimate
    }
    assert width[4] > 1.5 * width[20] > 2 * width[500]


def test_interval_holds_the_truth_about_eight_times_in_ten() -> None:
    inside = []
    for seed in range(60):
        rng = random.Random(seed)
        seen, end = steps(lambda _: rng.lognormvariate(0, 0.3), 400)  # noqa: B023
        inside += [
            estimate.low <= end - t <= estimate.high
            for step, t, estimate in watch(seen, 400)
            if step in (40, 100, 200, 300, 360) and estimate
        ]
    assert len(inside) == 300
    assert 0.7 <= sum(inside) / len(inside) <= 0.93


def test_state_survives_as_json() -> None:
    seen, _ = steps(lambda _: 1.0, 700, pause=lambda s: 60.0 if s % 100 == 0 else 0.0)
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step, t in seen[:555]:
        eta.observe(step, t, phase="train")
    copy = EtaEstimator.load(json.loads(json.dumps(eta.dump())))
    for step, t in seen[555:]:
        eta.observe(step, t)
        copy.observe(step, t)
        assert copy.estimate(t, 1000) == eta.estimate(t, 1000)
    assert copy.dump() == eta.dump()


def test_memory_grows_with_the_logarithm_of_the_length() -> None:
    def size(length: int) -> int:
        eta = EtaEstimator()
        eta.begin_attempt(0, 0.0)
        for step in range(1, length):
            eta.observe(step, step * (1.0 + step % 7 / 10) + (500.0 if step % 1000 == 0 else 0.0))
        return len(json.dumps(eta.dump()))

    assert size(64_000) < 2 * size(2_000)


def test_the_cost_of_an_observation_does_not_grow() -> None:
    def seconds(eta: EtaEstimator, first: int, n: int) -> float:
        begin = time.process_time()
        for step in range(first, first + n):
            eta.observe(step, float(step))
        return time.process_time() - begin

    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    early = seconds(eta, 1, 5_000)
    seconds(eta, 5_001, 40_000)
    assert seconds(eta, 45_001, 5_000) < 5 * early + 0.05


def test_a_mishap_that_is_hardly_expected_again_is_not_worth_a_word() -> None:
    seen, _ = steps(lambda s: 3600.0 if s == 200 else 1.0, 500)
    *_, (_, _, estimate) = watch(seen, 1000)
    assert known(estimate).pause_seconds is None
    assert "pauses" not in known(estimate).basis


def test_says_what_it_rests_on() -> None:
    seen, _ = steps(lambda _: 1.5, 500, pause=lambda s: 60.0 if s % 100 == 0 else 0.0)
    *_, (_, _, estimate) = watch(seen, 1000)
    assert re.fullmatch(
        r"1\.50 s per step over the last 49\d steps, and 6\.0 min of pauses ahead", known(estimate).basis
    )
    *_, (_, _, estimate) = watch(seen[:50], 1000)
    assert re.fullmatch(r"1\.50 s per step over the last 4\d steps", known(estimate).basis)


def test_a_slow_patch_that_went_by_is_neither_a_pace_nor_a_pause() -> None:
    rng = random.Random(4)
    seen, end = steps(lambda s: (3.0 if 200 <= s < 250 else 1.0) * rng.lognormvariate(0, 0.02), 1000)
    for step, t, estimate in watch(seen, 1000):
        if step >= 300:
            assert known(estimate).seconds == pytest.approx(end - t, rel=0.03, abs=2), step


def test_while_a_slow_patch_lasts_the_interval_reaches_down_to_the_pace_before() -> None:
    seen, end = steps(lambda s: 3.0 if 200 <= s < 250 else 1.0, 1000)
    at = {step: (t, estimate) for step, t, estimate in watch(seen, 1000)}
    t, estimate = at[230]
    assert known(estimate).low <= end - t <= known(estimate).high


def test_pauses_that_come_at_random_are_expected_in_proportion() -> None:
    ratios = []
    for seed in range(40):
        rng = random.Random(seed)
        lengths = {rng.randint(30, 999): 40 * rng.lognormvariate(-0.1, 0.5) for _ in range(12)}
        seen, end = steps(lambda _: 1.0, 1000, pause=lambda s: lengths.get(s, 0.0))  # noqa: B023
        t, estimate = next((t, estimate) for step, t, estimate in watch(seen, 1000) if step == 500)
        ratios.append(known(estimate).seconds / (end - t))
    assert 0.93 < sum(ratios) / len(ratios) < 1.1


def test_what_was_not_seen_yet_is_doubted_upwards_and_early() -> None:
    seen, _ = steps(lambda _: 1.0, 1000)
    at = {step: known(estimate) for step, _, estimate in watch(seen, 1000) if step in (50, 500, 950)}
    above = {step: (one.high - one.seconds) / one.seconds for step, one in at.items()}
    below = {step: (one.seconds - one.low) / one.seconds for step, one in at.items()}
    assert above[50] > 1.5 * below[50] > 0.05
    assert above[50] > 3 * above[500]
    assert above[950] < 0.02
