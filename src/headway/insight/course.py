"""The verdict of a run with nothing wrong: too early to say, undecided, or progressing, and how fast."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headway.insight import wording
from headway.insight.axis import Axis
from headway.insight.forecast import WORTH_HAVING, Forecast
from headway.insight.plateau import Course, Look
from headway.insight.series import MetricSeries
from headway.insight.texts import Pace, remaining
from headway.insight.watch import MetricWatch
from headway.protocol.verdict import Verdict

_WIDTH_POWER: Final = 1.5
"""The interval of a slope over n evenly spaced points narrows with n to this power."""

_FAR: Final = 0.3
"""A straight line says nothing of an improvement further off than this."""
_GROWTH: Final = 1.04
_GROWTH_STEPS: Final = 120


def describe(watch: MetricWatch | None, axis: Axis, total: int | None) -> tuple[Verdict, str]:
    """Starting, Undecided or Progressing by the primary metric, in words."""
    if watch is None or watch.plateau is None:
        return Verdict.STARTING, "no metric yet that says how well it learns"
    judge, series = watch.plateau, watch.series
    if judge.look is None or judge.standing is None:
        return Verdict.STARTING, f"{series.count} points of {series.name}: too little to judge"
    look = judge.look
    if judge.standing is Course.PROGRESSING:
        if look.course is Course.PROGRESSING:
            return Verdict.PROGRESSING, _progressing(series, axis, look, total)
        # One look does not overturn what stands; its figures are not those of progress, either.
        return (
            Verdict.PROGRESSING,
            f"it improved until now, but at the last look {_undecided(series, axis, look, total)}",
        )
    if judge.uninformative:
        return (
            Verdict.UNDECIDED,
            f"{series.name} stays near zero, as some losses do by design: it does not say how well it learns",
        )
    return Verdict.UNDECIDED, _undecided(series, axis, look, total)


def _progressing(series: MetricSeries, axis: Axis, look: Look, total: int | None) -> str:
    basis = replace(look.forecast, ahead=axis.ahead(total))
    pace = Pace(axis, basis)
    verb = "rises" if series.sign == -1 else "falls"
    text = (
        f"{series.name} {verb}: slope 95 % CI {pace.interval(basis, series.sign or 1)} over the last "
        f"{wording.span(pace.seconds, pace.steps)}"
    )
    if not 0 < basis.likely < _FAR:
        return text
    return f"{text}; at this pace {wording.percent(basis.likely)} better {remaining(axis, total)}"


def _undecided(series: MetricSeries, axis: Axis, look: Look, total: int | None) -> str:
    if look.course is Course.WORSENING:
        worse = Pace(axis, look.forecast)
        interval = worse.interval(look.forecast, series.sign or 1)
        return f"{series.name} gets worse: slope 95 % CI {interval} over the last {wording.span(worse.seconds, worse.steps)}"
    flat = look.longest_flat
    if flat is None:
        most = replace(look.forecast, ahead=axis.ahead(total)).most
        return f"the course of {series.name} is not clear yet; at most {wording.percent(max(0.0, most))} better to come"
    pace = Pace(axis, flat)
    text = f"no measurable improvement of {series.name} for {wording.span(pace.seconds, pace.steps)}"
    more = points_needed(flat, axis, total, series.count)
    if more is None:
        return f"{text}; too noisy for a verdict before the end"
    return f"{text}; a verdict needs about {wording.step(more)} more points" if more else text


def points_needed(forecast: Forecast, axis: Axis, total: int | None, count: int) -> int | None:
    """How many more points it takes to prove a plateau, if it is one; None: more than the run has left.

    A window that stays the same share of the run grows with it; its interval narrows with the power 3/2 of the number of
    points, and what is ahead shrinks.
    """
    first = axis.first_step if axis.first_step is not None else 0.0
    passed = axis.last_step - first
    half_width = (forecast.trend.decide.high - forecast.trend.decide.low) / 2 / forecast.scale
    for exponent in range(_GROWTH_STEPS):
        growth = _GROWTH**exponent
        left = passed if total is None else (total - first) - growth * passed
        if total is not None and left <= 0.05 * (total - first):
            return None
        ahead = forecast.ahead * (growth if total is None else left / max(total - axis.last_step, 1e-9))
        if half_width * growth**-_WIDTH_POWER * ahead < WORTH_HAVING:
            return round(count * (growth - 1))
    return None
