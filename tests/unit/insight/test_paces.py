"""Stalled, Slow and the end in runs with known onsets, and with what happens to reports on their way."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from headway.insight.eta import EtaEstimator
from headway.insight.findings import Finding
from headway.insight.stall import StallWatch
from headway.insight.throughput import SlowWatch
from headway.testing import paces
from headway.testing.paces import Course, Heard

HOUR = 3600.0
ON_THE_WAY: dict[str, Callable[[Course, int], Course]] = {
    "late": paces.late,
    "doubled": paces.doubled,
    "set back": lambda course, _: paces.jumped(course, 0.5, -HOUR),
    "set ahead": lambda course, _: paces.jumped(course, 0.5, HOUR),
    "asleep": lambda course, _: paces.asleep(course, 0.5, 8 * HOUR),
}


def stalls(course: Course, *, beats: bool = True) -> list[tuple[Finding, float]]:
    """Everything said of standstills, each with the limit that it took; asked at the last moment before each report."""
    watch = StallWatch()
    watch.begin_attempt(course.first, 0.0)
    found, last = [], 0.0
    for one in course.heard:
        finding = watch.finding(one.t - 1e-6, heard=None if beats else last)
        if finding is not None and (not found or found[-1][0].since_t != finding.since_t):
            found.append((finding, watch.limit()))
        watch.observe(one.step, one.t, phase=one.phase, blind=not beats and one.t - last > HOUR)
        last = one.t
    return found


def usual_gap(course: Course, before: float) -> float:
    times: dict[int, float] = {}
    for one in course.heard:
        if one.t <= before:
            times.setdefault(one.step, one.t)
    return max([later - earlier for earlier, later in pairwise(times.values())][5:])


def slow(course: Course) -> tuple[float, Finding] | None:
    """When Slow is said first, and what."""
    watch = SlowWatch()
    watch.begin_attempt(course.first, 0.0)
    for one in course.heard:
        watch.observe(one.step, one.t, phase=one.phase)
        finding = watch.finding(one.t)
        if finding is not None:
            return one.t, finding
    return None


def end(course: Course, share: float) -> tuple[float, float, float, float]:
    """At a share of the steps: seconds truly left, the estimate, low and high; NaN before there is one."""
    eta = EtaEstimator()
    eta.begin_attempt(course.first, 0.0)
    seen = (one for one in course.heard if one.step <= course.first + share * (course.total - course.first))
    last = course.heard[0]
    for one in seen:
        eta.observe(one.step, one.t, phase=one.phase, step_seconds=one.step_seconds)
        last = max(last, one, key=lambda heard: heard.step)
    estimate = eta.estimate(last.t, course.total)
    if estimate is None:
        return course.end - last.t, math.nan, math.nan, math.nan
    return course.end - last.t, estimate.seconds, estimate.low, estimate.high


# --- what the generator says of itself is true ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", paces.DRAWN)
def test_the_same_seed_gives_the_same_run_and_another_another(kind: str) -> None:
    assert paces.draw(kind, 1) == paces.draw(kind, 1)
    assert paces.draw(kind, 1).heard != paces.draw(kind, 2).heard


@pytest.mark.parametrize("kind", paces.DRAWN)
def test_steps_and_times_go_forward_to_the_end(kind: str) -> None:
    for seed in range(5):
        course = paces.draw(kind, seed)
        assert course.heard[0].step > course.first
        assert course.heard[-1].step == course.total
        assert course.heard[-1].t <= course.end
        assert all(b.step >= a.step and b.t >= a.t for a, b in pairwise(course.heard))


@pytest.mark.parametrize("ratio", [1.1, 1.25, 2.0])
def test_a_slow_down_is_what_it_is_called(ratio: float) -> None:
    course = paces.slowed(ratio, noise=0.02)
    assert course.onset is not None
    took = {b.step: b.t - a.t for a, b in pairwise(course.heard)}
    before = statistics.median(took[step] for step in took if step <= course.onset.step)
    after = statistics.median(took[step] for step in took if step > course.onset.step)
    assert after / before == pytest.approx(ratio, rel=0.01)


def test_a_stall_begins_with_the_last_step_and_life_goes_on() -> None:
    plain = paces.draw("steady", 3)
    course = paces.stalled(plain, 0.5, 600.0)
    assert course.onset is not None
    assert course.until is not None
    assert course.until.t - course.onset.t == 600.0
    assert course.end == plain.end + 600.0
    during = [one for one in course.heard if course.onset.t < one.t < course.until.t]
    assert len(during) > 100
    assert {one.step for one in during} == {course.onset.step}


# --- Stalled ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", paces.DRAWN)
def test_a_stall_is_found_within_six_of_the_longest_usual_gaps_with_its_onset(kind: str) -> None:
    for seed in range(6):
        course = paces.stalled(paces.draw(kind, seed), 0.4 + 0.08 * seed, 6 * HOUR)
        assert course.onset is not None
        finding, limit = next((f, limit) for f, limit in stalls(course) if f.since_t >= course.onset.t)
        assert finding.since_t == course.onset.t
        assert finding.since_step == course.onset.step
        assert limit <= max(60.0, 6 * usual_gap(course, course.onset.t)), seed


@pytest.mark.parametrize("kind", ["steady", "resume", "compile", "change of speed", "slow patch", "drift", "wander"])
def test_no_run_is_stalled_that_steps_on(kind: str) -> None:
    for seed in range(20):
        assert not stalls(paces.draw(kind, seed)), seed


def test_declared_pauses_are_no_stalls() -> None:
    for seed in range(10):
        plan = paces.Plan(kind="declared", seconds=0.5, pauses=((100, 200.0 + 50 * seed),), declared=True)
        assert not stalls(paces.play(plan, seed))


@pytest.mark.parametrize("way", ON_THE_WAY)
def test_what_happens_on_the_way_is_no_stall(way: str) -> None:
    for seed in range(10):
        course = ON_THE_WAY[way](paces.draw("steady", seed), seed)
        assert not stalls(course, beats=way in ("late", "doubled")), seed


def test_a_night_asleep_teaches_nothing() -> None:
    course = paces.asleep(paces.play(paces.Plan(kind="asleep"), 0), 0.5, 8 * HOUR)
    assert course.onset is not None
    later = replace(course, heard=course.heard[: len(course.heard) * 3 // 4])
    last = later.heard[-1]
    dead = replace(later, heard=(*later.heard, Heard(last.step, last.t + 2 * HOUR)))
    watch = StallWatch()
    watch.begin_attempt(0, 0.0)
    before = 0.0
    for one in dead.heard:
        watch.observe(one.step, one.t, blind=one.t - before > HOUR)
        before = one.t
    assert watch.limit() == 60.0


# --- Slow -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "noise"), [(0.2, 0.3), (1.0, 0.3), (5.0, 0.1), (20.0, 0.02)])
def test_a_quarter_slower_is_found_within_five_minutes_with_its_onset(seconds: float, noise: float) -> None:
    for seed in range(6):
        course = paces.slowed(1.25, seconds=seconds, noise=noise, seed=seed)
        assert course.onset is not None
        found = slow(course)
        assert found is not None
        assert 0 < found[0] - course.onset.t < 300.0, seed
        assert abs(found[1].since_t - course.onset.t) < 45.0 + 3 * seconds, seed


def test_twice_as_slow_is_found_within_five_minutes_in_long_steps_too() -> None:
    for seed in range(6):
        course = paces.slowed(2.0, seconds=20.0, noise=0.1, seed=seed)
        assert course.onset is not None
        found = slow(course)
        assert found is not None
        assert 0 < found[0] - course.onset.t < 300.0, seed


def test_a_tenth_slower_is_left_alone() -> None:
    for seed in range(6):
        assert slow(paces.slowed(1.1, noise=0.05, seed=seed)) is None, seed


@pytest.mark.parametrize("kind", ["steady", "resume", "compile", "evaluations", "checkpoints", "random pauses"])
def test_no_run_is_slow_that_only_pauses(kind: str) -> None:
    for seed in range(20):
        assert slow(paces.draw(kind, seed)) is None, seed


@pytest.mark.slow
def test_of_a_thousand_healthy_runs_none_is_stalled_and_two_at_most_are_slow() -> None:
    kinds = ("steady", "resume", "compile", "evaluations", "checkpoints")
    courses = [paces.draw(kind, 50_000 + seed) for kind in kinds for seed in range(200)]
    assert sum(slow(course) is not None for course in courses) <= 2
    assert not any(stalls(course) for course in courses if course.kind in kinds[:3])


@pytest.mark.parametrize("way", ON_THE_WAY)
def test_what_happens_on_the_way_neither_makes_a_run_slow_nor_hides_it(way: str) -> None:
    for seed in range(5):
        assert slow(ON_THE_WAY[way](paces.draw("steady", seed), seed)) is None
        course = paces.slowed(1.25, seed=seed, healthy=2400.0, after=2400.0)
        assert slow(ON_THE_WAY[way](course, seed)) is not None, seed


def test_a_watch_is_small_and_a_report_cheap_to_keep() -> None:
    watch = SlowWatch()
    watch.begin_attempt(0, 0.0)
    for one in paces.slowed(1.5, seconds=1.0, noise=0.3, healthy=4000.0, after=4000.0).heard:
        watch.observe(one.step, one.t)
        assert len(watch._recent) + len(watch._block) < 1000
        assert watch._recent.itemsize * (len(watch._recent) + len(watch._block)) < 8000


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ON_THE_WAY)
def test_the_end_is_told_as_well_whatever_happens_on_the_way(way: str) -> None:
    for seed in range(5):
        course = paces.play(paces.Plan(kind="way", noise=0.05), seed)
        left, seconds, _, _ = end(ON_THE_WAY[way](course, seed), 0.75)
        assert seconds == pytest.approx(left, rel=0.03), seed


def test_the_interval_holds_the_truth_in_four_of_five_runs() -> None:
    inside: dict[float, list[bool]] = {0.1: [], 0.25: [], 0.5: [], 0.75: []}
    for kind in paces.DRAWN:
        for seed in range(7000, 7012):
            course = paces.draw(kind, seed)
            for share, hits in inside.items():
                left, _, low, high = end(course, share)
                if math.isfinite(low):
                    hits.append(low <= left <= high)
    pooled = statistics.fmean(hit for hits in inside.values() for hit in hits)
    assert 0.75 <= pooled <= 0.92
    assert all(0.65 <= statistics.fmean(hits) <= 0.96 for hits in inside.values())


@pytest.mark.parametrize("kind", ["resume", "compile", "evaluations", "checkpoints", "slow patch", "random pauses"])
def test_the_end_is_told_better_than_by_the_mean(kind: str) -> None:
    mine, mean = [], []
    for seed in range(7100, 7125):
        course = paces.draw(kind, seed)
        for share in (0.25, 0.5, 0.75):
            left, seconds, _, _ = end(course, share)
            elapsed = course.end - left
            done = max(one.step for one in course.heard if one.t <= elapsed) - course.first
            mine.append(abs(seconds / left - 1))
            mean.append(abs(elapsed / done * (course.total - course.first - done) / left - 1))
    assert statistics.median(mine) < statistics.median(mean)
    assert all(math.isfinite(each) for each in mine)
