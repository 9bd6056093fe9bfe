"""Whether a loss has left its best level and does not come back.

The level now (median of the newest values) is compared, on the log scale, with the best one there has been: it must be half
as much again, far outside of the noise, for as long as it takes to tell an excursion from a departure, and not on its way
back. A loss that touches zero has no such scale and is not judged by level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from headway.insight.order import median
from headway.insight.series import MetricSeries, noise

_FEW: Final = 64
_VERY_FEW: Final = 24
_LEAST_RATIO: Final = math.log(1.5)
_DEVIATIONS: Final = 4.5
_DEVIATIONS_FEW: Final = 3.0
"""Among very few values, those of the departure itself make up much of what is taken for noise."""
_NEAR_ZERO: Final = 0.01
"""A loss that begins below this and never improves is near zero by design (a KL penalty, say), and may rise."""
_PART_OF_RANGE: Final = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """How far a loss is from its best level."""

    since: float
    best: float
    best_step: float
    level: float

    @property
    def ratio(self) -> float:
        """Level now over the best level."""
        return self.level / self.best


class DivergenceJudge:
    """Watches one loss point by point."""

    __slots__ = (
        "_above", "_grace", "_improved", "_onset", "_peak", "_recovered", "best", "best_step", "spike_at", "spikes", "standing",
    )  # fmt: skip

    def __init__(self) -> None:
        self.best = math.inf
        self.best_step = math.nan
        self.standing: Departure | None = None
        self.spikes = 0
        """Excursions that came to an end."""
        self.spike_at = math.nan
        self._improved = False
        self._above = 0
        self._peak = -math.inf
        self._onset = math.nan
        self._grace = 0
        self._recovered = 0

    def begin_again(self, count: int) -> None:
        """Leave the next ``count`` values in peace: a restart may raise the level for a while."""
        self._grace = count
        self._above = 0
        self.standing = None

    def consider(self, series: MetricSeries, step: float, value: float, *, early: bool = False) -> None:
        """Take in the newest value, which ``series`` already holds; ``early``: its level may still go anywhere."""
        few = series.count < _FEW
        level = series.now(3 if series.count < _VERY_FEW else 5 if few else 8)
        if series.count == 1 or (series.count >= 3 and level < self.best):
            self.best, self.best_step = level, step
            self._improved = level < series.first - _PART_OF_RANGE * abs(series.first)
        if series.low <= 0 or (series.first < _NEAR_ZERO and not self._improved):
            self.standing = None
            return
        if self._grace or early:
            self._grace = max(0, self._grace - 1)
            return
        if value > self.best:
            self._watch(series, step, value, level)
            return
        self._end_excursion()
        if self._above or self.standing:
            self._calm(series)

    def _limit(self, series: MetricSeries) -> float:
        values = series.history.recent(96)
        logs = type(values)("d", map(math.log, values))
        part = min(1.0, series.count / _VERY_FEW)
        deviations = _DEVIATIONS_FEW + part * (_DEVIATIONS - _DEVIATIONS_FEW)
        return max(_LEAST_RATIO, deviations * noise(logs))

    def _watch(self, series: MetricSeries, step: float, value: float, level: float) -> None:
        away = math.log(value / self.best)
        if away <= _LEAST_RATIO and not (self._above or self.standing):
            self._end_excursion()
            return
        limit = self._limit(series)
        if away <= limit and not self._above:
            self._end_excursion()
        elif math.isnan(self._onset):
            self._onset = step
        if math.log(level / self.best) <= limit or level - self.best <= _PART_OF_RANGE * (series.high - series.low):
            self._calm(series)
            return
        self._above += 1
        self._recovered = 0
        self._peak = max(self._peak, level)
        if self._above >= lasting(series.count) and not self._coming_back(series, level):
            since = self.standing.since if self.standing else self._onset
            self.standing = Departure(since=since, best=self.best, best_step=self.best_step, level=level)

    def _end_excursion(self) -> None:
        if not math.isnan(self._onset):
            self.spikes += 1
            self.spike_at = self._onset
            self._onset = math.nan

    def _coming_back(self, series: MetricSeries, level: float) -> bool:
        if level < self.best + 0.5 * (self._peak - self.best):
            return True
        recent = series.history.recent(8)
        if len(recent) < 8:
            return False
        half = len(recent) // 2
        older, newer = median(recent[:half]), median(recent[half:])
        return newer < older - 0.1 * (older - self.best)

    def _calm(self, series: MetricSeries) -> None:
        self._above = 0
        if self.standing is None:
            self._peak = -math.inf
            return
        self._recovered += 1
        if self._recovered >= (3 if series.count < _FEW else 6):
            self.standing = None
            self._peak = -math.inf


def lasting(count: int) -> float:
    """How many values in a row tell a departure from an excursion: three of a few dozen, then a share of all."""
    return max(min(6.0, max(3.0, 0.1 * count)), 0.02 * count)
