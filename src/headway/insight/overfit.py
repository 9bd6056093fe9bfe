"""Whether evaluation gets worse while training gets better.

Evaluations are few, so each is kept, smoothed by a running median of three. Since the best one, the rise must be monotone
beyond chance (Kendall's tau against time: exact for fewer than ten values, else the normal approximation), more than noise,
and the training loss over the same steps must be falling.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headway.insight.order import median
from headway.insight.series import MetricSeries, noise
from headway.insight.trend import trend

_MOST: Final = 256
_GROWTH: Final = 1.05
_FEW: Final = 10
_P_FEW: Final = 0.01
_P_MANY: Final = 0.001
_TRAIN_FALL: Final = 0.15
"""Fall of the training loss that explains any rise of the evaluation."""
_FALL_PER_RISE: Final = 0.25
"""A smaller one explains a rise of up to four times its size."""
_LEAST_RISE: Final = 0.03
_DEVIATIONS: Final = 2.0
_CONFIRM_FROM: Final = 12
_CONFIRMED: Final = 3
"""Looks in a row that must agree, where there are so many evaluations that one of them is not a long time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overfit:
    """How far evaluation has come from its best."""

    best: float
    best_step: float
    level: float
    evaluations: int
    """How many there have been since the best."""
    p: float
    train_change: float
    """Relative change of the training loss over the same steps."""

    @property
    def rise(self) -> float:
        """Relative rise since the best."""
        return (self.level - self.best) / abs(self.best)


class OverfitJudge:
    """Watches evaluations, merging neighbours two by two when there are more than a few hundred."""

    __slots__ = ("_due", "_levels", "_pending", "_size", "_steps", "_times_seen", "standing")

    def __init__(self) -> None:
        self._steps = array("d")
        self._levels = array("d")
        self._size = 1
        """Evaluations behind each level kept."""
        self._pending: list[float] = []
        self._due = 0.0
        self._times_seen = 0
        self.standing: Overfit | None = None

    def cut(self, step: float) -> None:
        """Forget everything at ``step`` and after it."""
        keep = bisect_left(self._steps, step)
        del self._steps[keep:], self._levels[keep:]
        self._pending.clear()
        self._due = 0.0
        if self.standing is not None and self.standing.best_step >= step:
            self.standing = None

    def consider(self, series: MetricSeries, train: MetricSeries | None, step: float, value: float) -> None:
        """Take in one finite evaluation; now and then, look at the evaluations beside the training loss."""
        self._pending.append(value)
        if len(self._pending) < self._size:
            return
        self._steps.append(step)
        self._levels.append(sum(self._pending) / self._size)
        self._pending.clear()
        if len(self._steps) > _MOST:
            self._steps = self._steps[1::2]
            self._levels = array(
                "d", [(a + b) / 2 for a, b in zip(self._levels[::2], self._levels[1::2], strict=False)]
            )
            del self._steps[len(self._levels) :]
            self._size *= 2
        if series.count < self._due:
            return
        self._due = series.count * _GROWTH
        found = self._look(train)
        if found is None:
            self._times_seen = 0
            if self.standing is not None and self._withdrawn(self.standing):
                self.standing = None
            return
        self._times_seen += 1
        if self._times_seen >= (_CONFIRMED if len(self._levels) >= _CONFIRM_FROM else 1):
            self.standing = found

    def _smooth(self) -> list[float]:
        levels = self._levels
        middle = [median(levels[at - 1 : at + 2]) for at in range(1, len(levels) - 1)]
        return [levels[0], *middle, levels[-1]]

    def _withdrawn(self, standing: Overfit) -> bool:
        return median(self._levels[-3:]) < (standing.best + standing.level) / 2

    def _look(self, train: MetricSeries | None) -> Overfit | None:
        if len(self._levels) < 5 or train is None:
            return None
        smooth = self._smooth()
        at = min(range(len(smooth)), key=smooth.__getitem__)
        since = smooth[at:]
        if len(since) < 5:
            return None
        level, best = median(self._levels[-3:]), smooth[at]
        margin = max(_LEAST_RISE * abs(best), _DEVIATIONS * noise(self._levels))
        if level - best <= margin:
            return None
        p = rising_by_chance(since)
        if p >= (_P_FEW if len(since) < _FEW else _P_MANY):
            return None
        change = falling(train, self._steps[at])
        if change is None or -change < min(_TRAIN_FALL, _FALL_PER_RISE * (level - best) / abs(best)):
            return None
        return Overfit(
            best=best,
            best_step=self._steps[at],
            level=level,
            evaluations=len(since) - 1,
            p=p,
            train_change=change,
        )


def falling(train: MetricSeries, start: float) -> float | None:
    """Relative change of a training loss since step ``start``; None unless it is measurably falling."""
    batches = train.history.batches(start)
    steps = [batch.step for batch in batches]
    seen = trend(steps, steps, [batch.level for batch in batches])
    if seen is None or seen.lenient.high >= 0 or seen.level == 0:
        return None
    return seen.slope * seen.width / max(abs(seen.level), abs(batches[0].level))


def rising_by_chance(levels: list[float]) -> float:
    """One-sided p-value of Kendall's tau of levels against time: how often chance alone would rise this steadily."""
    n, score = len(levels), 0
    before: list[float] = []
    for level in levels:
        lower = bisect_left(before, level)
        score += lower - (len(before) - bisect_right(before, level))
        before.insert(lower, level)
    if n < _FEW:
        pairs = n * (n - 1) // 2
        inversions = (pairs - score) // 2
        return sum(_inversions(n)[: inversions + 1]) / math.factorial(n)
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return 0.5 * math.erfc((score - 1) / deviation / math.sqrt(2))


@lru_cache(maxsize=16)
def _inversions(n: int) -> tuple[int, ...]:
    """How many permutations of n have 0, 1, 2, … inversions (Mahonian numbers)."""
    counts = [1]
    for size in range(2, n + 1):
        wider = [0] * (len(counts) + size - 1)
        for at, count in enumerate(counts):
            for more in range(size):
                wider[at + more] += count
        counts = wider
    return tuple(counts)
