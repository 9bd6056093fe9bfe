"""What a step stands for: when it was, and how much learning rate had been spent by then.

A trend against *cumulative learning rate* does not mistake a schedule's slow-down for a plateau. One axis serves all metrics
of a run: knots at an even stride of points, thinned to every second one when there are too many, read by interpolation.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from typing import Final

_KNOTS: Final = 256
_NEW_PEAK: Final = 1.001


class Axis:
    """Step, time and cumulative learning rate of one run, in a few kilobytes."""

    __slots__ = (
        "_steps", "_stride", "_sums", "_tick", "_times", "first_step", "last_peak_step", "last_step", "last_t", "peak",
        "rate", "sum", "trough_after_peak", "unrated",
    )  # fmt: skip

    def __init__(self) -> None:
        self._steps = array("d")
        self._times = array("d")
        self._sums = array("d")
        self._stride = 1
        self._tick = 0
        self.first_step: float | None = None
        self.last_step = -math.inf
        self.last_t = math.nan
        self.rate: float | None = None
        """Learning rate in force."""
        self.peak = 0.0
        self.last_peak_step = -math.inf
        """Where the learning rate last rose to a new peak."""
        self.trough_after_peak = math.inf
        self.sum = 0.0
        self.unrated = 0.0
        """Steps passed before a learning rate was known."""

    def add(self, step: float, t: float, rate: float | None) -> None:
        """Move to ``step`` (not before the last one) at time ``t``; ``rate`` None: not said here, the last one goes on."""
        if self.first_step is None:
            self.first_step = step
        elif step > self.last_step:
            passed = step - self.last_step
            known = self.rate if self.rate is not None else rate
            if known is None:
                self.unrated += passed
            else:
                self.sum += passed * (known if rate is None else (known + rate) / 2)
        if rate is not None and math.isfinite(rate) and rate >= 0:
            self._follow(step, rate)
        if step > self.last_step or not self._steps:
            if self._tick % self._stride == 0:
                self._knot(step, t)
            self._tick += 1
        self.last_step, self.last_t = step, t

    def _follow(self, step: float, rate: float) -> None:
        if rate > self.peak * _NEW_PEAK:
            if self.rate is not None:
                self.last_peak_step = step
            self.peak = rate
            self.trough_after_peak = rate
        self.trough_after_peak = min(self.trough_after_peak, rate)
        self.rate = rate

    def _knot(self, step: float, t: float) -> None:
        self._steps.append(step)
        self._times.append(t)
        self._sums.append(self.sum)
        if len(self._steps) > _KNOTS:
            self._steps, self._times, self._sums = self._steps[::2], self._times[::2], self._sums[::2]
            self._stride *= 2

    def cut(self, step: float) -> None:
        """Forget everything at ``step`` and after it."""
        keep = bisect_left(self._steps, step)
        if keep:
            self.sum, self.last_t = self._at(self._sums, step), self._at(self._times, step)
        del self._steps[keep:], self._times[keep:], self._sums[keep:]
        self.last_step = self._steps[-1] if keep else -math.inf
        if not keep:
            self.first_step, self.sum = None, 0.0
        else:
            self.sum = self._sums[-1]

    def _at(self, column: array[float], step: float) -> float:
        index = bisect_left(self._steps, step)
        if index == len(self._steps):
            known, value = self._steps[-1], column[-1]
            last = self.last_t if column is self._times else self.sum
            if self.last_step <= known:
                return value
            return value + (last - value) * min(1.0, (step - known) / (self.last_step - known))
        if index == 0 or self._steps[index] == step:
            return column[index]
        before, after = self._steps[index - 1], self._steps[index]
        return column[index - 1] + (column[index] - column[index - 1]) * (step - before) / (after - before)

    def time(self, step: float) -> float:
        """When ``step`` was; NaN where no times are known."""
        return self._at(self._times, step) if self._steps else math.nan

    @property
    def rated(self) -> bool:
        """Whether the learning rate is known for (nearly) the whole run."""
        if self.rate is None or self.first_step is None:
            return False
        return self.sum > 0 and self.unrated <= 0.05 * (self.last_step - self.first_step)

    @property
    def cyclic(self) -> bool:
        """Whether the learning rate has fallen by half and come up again."""
        return (
            self.rate is not None
            and self.trough_after_peak < 0.5 * self.peak
            and self.rate > 2 * self.trough_after_peak
        )

    def x(self, step: float) -> float:
        """Position of ``step``: cumulative learning rate where it is known, the step itself where it is not."""
        return self._at(self._sums, step) if self.rated else step

    def xs(self, steps: list[float]) -> list[float]:
        """Positions of ``steps``, which never decrease: :meth:`x` of each."""
        if not self.rated:
            return steps
        knots, sums, at, last = self._steps, self._sums, 0, len(self._steps)
        found = []
        for step in steps:
            at = bisect_left(knots, step, at)
            if 0 < at < last and knots[at] != step:
                before, x = knots[at - 1], sums[at - 1]
                found.append(x + (sums[at] - x) * (step - before) / (knots[at] - before))
            else:
                found.append(self._at(sums, step))
        return found

    def ahead(self, total: float | None) -> float:
        """How much of x is still to come: at most, where the schedule is not known; as much as so far without a total."""
        first = self.first_step if self.first_step is not None else self.last_step
        steps = (total - self.last_step) if total is not None else (self.last_step - first)
        steps = max(steps, 0.0)
        if not self.rated or self.rate is None:
            return steps
        mean = self.sum / max(self.last_step - first, 1e-9)
        return steps * (max(self.rate, mean) if self.cyclic else self.rate)

    def warming(self, total: float | None) -> bool:
        """Whether the learning rate is still on its way up for the first time."""
        if self.rate is None or self.first_step is None or self.last_peak_step < 0:
            return False
        passed = self.last_step - self.first_step
        early = total is None or self.last_step <= self.first_step + 0.2 * (total - self.first_step)
        return early and self.last_step - self.last_peak_step <= 0.1 * passed
