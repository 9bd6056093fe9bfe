"""What the judge of the pace takes in, and what it passes over."""

from headway.protocol.report import Phase
from headway.tracking.judge import Judge


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
