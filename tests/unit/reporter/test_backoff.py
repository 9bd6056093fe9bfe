"""Many runs lose their server in one moment, and come back in many. Time is counted, not waited for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from headway.client.events import Backoff
from headway.reporter.delivery import backoff

JOBS = 64
FIRST, LAST = 0.5, 10.0


def waits_of_reporters(_: random.Random) -> Callable[[], float]:
    failures = iter(range(1, 10_000))
    return lambda: backoff(next(failures), FIRST, LAST)


def waits_of_runners(rng: random.Random) -> Callable[[], float]:
    return Backoff(first=FIRST, most=LAST, random=rng).next


def reconnects(outage: float, rng: random.Random, waits: Callable[[random.Random], Callable[[], float]]) -> list[float]:
    """When each job is heard again, in seconds after the server is back. All report once a second when it goes."""
    heard = []
    for _ in range(JOBS):
        now, wait = rng.random(), waits(rng)
        while now < outage:
            now += wait()
        heard.append(now - outage)
    return heard


@pytest.mark.parametrize("waits", [waits_of_reporters, waits_of_runners])
@pytest.mark.parametrize("outage", [15.0, 30.0, 300.0])
def test_no_second_hears_more_than_a_quarter_of_them(outage, waits, monkeypatch) -> None:
    rng = random.Random(7)
    monkeypatch.setattr("headway.reporter.delivery.random.uniform", rng.uniform)
    crowded = 0
    for _ in range(40):
        heard = reconnects(outage, rng, waits)
        assert max(heard) <= LAST, "all are back within the longest wait"
        crowded += max(Counter(map(int, heard)).values()) > JOBS / 4
    assert crowded <= 1, "chance bunches a few once in hundreds of times"


def test_waits_grow_from_short_to_the_longest() -> None:
    for _ in range(100):
        waits = [backoff(failures, FIRST, LAST) for failures in range(1, 60)]
        assert 0.05 <= waits[0] <= 0.5
        assert all(0.9 * LAST <= wait <= LAST for wait in waits[6:])
