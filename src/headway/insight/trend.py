"""How fast a metric changes, and how sure that is: slopes with distribution-free intervals.

Theil (1950) and Sen (1968): the slope is the median of the slopes of all pairs; the interval's ends are order statistics of
them, from the normal approximation of Kendall's S. Over batch levels instead of points (batch means), so that neighbouring
points may depend on each other; medians throughout, so that a spike does not bend it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

from headway.insight.order import median

DECIDE: Final = 2.576
"""Standard normal quantile of a 99 % interval: what verdicts rest on."""
QUOTE: Final = 1.96
"""Standard normal quantile of a 95 % interval: what texts quote."""
LENIENT: Final = 1.645
"""Standard normal quantile of a 90 % interval: what a companion metric is asked for."""


class Interval(NamedTuple):
    """Lower and upper end."""

    low: float
    high: float

    def scaled(self, factor: float) -> Interval:
        """The interval of ``factor`` times the quantity."""
        low, high = self.low * factor, self.high * factor
        return Interval(min(low, high), max(low, high))


class Slopes:
    """Pairwise slopes of at least three points; x must not repeat everywhere."""

    __slots__ = ("_slopes", "points", "slope")

    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.points = len(xs)
        pairs = zip(xs, ys, strict=True)
        slopes = [(y - below) / (x - before) for (before, below), (x, y) in combinations(pairs, 2) if x > before]
        slopes.sort()
        self._slopes = slopes
        self.slope = median(slopes) if slopes else 0.0

    def interval(self, z: float) -> Interval:
        """Interval of the slope at the two-sided standard normal quantile ``z``."""
        pairs, k = len(self._slopes), self.points
        if not pairs:
            return Interval(-math.inf, math.inf)
        spread = z * math.sqrt(k * (k - 1) * (2 * k + 5) / 18)
        low, high = math.floor((pairs - spread) / 2), math.ceil((pairs + spread) / 2)
        return Interval(
            self._slopes[low] if low >= 0 else -math.inf,
            self._slopes[high] if high < pairs else math.inf,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The slope over one trailing window, per unit of ``x`` (steps, or cumulative learning rate)."""

    first_step: float
    last_step: float
    width: float
    """Length of the window, in units of x."""
    slope: float
    decide: Interval
    quote: Interval
    lenient: Interval
    level: float
    """Median level of the window's last third."""
    batches: int


def trend(steps: Sequence[float], xs: Sequence[float], ys: Sequence[float]) -> Trend | None:
    """Trend of batch levels ``ys`` at ``xs``; None where there are too few to have one."""
    if len(xs) < 3 or xs[-1] <= xs[0]:
        return None
    slopes = Slopes(xs, ys)
    return Trend(
        first_step=steps[0],
        last_step=steps[-1],
        width=xs[-1] - xs[0],
        slope=slopes.slope,
        decide=slopes.interval(DECIDE),
        quote=slopes.interval(QUOTE),
        lenient=slopes.interval(LENIENT),
        level=median(ys[-max(1, len(ys) // 3) :]),
        batches=len(xs),
    )
