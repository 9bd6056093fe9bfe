"""Stalled: only when the run's own pace does not explain the silence of its steps."""

from __future__ import annotations

import json
import random

import pytest

from headway.insight.stall import StallSettings, StallWatch
from headway.protocol.verdict import ConditionType

MINUTE = 60.0
DAY = 86400.0


def steady(gap: float, steps: int, *, start: float = 0.0) -> tuple[StallWatch, float]:
    """A watch that has seen ``steps`` steps ``gap`` seconds apart, and the time of the last."""
    watch = StallWatch()
    watch.begin_attempt(0, start)
    t = start
    for step in range(1, steps + 1):
        t += gap
        watch.observe(step, t)
    return watch, t


def stalls_after(watch: StallWatch, t: float, *, most: float) -> float:
    """Seconds after ``t`` at which the watch first says Stalled, to a tenth of a second."""
    for tenth in range(1, int(most * 10)):
        if watch.finding(t + tenth / 10) is not None:
            return tenth / 10
    raise AssertionError(f"no finding within {most} s")


@pytest.mark.parametrize(("gap", "expected"), [(0.01, 60.0), (1.0, 60.0), (20.0, 100.0), (60.0, 300.0)])
def test_found_at_the_floor_or_at_a_few_of_its_own_gaps(gap: float, expected: float) -> None:
    watch, t = steady(gap, 200)
    found = stalls_after(watch, t, most=400)
    assert found == pytest.approx(expected, abs=0.2)
    assert found <= max(60.0, 6 * gap) + 0.2


def test_says_where_it_stands_in_figures() -> None:
    watch, t = steady(1.0, 183, start=1000.0)
    watch.observe(183, t + 100)
    finding = watch.finding(t + 125)
    assert finding is not None
    assert finding.type is ConditionType.STALLED
    assert finding.since_t == t
    assert finding.since_step == 183
    assert finding.evidence["seconds"] == 125
    assert finding.evidence["limitSeconds"] == 60
    assert "no step for 2.1 min, since step 183" in finding.text


def test_withdrawn_when_a_step_comes() -> None:
    watch, t = steady(1.0, 100)
    assert watch.finding(t + 70) is not None
    watch.observe(101, t + 71)
    assert watch.finding(t + 72) is None


def test_three_days_at_a_step_a_minute_never_alarm() -> None:
    rng = random.Random(1)
    watch = StallWatch()
    watch.begin_attempt(0, 0.0)
    t = 0.0
    for step in range(1, 3 * 24 * 60 + 1):
        after = t + MINUTE * rng.uniform(0.7, 1.4)
        while t + 5 < after:
            t += 5
            watch.observe(step - 1, t)
            assert watch.finding(t) is None
        t = after
        watch.observe(step, t)
    assert t > 3 * DAY * 0.95


def test_compiling_for_long_is_no_stall_and_does_not_spoil_the_limit() -> None:
    watch = StallWatch()
    watch.begin_attempt(0, 0.0)
    assert watch.finding(1500.0) is None
    watch.observe(1, 1500.0)
    t = 1500.0
    for step in range(2, 30):
        t += 1.0
        watch.observe(step, t)
    assert watch.limit() == 60.0


def test_the_first_step_of_a_later_attempt_may_take_as_long_as_that_of_an_earlier() -> None:
    watch = StallWatch()
    watch.begin_attempt(0, 0.0)
    watch.observe(1, 1200.0)
    watch.begin_attempt(1, 0.0)
    assert watch.finding(3599.0) is None
    assert watch.finding(3601.0) is not None


def test_no_first_step_is_a_stall_in_the_end() -> None:
    watch = StallWatch()
    watch.begin_attempt(None, 0.0)
    watch.observe(None, 5.0, phase="init")
    assert watch.finding(1790.0) is None
    finding = watch.finding(1900.0)
    assert finding is not None
    assert finding.since_step is None
    assert "since the start in phase init" in finding.text


