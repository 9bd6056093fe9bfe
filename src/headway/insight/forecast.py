"""What the trailing windows of a metric say of the improvement still to come.

Five windows, as fractions of the run so far. The slope of each, times what is left of the run, bounds what is to come from
above, as long as the curve goes on slowing down. What rounding may hide is added to the bound; what a run that has got worse
must make up for, before it is better than it has been, is taken off.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from typing import Final

from headway.insight.axis import Axis
from headway.insight.order import median
from headway.insight.series import MetricSeries, noise, resolution
from headway.insight.trend import Interval, Trend, trend

WORTH_HAVING: Final = 0.02
"""Improvement still to come, relative to the level, below which it is not worth the wait."""
NEGLIGIBLE: Final = 0.005
"""Improvement still to come that is negligible even when it is measurable."""
_WINDOWS: Final = (0.75, 0.5, 0.33, 0.2, 0.12)
_BATCHES: Final = 10
_BATCHES_EVAL: Final = 7
_AHEAD: Final = 0.25
"""Towards the end of a run little is left to improve in: a plateau must be one for this share of the run so far, as well."""
_RECENT: Final = 96
_AT_BEST_FROM: Final = 12
_AT_BEST: Final = 0.4
_MORE_OFTEN: Final = 1.0
_RAISED: Final = 3.0
_SIDE: Final = 3
"""Batches on either side of a rise whose medians are compared: one alone may be an outlier."""
_BEST_NOISE: Final = 2.0
"""Standard deviations of one batch that the lowest of many medians may lie too low."""
_OUT_OF_REACH: Final = 1.0
"""An improvement that cannot be told from this one: what the run is behind its best by makes no difference."""
_ONSET_BATCHES: Final = 96
_ONSET_NOISE: Final = 0.9
"""Standard deviations of one batch by which a median of five of them may stray: two of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a window says of the improvement still to come, relative to the scale (0.02 is two per cent)."""

    trend: Trend
    scale: float
    ahead: float
    """What is left of the run (at the least, a quarter of what is done), in units of x."""
    behind: float = 0.0
    """How much worse the level is than the best one there has been, beyond what noise explains, relative to the scale."""
    at_best: bool = False
    """The levels stand at the best that they have ever been, to the last digit, as a capped reward does."""

    @property
    def most(self) -> float:
        """Upper bound of what is to come beyond the best so far: what verdicts rest on."""
        return -self.trend.decide.low * self.ahead / self.scale - self.behind

    @property
    def least(self) -> float:
        """Lower bound; positive when improvement is measurable."""
        return -self.trend.decide.high * self.ahead / self.scale

    @property
    def likely(self) -> float:
        """Point estimate."""
        return -self.trend.slope * self.ahead / self.scale

    @property
    def quoted(self) -> Interval:
        """95 % interval of the improvement still to come beyond the best so far."""
        low, high = self.trend.quote.scaled(-self.ahead / self.scale)
        return Interval(low - self.behind, high - self.behind)

    @property
    def gained(self) -> float:
        """Improvement over the window itself."""
        return -self.trend.slope * self.trend.width / self.scale

    @property
    def improving(self) -> bool:
        """Improvement is measurable, and more than negligible."""
        return self.trend.decide.high < 0 and self.likely > NEGLIGIBLE

    @property
    def flat(self) -> bool:
        """No change can be measured."""
        return self.trend.decide.low <= 0 <= self.trend.decide.high


def forecasts(
    series: MetricSeries, axis: Axis, total: float | None, *, most: int = len(_WINDOWS)
) -> tuple[Forecast, ...]:
    """Forecast of each trailing window that has enough batches, longest first: of the ``most`` longest ones."""
    first = axis.first_step if axis.first_step is not None else 0.0
    starts = [axis.last_step - fraction * (axis.last_step - first) for fraction in _WINDOWS[:most]]
    return _beyond_best(series, _forecasts(series, axis, total, starts))


def _beyond_best(series: MetricSeries, found: tuple[Forecast, ...]) -> tuple[Forecast, ...]:
    """The forecasts with what each is behind the best level so far, where that may matter."""
    near = [each for each in found if WORTH_HAVING <= each.most < _OUT_OF_REACH and each.least <= 0]
    if not any(each.trend.level - series.low > (each.most - WORTH_HAVING) * each.scale for each in near):
        return found
    levels = array("d", [batch.level for batch in series.history.batches(-math.inf)])
    best = min(median(levels[at : at + _SIDE]) for at in range(len(levels) - _SIDE + 1)) + _BEST_NOISE * noise(levels)
    return tuple(replace(each, behind=max(0.0, _end(each.trend) - best) / each.scale) for each in found)


def _end(seen: Trend) -> float:
    """Level at the window's end: that of its last third, carried on at the pace that what is to come is bounded by."""
    return seen.level + min(0.0, seen.decide.low) * seen.width / 6


