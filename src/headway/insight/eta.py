"""When a run will end, with an interval: fed with steps and times by the reporter and by the server's fold alike.

Time is an argument: ``t`` is seconds on a clock that only goes forward within one attempt (seconds since it began).
The first interval of an attempt is never used: it holds start-up and compilation, and possibly steps of an earlier attempt.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

_RING: Final = 64
_MIN_INTERVALS: Final = 2
_PAUSE: Final = 2.5
_HUGE: Final = float(2**53)


@dataclass(frozen=True, slots=True)
class EtaEstimate:
    """Seconds from now to the end: a point estimate and an 80 % interval, ``0 <= low <= seconds <= high < inf``."""

    seconds: float
    low: float
    high: float
    basis: str
    """What the estimate rests on, in words."""


class EtaEstimator:
    """Learns the pace of a run. Memory is bounded; one observation costs microseconds."""

    __slots__ = ("_ring", "_seconds", "_skip", "_step", "_steps", "_t")

    def __init__(self) -> None:
        self._ring: deque[tuple[float, float]] = deque(maxlen=_RING)
        self._steps = 0.0
        self._seconds = 0.0
        self._step: float | None = None
        self._t = 0.0
        self._skip = True

    def begin_attempt(self, step: float | None, t: float) -> None:
        """Begin an attempt that stands at ``step`` (None if unknown) at time ``t`` of its own clock."""
        self._step = step
        self._t = t
        self._skip = True
        self._ring.clear()
        self._steps = self._seconds = 0.0

    def observe(self, step: float, t: float, *, phase: str | None = None, step_seconds: float | None = None) -> None:
        """Take in that ``step`` steps were complete at time ``t``.

        Args:
            step: steps completed (may be a fraction, for runs that count only epochs). Those since the last call may be many.
            t: seconds since the attempt began. A clock or a step count that goes back sets a new origin.
            phase: what the run was doing at ``t``, if it says so.
            step_seconds: median seconds per step since the last observation, if known.
        """
        del phase, step_seconds
        if not (math.isfinite(step) and math.isfinite(t)):
            return
        last = self._step
        if last is None or step < last or t < self._t:
            self._step, self._t = step, t
            return
        if step == last:
            return
        dn, dt = step - last, t - self._t
        self._step, self._t = step, t
        if self._skip:
            self._skip = False
            return
        self._ring.append((dn, dt))
        self._steps += dn
        self._seconds += dt

    def estimate(self, now_t: float, total_steps: float | None) -> EtaEstimate | None:
        """Return when ``total_steps`` will be reached, seen from ``now_t``; None when that cannot be known."""
        if (
            self._step is None
            or total_steps is None
            or not 0 < total_steps < _HUGE
            or len(self._ring) < _MIN_INTERVALS
            or total_steps < self._step
        ):
            return None
        paces = [dt / dn for dn, dt in self._ring]
        if len(paces) < _RING:
            pace = median(paces) if len(paces) < 8 else self._seconds / self._steps
        else:
            recent = sum(dt for _, dt in self._ring) / sum(dn for dn, _ in self._ring)
            whole = self._seconds / self._steps
            pace = whole if 0.8 < recent / whole < 1.25 else recent
        left = total_steps - self._step
        seconds = max(0.0, pace * left - max(0.0, min(now_t - self._t, pace)))
        spread = max(0.05, 0.5 / math.sqrt(len(paces)))
        return EtaEstimate(seconds, seconds * (1 - spread), seconds * (1 + spread), f"{pace:.3g} s per step")

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values, for :meth:`load`."""
        return {
            "ring": [list(pair) for pair in self._ring],
            "sums": [self._steps, self._seconds],
            "last": [self._step, self._t, self._skip],
        }

    @classmethod
    def load(cls, state: dict[str, Any]) -> EtaEstimator:
        """Return the estimator that :meth:`dump` described."""
        self = cls()
        self._ring.extend((dn, dt) for dn, dt in state["ring"])
        self._steps, self._seconds = state["sums"]
        self._step, self._t, self._skip = state["last"]
        return self
