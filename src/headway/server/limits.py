"""Keeps one job from taking the server for itself: a token bucket per job, for the status endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from headway.protocol.job import JobKey

_MAX_BUCKETS: Final = 20_000
_MAX_RANKS: Final = 100_000
_PER_RANK: Final = 2.0


class RateLimiter:
    """Token buckets by job. A job of many ranks may send more, as each of them beats."""

    def __init__(self, rate: float, burst: float, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._now = monotonic
        self._buckets: dict[JobKey, list[float]] = {}  # [tokens, when, ranks]

    def wait(self, key: JobKey) -> float:
        """Takes one token: 0.0 when there was one, else the seconds until there will be."""
        now = self._now()
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= _MAX_BUCKETS:
                self._forget_full(now)
            self._buckets[key] = [self._burst - 1.0, now, 1.0]
            return 0.0
        tokens, then, ranks = bucket
        rate = self._rate + _PER_RANK * ranks
        tokens = min(self._burst + _PER_RANK * ranks, tokens + (now - then) * rate)
        bucket[1] = now
        if tokens < 1.0:
            bucket[0] = tokens
            return (1.0 - tokens) / rate
        bucket[0] = tokens - 1.0
        return 0.0

    def note_ranks(self, key: JobKey, ranks: int) -> None:
        """Learns how many ranks a job has, from a report that was let through."""
        bucket = self._buckets.get(key)
        if bucket is not None and ranks > bucket[2]:
            bucket[2] = float(min(ranks, _MAX_RANKS))

    def _forget_full(self, now: float) -> None:
        """Drops the buckets that are full again: a new one would be the same."""
        for key, (tokens, then, ranks) in list(self._buckets.items()):
            if tokens + (now - then) * (self._rate + _PER_RANK * ranks) >= self._burst:
                del self._buckets[key]