def raised(series: MetricSeries, axis: Axis) -> float | None:
    """Step since which the level has stood higher, where something raised it of late (a restart, other data); else None.

    Medians of neighbouring batches are compared, so that neither a spike nor the scatter of one batch passes for it.
    """
    first = axis.first_step if axis.first_step is not None else 0.0
    late = series.history.batches(axis.last_step - _WINDOWS[2] * (axis.last_step - first))
    if len(late) < _BATCHES:
        return None
    levels = array("d", [batch.level for batch in late])
    rises = [median(levels[at : at + _SIDE]) - median(levels[max(0, at - _SIDE) : at]) for at in range(1, len(levels))]
    at = max(range(len(rises)), key=rises.__getitem__) + 1
    if rises[at - 1] <= max(NEGLIGIBLE * series.scale(levels[at]), _RAISED * noise(levels)):
        return None
    return late[at].step


def may_fall_again(series: MetricSeries, axis: Axis, total: float | None) -> bool:
    """Whether the level was raised of late and falls again since, or too short a time ago to tell.

    A window over both looks flat, and is no plateau.
    """
    step = raised(series, axis)
    if step is None:
        return False
    since = next(iter(_forecasts(series, axis, total, [step])), None)
    return since is None or (since.trend.lenient.high < 0 and since.likely > NEGLIGIBLE)


def _forecasts(series: MetricSeries, axis: Axis, total: float | None, starts: list[float]) -> tuple[Forecast, ...]:
    found = []
    first = axis.first_step if axis.first_step is not None else 0.0
    ahead = axis.ahead(None if total is None else max(total, axis.last_step + _AHEAD * (axis.last_step - first)))
    needed = _BATCHES_EVAL if series.is_evaluation else _BATCHES
    newest = series.history.recent(_RECENT)
    unseen = resolution(newest)
    may_be_capped = series.low <= 0 and newest.count(series.low) >= _AT_BEST * _AT_BEST_FROM
    for batches in series.history.windows(starts):
        if len(batches) < needed:
            continue
        steps = [batch.step for batch in batches]
        seen = trend(steps, axis.xs(steps), [batch.level for batch in batches])
        scale = series.scale(seen.level) if seen else 0.0
        if not seen or scale <= 0:
            continue
        at_best = may_be_capped and stands_at_best(series, steps[0])
        if at_best:
            seen = _bounded(seen)
        found.append(Forecast(trend=_widened(seen, unseen / seen.width), scale=scale, ahead=ahead, at_best=at_best))
    return tuple(found)


def stands_at_best(series: MetricSeries, start: float) -> bool:
    """Whether the newest values since ``start`` are as often as not the best there has been, to the last digit.

    Their share must not rise: a success rate that climbs has ever more perfect scores.
    """
    steps, values = series.history.recent_steps(_RECENT), series.history.recent(_RECENT)
    hits = [value == series.low for step, value in zip(steps, values, strict=True) if step >= start]
    count, half = len(hits), len(hits) // 2
    if count < _AT_BEST_FROM or sum(hits) < _AT_BEST * count:
        return False
    before, after = sum(hits[:half]) / half, sum(hits[half:]) / (count - half)
    share = sum(hits) / count
    return after - before <= _MORE_OFTEN * math.sqrt(share * (1 - share) * (1 / half + 1 / (count - half)))


def _bounded(seen: Trend) -> Trend:
    """The trend of what cannot get better."""
    decide, quote, lenient = (
        Interval(max(each.low, 0.0), max(each.high, 0.0)) for each in (seen.decide, seen.quote, seen.lenient)
    )
    return replace(seen, slope=max(seen.slope, 0.0), decide=decide, quote=quote, lenient=lenient)


def _widened(seen: Trend, by: float) -> Trend:
    if by <= 0:
        return seen
    decide, quote, lenient = (
        Interval(each.low - by, each.high + by) for each in (seen.decide, seen.quote, seen.lenient)
    )
    return replace(seen, decide=decide, quote=quote, lenient=lenient)


def onset(series: MetricSeries, basis: Forecast) -> float:
    """Step since which the smoothed level has stayed within the margin, and its noise, of where it is now.

    Of a level that has got worse by more than that: step of the best one.
    """
    batches = series.history.batches(-math.inf, most=_ONSET_BATCHES)
    levels = array("d", [batch.level for batch in batches])
    smooth = [median(levels[max(0, at - 2) : at + 3]) for at in range(len(levels))]
    margin = WORTH_HAVING * basis.scale + _ONSET_NOISE * noise(levels)
    best = min(range(len(smooth)), key=smooth.__getitem__)
    if basis.trend.level - smooth[best] > margin:
        return batches[best].step
    since = basis.trend.first_step
    for batch, level in zip(reversed(batches), reversed(smooth), strict=True):
        if level - basis.trend.level > margin and batch.step < basis.trend.last_step:
            break
        since = batch.step
    return since
