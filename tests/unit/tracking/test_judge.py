"""What the judge of the pace takes in, and what it passes over."""

import json
import random
from collections.abc import Callable

import pytest

from headway.protocol.report import Phase
from headway.tracking.conditions.judge import Judge


def judge_at(step: int, t: float, phase: Phase | None = Phase.TRAIN) -> Judge:
    judge = Judge()
    judge.observe("a", start=1000.0, step=step, began=0, t=t, sent=1000.0 + t, phase=phase)
    return judge


def test_reports_in_quick_succession_are_one_to_it():
    judge = judge_at(10, 5.0)

    assert judge.heard_just_now("a", 1005.1, Phase.TRAIN)
    assert not judge.heard_just_now("a", 1005.6, Phase.TRAIN)


def test_another_phase_or_attempt_is_never_passed_over():
    judge = judge_at(10, 5.0)

    assert not judge.heard_just_now("a", 1005.1, Phase.EVAL)
    assert not judge.heard_just_now("b", 1005.1, Phase.TRAIN)


def test_neither_is_what_comes_from_before():
    assert not judge_at(10, 5.0).heard_just_now("a", 1004.9, Phase.TRAIN)


def test_the_first_report_is_always_taken_in():
    assert not Judge().heard_just_now("a", 1000.0, None)


HOUR = 3600.0
CLOCKS: dict[str, tuple[float, float]] = {
    "the run's machine sleeps, and its clock with it": (0.0, 8 * HOUR),
    "the run's machine sleeps, and its clock goes on": (8 * HOUR, 8 * HOUR),
    "the run's clock is set ahead": (HOUR, 0.0),
    "the run's clock is set back": (-HOUR, 0.0),
    "the server's machine sleeps, and its clock with it": (8 * HOUR, 0.0),
}
"""By how much the attempt's clock jumps, and the server's."""


def fed(
    pace: Callable[[int], float], steps: int, *, jump_at: int = 0, jump: tuple[float, float] = (0.0, 0.0), seed: int = 0
) -> tuple[Judge, dict[int, float]]:
    """A judge after a report for each step, and the server's clock at each; both clocks jump once."""
    rng = random.Random(seed)
    judge = Judge()
    t, sent, times = 0.0, 50_000.0, {}
    for step in range(1, steps + 1):
        took = pace(step) * rng.lognormvariate(0, 0.05)
        t, sent = t + took, sent + took
        if step == jump_at:
            t, sent = t + jump[0], sent + jump[1]
        times[step] = sent
        judge.observe("a", start=50_000.0, step=step, began=0, t=t, sent=sent, usual_gap=1.0)
    return judge, times


@pytest.mark.parametrize("clocks", CLOCKS)
def test_clocks_that_jump_make_nothing_stalled_slow_or_late(clocks: str):
    judge, times = fed(lambda _: 1.0, 2000, jump_at=1200, jump=CLOCKS[clocks])
    now = times[2000]
    assert judge.stall.finding(now + 50) is None
    assert judge.stall.limit() == 60.0, "the jump is not learnt from"
    assert judge.slow.finding(now) is None
    eta = judge.estimate(now, 3000)
    assert eta is not None
    assert eta.seconds == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize("clocks", CLOCKS)
def test_clocks_that_jump_do_not_move_an_onset(clocks: str):
    judge, times = fed(lambda step: 1.0 if step <= 2000 else 1.5, 2400, jump_at=1200, jump=CLOCKS[clocks])
    finding = judge.slow.finding(times[2400])
    assert finding is not None
    assert finding.since_t == pytest.approx(times[2000], abs=20)
    assert 500 < float(str(finding.evidence["seconds"])) < 700


@pytest.mark.parametrize("clocks", CLOCKS)
def test_a_stall_after_a_jump_is_found_as_soon_as_ever(clocks: str):
    judge, times = fed(lambda _: 1.0, 1500, jump_at=1200, jump=CLOCKS[clocks])
    last = times[1500]
    assert judge.stall.finding(last + 59) is None
    finding = judge.stall.finding(last + 61)
    assert finding is not None
    assert finding.since_t == last


def test_what_it_has_learnt_survives_as_json_and_what_another_version_learnt_is_learnt_anew():
    judge, times = fed(lambda step: 1.0 if step <= 2000 else 1.5, 2400, jump_at=1200, jump=(HOUR, 0.0))
    copy = Judge.load(json.loads(json.dumps(judge.dump())))
    assert copy.dump() == judge.dump()
    assert copy.estimate(times[2400], 3000) == judge.estimate(times[2400], 3000)
    assert copy.slow.finding(times[2400]) is not None
    assert copy.stall.limit() == judge.stall.limit()
    other = Judge.load({**judge.dump(), "v": 1})
    assert other.attempt is None
    assert other.estimate(times[2400], 3000) is None
