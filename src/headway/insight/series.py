"""One metric of a run: its past, and the few figures of it that every judge needs."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from headway.insight.histogram import ExponentialHistogram
from headway.insight.metrics import Role, role_of, sign_of
from headway.insight.order import median

SHORT: Final = 8
"""Values in the short median that stands for "now"."""


_FINEST: Final = 6
"""Decimal digits beyond which rounding hides nothing."""


class MetricSeries:
    """Finite values of one metric, turned so that lower is better.

    ``sign`` is -1 where higher is better, and None where nobody knows: then nothing is judged by level.
    """

    __slots__ = ("first", "high", "history", "low", "name", "role", "sign")

    def __init__(self, name: str, declared: Mapping[str, str]) -> None:
        self.name = name
        self.role: Role = role_of(name)
        self.sign = sign_of(name, declared)
        self.history = ExponentialHistogram()
        self.first = math.nan
        self.low = math.inf
        self.high = -math.inf

    @property
    def count(self) -> int:
        """Values in the history."""
        return self.history.count

    @property
    def is_evaluation(self) -> bool:
        """Whether the values come from evaluations, which are few."""
        return self.role is Role.EVAL_LOSS

    def add(self, step: float, value: float) -> None:
        """Take in one finite value, as the user wrote it."""
        turned = value * (self.sign or 1)
        if math.isnan(self.first):
            self.first = turned
        self.low = min(self.low, turned)
        self.high = max(self.high, turned)
        self.history.add(step, turned)

    def shown(self, turned: float) -> float:
        """A level as the user wrote it."""
        return turned * (self.sign or 1)

    def now(self, count: int = SHORT) -> float:
        """Median of the newest values; NaN when there are none."""
        values = self.history.recent(count)
        return median(values) if values else math.nan

    def scale(self, level: float) -> float:
        """What a change is measured by: the level itself or, where levels have no natural zero, half of the range seen."""
        if self.low > 0 and self.role is not Role.ACCURACY:
            return abs(level)
        return (self.high - self.low) / 2


def noise(values: array[float]) -> float:
    """Standard deviation of one value around a slowly moving level: 1.4826 MAD of the differences, over sqrt 2."""
    if len(values) < 3:
        return 0.0
    steps = [after - before for before, after in pairwise(values)]
    centre = median(steps)
    return 1.4826 * median([abs(step - centre) for step in steps]) / math.sqrt(2)


def resolution(values: array[float]) -> float:
    """The step of decimal rounding that all values stand on: 0.01 for 3.28, 3.3; 0.0 where there is none coarser than 1e-6."""
    digits = 0
    for value in values:
        while abs(value - round(value, digits)) > 1e-9 * abs(value):
            digits += 1
            if digits > _FINEST:
                return 0.0
    return float(10.0**-digits)
