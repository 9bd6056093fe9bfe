"""What holds of an estimate whatever a run does."""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.insight.eta import EtaEstimate, EtaEstimator

Observation = tuple[float, float, str | None]

wild = st.lists(
    st.tuples(
        st.one_of(st.integers(-5, 10**9), st.floats(allow_nan=True, allow_infinity=True)),
        st.floats(allow_nan=True, allow_infinity=True),
        st.sampled_from([None, "train", "eval", "checkpoint", "compile", "finish"]),
    ),
    max_size=60,
)
forward = st.lists(
    st.tuples(st.integers(1, 10_000), st.floats(1e-5, 1e5), st.sampled_from([None, None, "train", "eval"])),
    min_size=1,
    max_size=80,
).map(
    lambda moves: [
        (sum(m[0] for m in moves[: i + 1]), sum(m[1] for m in moves[: i + 1]), moves[i][2]) for i in range(len(moves))
    ]
)
totals = st.one_of(st.none(), st.integers(-10, 10**12), st.floats(allow_nan=True, allow_infinity=True))


def feed(observations: list[Observation]) -> EtaEstimator:
    eta = EtaEstimator()
    eta.begin_attempt(0, 0.0)
    for step, t, phase in observations:
        eta.observe(step, t, phase=phase)
    return eta


def sound(estimate: EtaEstimate | None) -> bool:
    return estimate is None or 0 <= estimate.low <= estimate.seconds <= estimate.high < math.inf


@settings(max_examples=150, deadline=None)
@given(wild, totals, st.floats(allow_nan=True, allow_infinity=True))
def test_never_negative_never_infinite_whatever_comes_in(
    observations: list[Observation], total: float | None, now: float
) -> None:
    assert sound(feed(observations).estimate(now, total))


@settings(max_examples=100, deadline=None)
@given(forward, st.integers(1, 10**8), st.floats(0, 1e6))
def test_later_is_not_longer(observations: list[Observation], total: int, later: float) -> None:
    eta = feed(observations)
    t = observations[-1][1]
    now, then = eta.estimate(t, total), eta.estimate(t + later, total)
    assert sound(now)
    assert sound(then)
    assert (now is None) == (then is None)
    if now and then:
        assert then.seconds <= now.seconds


@settings(max_examples=100, deadline=None)
@given(forward, st.integers(1, 10**7), st.integers(1, 10**7))
def test_more_steps_take_no_less_time(observations: list[Observation], total: int, more: int) -> None:
    eta = feed(observations)
    t = observations[-1][1]
    less, longer = eta.estimate(t, total), eta.estimate(t, total + more)
    if less is not None:
        assert longer is not None
        assert longer.seconds >= less.seconds * (1 - 1e-9)


@settings(max_examples=100, deadline=None)
@given(forward, st.integers(1, 10**7), st.integers(-10, 10))
def test_a_clock_in_another_unit_gives_the_same_in_that_unit(
    observations: list[Observation], total: int, power: int
) -> None:
    scale = 2.0**power
    plain = feed(observations).estimate(observations[-1][1], total)
    scaled = feed([(step, t * scale, phase) for step, t, phase in observations]).estimate(
        observations[-1][1] * scale, total
    )
    assert (plain is None) == (scaled is None)
    if plain and scaled:
        assert math.isclose(scaled.seconds, plain.seconds * scale, rel_tol=1e-9)
        assert math.isclose(scaled.high, plain.high * scale, rel_tol=1e-9)


@settings(max_examples=100, deadline=None)
@given(forward, st.integers(1, 10**8))
def test_never_from_the_first_steps(observations: list[Observation], total: int) -> None:
    assert feed(observations[:2]).estimate(observations[-1][1], total) is None


@settings(max_examples=100, deadline=None)
@given(wild, totals)
def test_state_survives_as_strict_json(observations: list[Observation], total: float | None) -> None:
    eta = feed(observations)
    copy = EtaEstimator.load(json.loads(json.dumps(eta.dump(), allow_nan=False)))
    assert copy.dump() == eta.dump()
    assert copy.estimate(100.0, total) == eta.estimate(100.0, total)
