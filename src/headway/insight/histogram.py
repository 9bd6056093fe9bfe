"""All of a metric's past in O(log n) numbers: fine where it is recent, coarse where it is old.

An exponential histogram (after Datar, Gionis, Indyk and Motwani, 2002): the newest points are kept as they are; the oldest
eight of them become a leaf (mean of the steps, *median* of the values, so that a lone spike leaves no trace); a level that
is full merges its two oldest buckets into one of the next level. Any trailing window is answered to within one bucket: at a
million points, at most 12 levels of 64 buckets of three doubles.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from headway.insight.order import median

LEAF: Final = 8
"""Points in a leaf."""
_RAW: Final = 96
_WIDTH: Final = 64
_MEDIAN_FROM: Final = 80
"""From so many points in a window on, batches are made of medians of :data:`LEAF` points."""


_Bucket = tuple[float, float, float]
"""Mean of the steps, level, count."""


class Batch(NamedTuple):
    """A stretch of a window: mean step and level."""

    step: float
    level: float


class ExponentialHistogram:
    """Values of one metric by step, oldest first; steps never decrease (see :meth:`cut`)."""

    __slots__ = ("_levels", "_steps", "_values", "count")

    def __init__(self) -> None:
        self._steps = array("d")
        self._values = array("d")
        self._levels: list[array[float]] = []
        self.count = 0

    def add(self, step: float, value: float) -> None:
        """Take in one finite value."""
        self._steps.append(step)
        self._values.append(value)
        self.count += 1
        if len(self._steps) >= _RAW + LEAF:
            self._push(0, sum(self._steps[:LEAF]) / LEAF, median(self._values[:LEAF]), LEAF)
            del self._steps[:LEAF], self._values[:LEAF]

    def _push(self, depth: int, step: float, value: float, count: float) -> None:
        if depth == len(self._levels):
            self._levels.append(array("d"))
        level = self._levels[depth]
        level.extend((step, value, count))
        if len(level) > 3 * _WIDTH:
            step0, value0, count0, step1, value1, count1 = level[:6]
            del level[:6]
            both = count0 + count1
            merged = (step0 * count0 + step1 * count1) / both, (value0 * count0 + value1 * count1) / both
            self._push(depth + 1, *merged, both)

    def cut(self, step: float) -> None:
        """Forget everything at ``step`` and after it: the run went back."""
        for level in self._levels:
            keep = sum(1 for index in range(0, len(level), 3) if level[index] < step)
            del level[3 * keep :]
        keep = sum(1 for known in self._steps if known < step)
        del self._steps[keep:], self._values[keep:]
        self.count = len(self._steps) + int(sum(sum(level[2::3]) for level in self._levels))

    def recent(self, count: int) -> array[float]:
        """The newest values, at most ``count`` (and never more than about a hundred), oldest first."""
        return self._values[-count:]

    def recent_steps(self, count: int) -> array[float]:
        """Steps of :meth:`recent`."""
        return self._steps[-count:]

    def batches(self, start: float, *, most: int = 24) -> list[Batch]:
        """All points from step ``start`` on, in at most ``most`` batches: :meth:`windows` for one."""
        return self.windows((start,), most=most)[0]

    def windows(self, starts: Sequence[float], *, most: int = 24) -> list[list[Batch]]:
        """For each step of ``starts``: all points from there on, in at most ``most`` batches, oldest first.

        Batches are of (nearly) equal count. A window of fewer than 80 points is cut into batches of equally many, the oldest
        ones that do not fill one left out: their mean, or median from three on. A longer one is built from medians of eight.
        """
        coarse: list[_Bucket] = []
        for level in reversed(self._levels):
            coarse += zip(level[::3], level[1::3], level[2::3], strict=True)
        fine: list[_Bucket] = []
        found = []
        for start in starts:
            first = bisect_left(self._steps, start)
            left = coarse[bisect_left(coarse, (start,)) :] if not first else []
            total = len(self._steps) - first + int(sum([bucket[2] for bucket in left]))
            if total < _MEDIAN_FROM and not left:
                found.append(_raw_batches(self._steps[first:], self._values[first:], most))
                continue
            if first:
                ends = _leaves(self._steps[first:], self._values[first:])
            else:
                ends = fine = fine or _leaves(self._steps, self._values)
            found.append(_merged_batches(left + ends, total, most))
        return found


def _leaves(steps: array[float], values: array[float]) -> list[_Bucket]:
    leaves, count = [], len(steps)
    for at in range(0, count, LEAF):
        end = at + LEAF if count - at >= 2 * LEAF else count
        leaves.append((sum(steps[at:end]) / (end - at), median(values[at:end]), float(end - at)))
        if end == count:
            break
    return leaves


def _raw_batches(steps: array[float], values: array[float], most: int) -> list[Batch]:
    total = len(steps)
    size = max(1, -(-total // most))
    if size == 1:
        return list(map(Batch, steps, values))
    batches = []
    for at in range(total % size, total, size):
        chunk = values[at : at + size]
        level = median(chunk) if size >= 3 else sum(chunk) / size
        batches.append(Batch(sum(steps[at : at + size]) / size, level))
    return batches


def _merged_batches(buckets: list[_Bucket], total: int, most: int) -> list[Batch]:
    wanted = total / min(most, max(1, total // LEAF))
    batches: list[Batch] = []
    seen = step_sum = value_sum = weight = 0.0
    for step, value, count in buckets:
        step_sum += step * count
        value_sum += value * count
        weight += count
        seen += count
        if seen >= wanted * (len(batches) + 1) - count / 2:
            batches.append(Batch(step_sum / weight, value_sum / weight))
            step_sum = value_sum = weight = 0.0
    if weight >= wanted / 2:
        batches.append(Batch(step_sum / weight, value_sum / weight))
    return batches