def test_a_declared_evaluation_has_its_own_limit() -> None:
    watch, t = steady(1.0, 100)
    for _ in range(2):
        watch.observe(None, t, phase="eval")
        assert watch.finding(t + 119) is None
        t += 120
        watch.observe(None, t, phase="train")
        assert watch.finding(t + 59) is None, "an evaluation does not use up the time that a step may take"
        for _ in range(20):
            t += 1
            watch.observe((watch._step or 0) + 1, t, phase="train")
    assert watch.limit() == 60.0, "nor does it count as a gap between steps"
    watch.observe(None, t, phase="eval")
    assert watch.finding(t + 350) is None
    assert watch.finding(t + 361) is not None


def test_an_undeclared_evaluation_is_learnt_from_the_first() -> None:
    watch, t = steady(1.0, 100)
    step = 100
    for evaluation in range(5):
        assert (watch.finding(t + 119) is None) == (evaluation > 0)
        t += 120
        for _ in range(100):
            t += 1
            step += 1
            watch.observe(step, t)
    assert watch.limit() == pytest.approx(242, abs=1)


def test_a_hang_that_went_by_is_forgotten() -> None:
    watch, t = steady(1.0, 100)
    t += 3600
    watch.observe(101, t)
    assert watch.limit() > 7000
    for step in range(102, 400):
        t += 1
        watch.observe(step, t)
    assert watch.limit() == 60.0


def test_waiting_in_a_queue_is_no_stall() -> None:
    watch, t = steady(1.0, 100)
    watch.hold(t + 10)
    assert watch.finding(t + 3 * 3600) is None
    watch.release(t + 3 * 3600)
    assert watch.finding(t + 3 * 3600 + 49) is None
    assert watch.finding(t + 3 * 3600 + 51) is not None


def test_what_is_silent_is_not_stalled() -> None:
    watch, t = steady(1.0, 100)
    assert watch.finding(t + 500, heard=t + 5) is None
    assert watch.finding(t + 500, heard=t + 61) is not None


def test_steps_that_are_set_back_start_the_clock_anew() -> None:
    watch, t = steady(1.0, 100)
    watch.observe(80, t + 50)
    assert watch.finding(t + 100) is None
    watch.observe(81, t + 51)
    assert watch.limit() == 60.0


def test_the_floor_is_a_setting() -> None:
    watch = StallWatch(StallSettings(floor=10.0))
    watch.begin_attempt(0, 0.0)
    for step in range(1, 50):
        watch.observe(step, step * 0.1)
    assert watch.finding(4.9 + 10.1) is not None


def test_state_survives_as_json() -> None:
    watch, t = steady(7.0, 80)
    watch.observe(None, t + 1, phase="eval")
    copy = StallWatch.load(json.loads(json.dumps(watch.dump())))
    assert copy.dump() == watch.dump()
    assert copy.finding(t + 5000) == watch.finding(t + 5000)


@pytest.mark.parametrize(("gap", "expected"), [(1.0, 60.0), (30.0, 150.0)])
def test_the_first_steps_already_tell_a_pace(gap: float, expected: float) -> None:
    watch, t = steady(gap, 3)
    assert stalls_after(watch, t, most=400) == pytest.approx(expected, abs=0.2)
    finding = watch.finding(t + expected + 1)
    assert finding is not None
    assert "longest gap of the last 2" in finding.text


def test_a_second_compilation_may_take_as_long_as_the_first() -> None:
    watch = StallWatch()
    watch.begin_attempt(0, 0.0)
    for step, t in ((1, 300.0), (2, 301.0), (3, 302.0)):
        watch.observe(step, t)
    assert watch.finding(302.0 + 299) is None
    assert watch.finding(302.0 + 301) is not None


def test_a_short_start_does_not_shorten_the_next() -> None:
    watch = StallWatch()
    watch.begin_attempt(0, 0.0)
    watch.observe(0, 0.0, phase="init")
    watch.observe(1, 5.0, phase="train")
    watch.begin_attempt(1, 10.0)
    watch.observe(1, 10.0, phase="init")
    assert watch.finding(10.0 + 600) is None, "a restore of a large checkpoint takes its time"
