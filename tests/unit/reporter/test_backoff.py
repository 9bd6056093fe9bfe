"""Many runs lose their server in one moment, and come back in many. Time is counted, not waited for."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from headway.reporter.backoff import Backoff

JOBS = 64
FIRST, LAST = 0.5, 10.0


class Run:
    """One run with a clock of its own, which a wait moves on."""

    def __init__(self, rng: random.Random, now: float = 0.0) -> None:
        self.now = now
        self.backoff = Backoff(FIRST, LAST, rng=rng, clock=lambda: self.now)

    def fail(self, took: float = 0.0, asked: float = 0.0) -> float:
        self.now += took
        wait = self.backoff.next(took, asked)
        self.now += wait
        return wait


def reconnects(outage: float, rng: random.Random, *, try_seconds: float = 0.0) -> list[float]:
    """When each job is heard again, in seconds after the server is back. All report once a second when it goes."""
    heard = []
    for _ in range(JOBS):
        run = Run(rng, rng.random())
        while run.now < outage:
            run.fail(try_seconds)
        heard.append(run.now - outage)
    return heard


@pytest.mark.parametrize("outage", [1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 30.0, 300.0])
@pytest.mark.parametrize("try_seconds", [0.0, 5.0], ids=["refused", "unanswered"])
def test_no_second_hears_more_than_a_quarter_of_them(outage: float, try_seconds: float) -> None:
    rng = random.Random(7)
    crowded = 0
    for _ in range(40):
        heard = reconnects(outage, rng, try_seconds=try_seconds)
        assert max(heard) <= try_seconds + 1.01 * LAST, "all are back within the longest wait"
        crowded += max(Counter(map(int, heard)).values()) > JOBS / 4
    assert crowded <= 1, "chance bunches a few once in hundreds of times"


def test_the_second_try_comes_soon_and_all_others_once_in_a_period() -> None:
    rng = random.Random(7)
    for _ in range(100):
        run = Run(rng, now=rng.random() * 1000)
        assert 0.1 * FIRST <= run.fail() <= FIRST
        assert 0.01 * LAST <= run.fail() <= 1.01 * LAST
        for _ in range(20):
            assert LAST - 0.02 <= run.fail(0.01) <= LAST
        run.backoff.reset()
        assert run.fail() <= FIRST


def test_a_wait_that_the_server_asked_for_is_the_least_and_spread_too() -> None:
    rng = random.Random(7)
    waits = [Run(rng).fail(asked=30.0) for _ in range(JOBS)]
    assert all(30.0 < wait <= 30.0 + 1.01 * LAST for wait in waits)
    assert max(Counter(map(int, waits)).values()) <= JOBS / 4
