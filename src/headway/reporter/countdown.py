"""How long this process has between SIGTERM and SIGKILL, and when it ends itself so that its last report comes out before that.

Written by whichever thread hears first: the main one in its handler, the one that watches signals, the reporter's with an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_MARGIN: Final = 1.0
_LEAST: Final = 0.2
_NEWS: Final = 0.5
"""Seconds by which the end must move for that to be worth telling."""


class Countdown:
    """One process's. All times are seconds, those of day monotonic.

    Args:
        grace: seconds between SIGTERM and SIGKILL, as far as is known beforehand.
        last_seconds: of them, what the end of the run takes for its last report.
        most: a launcher in between kills after so many seconds, whatever others say; None: there is none.
    """

    def __init__(self, grace: float, last_seconds: float, most: float | None = None) -> None:
        self._given = grace
        self._last_seconds = last_seconds
        self._most = most
        self._span: tuple[float, float] | None = None
        """When the signal came, and when the process is killed."""
        self.changed: Callable[[], None] = lambda: None
        """Called when it has begun, and when its end has moved; from a signal's handler, too."""

    def begin(self, now: float | None = None) -> None:
        """The signal came. A second one begins nothing anew."""
        if self._span is None:
            now = time.monotonic() if now is None else now
            self._span = (now, now + self._given)
            self.changed()

    def tell(self, seconds: float, now: float | None = None) -> bool:
        """Whoever kills says when: so long from now, or from the signal, if that is yet to come. Returns whether it is news."""
        seconds = max(0.0, seconds)
        span, before = self._span, self.grace
        if span is None:
            self._given = seconds if self._most is None else min(seconds, self._most)
        else:
            at = (time.monotonic() if now is None else now) + seconds
            self._span = (span[0], at if self._most is None else min(at, span[0] + self._most))
        self.changed()
        return abs(self.grace - before) > _NEWS

    @property
    def grace(self) -> float:
        """Seconds between SIGTERM and SIGKILL, as it is known now."""
        return self._given if self._span is None else max(0.0, self._span[1] - self._span[0])

    @property
    def give_up_at(self) -> float | None:
        """When a run that has not ended by itself is ended; None as long as no signal has come."""
        if (span := self._span) is None:
            return None
        return span[1] - min((span[1] - span[0]) / 2, self._last_seconds + _MARGIN)

    def last_seconds(self, now: float | None = None) -> float:
        """What the last report may take, from now on."""
        if self._span is None:
            return self._last_seconds
        left = self._span[1] - (time.monotonic() if now is None else now) - _MARGIN / 2
        return max(_LEAST, min(self._last_seconds, left))
