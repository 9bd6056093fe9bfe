"""What a process knows of the time between SIGTERM and SIGKILL, and what it leaves of it for its last report."""

from __future__ import annotations

import pytest

from headway.reporter.countdown import Countdown


@pytest.mark.parametrize(
    ("grace", "last", "given_up", "last_report"),
    [(30, 3, 26, 3), (120, 3, 116, 3), (8, 3, 4, 3), (5, 3, 2.5, 2), (1, 3, 0.5, 0.2), (0, 3, 0, 0.2)],
)
def test_it_gives_up_early_enough_for_the_last_report(
    grace: float, last: float, given_up: float, last_report: float
) -> None:
    countdown = Countdown(grace, last)
    assert (countdown.grace, countdown.give_up_at, countdown.last_seconds(50)) == (grace, None, last)
    countdown.begin(100)
    countdown.begin(103)
    assert countdown.give_up_at == 100 + given_up
    assert countdown.last_seconds(100 + given_up) == pytest.approx(last_report)


def test_who_kills_may_say_when_before_the_signal_or_after_it() -> None:
    changes: list[None] = []
    countdown = Countdown(30, 3)
    countdown.changed = lambda: changes.append(None)
    assert countdown.tell(5.0)
    assert not countdown.tell(5.0), "no news"
    assert countdown.grace == 5
    countdown.begin(100)
    assert countdown.give_up_at == 102.5
    assert not countdown.tell(3.8, 101.1), "the same time, but for how long word takes"
    assert countdown.tell(58.9, 101.1)
    assert countdown.give_up_at == pytest.approx(156)
    assert countdown.grace == pytest.approx(60)
    assert countdown.tell(-3, 102), "it should be dead"
    assert countdown.give_up_at == pytest.approx(101)
    assert len(changes) == 6


def test_a_launcher_in_between_kills_when_it_does_whatever_others_say() -> None:
    countdown = Countdown(30, 3, most=30)
    countdown.tell(120)
    assert countdown.grace == 30
    countdown.begin(100)
    countdown.tell(119, 101)
    assert countdown.grace == 30
    countdown.tell(4, 101)
    assert countdown.grace == 5
