"""The rate limit per job, on a clock of the test's own."""

from __future__ import annotations

from headway.protocol.job import JobKey
from headway.server.limits import RateLimiter

JOB = JobKey("local", "job")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(limiter: RateLimiter, key: JobKey = JOB, tries: int = 10_000) -> int:
    """How many calls are let through at once."""
    return next(count for count in range(tries) if limiter.wait(key) > 0)


def test_a_burst_then_the_rate() -> None:
    clock = Clock()
    limiter = RateLimiter(10.0, 5.0, monotonic=clock)
    assert taken(limiter) == 5
    clock.now += 0.25  # 12 a second: 10, and 2 for the one rank
    assert taken(limiter) == 3
    clock.now += 3600
    assert taken(limiter) == 7


def test_the_wait_is_what_it_takes() -> None:
    clock = Clock()
    limiter = RateLimiter(8.0, 1.0, monotonic=clock)
    assert limiter.wait(JOB) == 0.0
    wait = limiter.wait(JOB)
    assert 0 < wait <= 0.1
    clock.now += wait + 1e-9
    assert limiter.wait(JOB) == 0.0


def test_jobs_do_not_share() -> None:
    limiter = RateLimiter(1.0, 3.0, monotonic=Clock())
    assert taken(limiter) == 3
    assert taken(limiter, JobKey("local", "other")) == 3


def test_many_ranks_may_say_more() -> None:
    clock = Clock()
    limiter = RateLimiter(10.0, 5.0, monotonic=clock)
    limiter.wait(JOB)
    limiter.note_ranks(JOB, 512)
    limiter.note_ranks(JOB, 8)
    clock.now += 1.0
    assert taken(limiter) >= 1024, "each of 512 ranks beats once a second"


def test_what_is_full_again_is_forgotten(monkeypatch) -> None:
    monkeypatch.setattr("headway.server.limits._MAX_BUCKETS", 10)
    clock = Clock()
    limiter = RateLimiter(1.0, 2.0, monotonic=clock)
    for number in range(10):
        limiter.wait(JobKey("a", str(number)))
    clock.now += 100
    limiter.wait(JOB)
    assert len(limiter._buckets) == 1
