"""Slow: found soon after its onset, with its onset, and never in a run that only varies."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from headway.insight.findings import Finding
from headway.insight.throughput import SlowWatch
from headway.protocol.verdict import ConditionType


def run(
    pace: Callable[[int], float], steps: int, *, noise: float = 0.02, seed: int = 0, watch: SlowWatch | None = None
) -> tuple[list[tuple[float, int, Finding]], dict[int, float]]:
    """Everything found, as (time, step, finding), and when each step ended."""
    rng = random.Random(seed)
    watch = watch or SlowWatch()
    watch.begin_attempt(0, 0.0)
    t, found, times = 0.0, [], {}
    for step in range(1, steps + 1):
        t += pace(step) * rng.lognormvariate(0, noise)
        times[step] = t
        watch.observe(step, t)
        finding = watch.finding(t)
        if finding is not None:
            found.append((t, step, finding))
    return found, times


@pytest.mark.parametrize("ratio", [1.25, 2.0, 10.0])
@pytest.mark.parametrize("seconds", [0.05, 1.0, 5.0])
def test_a_slow_down_is_found_within_five_minutes_with_its_onset(ratio: float, seconds: float) -> None:
    onset = round(1500 / seconds)
    found, times = run(
        lambda s: seconds * (ratio if s > onset else 1.0), onset + round(700 / seconds / ratio), noise=0.05
    )
    assert found
    t, step, finding = found[0]
    assert step > onset
    assert t - times[onset] < 300
    assert finding.type is ConditionType.SLOW
    assert abs(finding.since_t - times[onset]) < 30
    assert finding.evidence["ratio"] == pytest.approx(ratio, rel=0.1)
    assert "as long as they did at best" in finding.text


def test_a_tenth_slower_is_not_worth_a_word() -> None:
    found, _ = run(lambda s: 1.1 if s > 1500 else 1.0, 4000, noise=0.05)
    assert not found


def test_withdrawn_when_the_speed_comes_back() -> None:
    watch = SlowWatch()
    found, _ = run(lambda s: 2.0 if 1500 < s <= 1800 else 1.0, 2000, watch=watch)
    assert found
    assert found[-1][1] < 1830
    assert watch.finding(0.0) is None


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
def test_a_run_that_only_varies_is_not_slow(noise: float) -> None:
    for seed in range(4):
        for seconds in (1.0, 30.0):
            found, _ = run(lambda _: seconds, 3000, noise=noise, seed=seed)  # noqa: B023
            assert not found, (seed, seconds)


def test_evaluations_are_no_slow_down() -> None:
    found, _ = run(lambda s: 61.0 if s % 50 == 0 else 1.0, 4000)
    assert not found


def test_declared_phases_are_left_out() -> None:
    watch = SlowWatch()
    watch.begin_attempt(0, 0.0)
    t = 0.0
    for step in range(1, 3000):
        t += 1.0
        watch.observe(step, t)
        if step > 1000 and step % 2 == 0:
            watch.observe(step, t, phase="eval")
            t += 3.0
            watch.observe(step, t, phase="train")
        assert watch.finding(t) is None


def test_steps_of_unequal_size_are_measured_by_their_work() -> None:
    watch = SlowWatch()
    watch.begin_attempt(0, 0.0)
    t = tokens = 0.0
    for step in range(1, 3000):
        size = 100 if step < 1500 else 200
        tokens += size
        t += size / 100
        watch.observe(step, t, work=tokens)
        assert watch.finding(t) is None


def test_compilation_is_no_level_to_compare_with() -> None:
    found, _ = run(lambda s: 300.0 if s == 1 else 1.0, 2000)
    assert not found


def test_another_number_of_processes_is_another_level() -> None:
    watch = SlowWatch()
    run(lambda _: 1.0, 1000, watch=watch)
    watch.begin_attempt(1000, 0.0, same_size=False)
    for step in range(1001, 2000):
        t = (step - 1000) * 2.0
        watch.observe(step, t)
        assert watch.finding(t) is None


def test_state_survives_as_json() -> None:
    watch = SlowWatch()
    found, times = run(lambda s: 2.0 if s > 1500 else 1.0, 1800, watch=watch)
    assert found
    copy = SlowWatch.load(json.loads(json.dumps(watch.dump())))
    assert copy.dump() == watch.dump()
    again, before = copy.finding(times[1800]), watch.finding(times[1800])
    assert again is not None
    assert before is not None
    assert (again.since_t, again.since_step) == (before.since_t, before.since_step)
    assert again.evidence["ratio"] == pytest.approx(before.evidence["ratio"], rel=0.01)
