"""How long to wait before the next try, so that the many runs of one server never come back to it in one moment.

A server that goes takes all its runs along in the same second, and when it returns after a moment or an hour it should hear of
them spread out. Waits that are drawn anew each time, doubled or not, bunch: those that begin together end together. So each run
draws a place within a period once, and tries again each time that place comes round. However long the outage was, a second hears
no more of them than any other does. (With 64 runs and 10 s: 6.4 on average, more than 16 once in thousands of outages.)
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

_QUICK: Final = (0.1, 1.0)
"""Between which shares of ``first`` the first wait lies."""
_LEAST: Final = 0.01
"""Share of the period within which a run is at its place, and waits for the next time that it comes round."""


class Backoff:
    """The waits of one run. No lock: one thread asks.

    Args:
        first: longest wait after a failure that follows a success, in seconds: most faults are gone at the second try. Not for
            tries that took longer than that: who waited in vain together would come back together.
        last: the period of all later tries, and so the longest of their waits, in seconds.
        rng: draws the place and the first wait.
        clock: any clock that only grows, in seconds.
    """

    __slots__ = ("_clock", "_failures", "_first", "_last", "_place", "_rng")

    def __init__(
        self,
        first: float,
        last: float,
        *,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first, self._last = first, last
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, keeps no secret
        self._clock = clock
        self._place = self._rng.random() * last
        self._failures = 0

    @property
    def failures(self) -> int:
        """How many in a row."""
        return self._failures

    def next(self, took: float, asked: float = 0.0) -> float:
        """Seconds to wait after one more failure.

        Args:
            took: seconds that the try took.
            asked: seconds that the server asked for (its Retry-After): the least that is waited.
        """
        self._failures += 1
        if self._failures == 1 and took <= self._first and asked <= 0:
            return self._first * self._rng.uniform(*_QUICK)
        wait = (self._place - self._clock() - asked) % self._last
        if wait < _LEAST * self._last:  # its place is now
            wait += self._last
        return asked + wait

    def reset(self) -> None:
        """Starts over, after a success."""
        self._failures = 0
