"""The verdict of a run with nothing wrong: too early to say, undecided, or progressing, and how fast."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from headway.insight import wording
from headway.insight.axis import Axis
from headway.insight.findings import Evidence
from headway.insight.forecast import WORTH_HAVING, Forecast
from headway.insight.plateau import Course, Look
from headway.insight.series import MetricSeries
from headway.insight.texts import Pace, remaining, remaining_figures
from headway.insight.watch import MetricWatch
from headway.protocol.message import Message
from headway.protocol.verdict import Verdict

_WIDTH_POWER: Final = 1.5
"""The interval of a slope over n evenly spaced points narrows with n to this power."""

_FAR: Final = 0.3
"""A straight line says nothing of an improvement further off than this."""
_GROWTH: Final = 1.04
_GROWTH_STEPS: Final = 120


def describe(watch: MetricWatch | None, axis: Axis, total: int | None) -> tuple[Verdict, Message]:
    """Starting, Undecided or Progressing by the primary metric, in words."""
    if watch is None or watch.plateau is None:
        return Verdict.STARTING, message("course.noMetric", "no metric yet that says how well it learns")
    judge, series = watch.plateau, watch.series
    of: Evidence = {"metric": series.name}
    if judge.look is None or judge.standing is None:
        text = f"{series.count} point{'' if series.count == 1 else 's'} of {series.name}: too little to judge"
        return Verdict.STARTING, message("course.tooFew", text, {**of, "points": series.count})
    look = judge.look
    if judge.standing is Course.PROGRESSING:
        if look.course is Course.PROGRESSING:
            return Verdict.PROGRESSING, _progressing(series, axis, look, total)
        # One look does not overturn what stands; its figures are not those of progress, either.
        last = _undecided(series, axis, look, total)
        text = f"it improved until now, but at the last look {last.text}"
        return Verdict.PROGRESSING, replace(last, text=text, figures={**last.figures, "improvedBefore": "yes"})
    if judge.uninformative:
        text = f"{series.name} stays near zero, as some losses do by design: it does not say how well it learns"
        return Verdict.UNDECIDED, message("course.nearZero", text, of)
    return Verdict.UNDECIDED, _undecided(series, axis, look, total)


def message(kind: str, text: str, figures: Evidence | None = None) -> Message:
    """What is said of the course of a run."""
    return Message(kind=kind, text=text, figures=figures or {})


def _progressing(series: MetricSeries, axis: Axis, look: Look, total: int | None) -> Message:
    basis = replace(look.forecast, ahead=axis.ahead(total))
    pace = Pace(axis, basis)
    sign = series.sign or 1
    verb = "rises" if series.sign == -1 else "falls"
    text = (
        f"{series.name} {verb}: slope 95 % CI {pace.interval(basis, sign)} over the last "
        f"{wording.span(pace.seconds, pace.steps)}"
    )
    figures: Evidence = {"metric": series.name, **pace.figures(basis, sign), "betterPercent": None}
    if 0 < basis.likely < _FAR:
        text += f"; at this pace {wording.percent(basis.likely)} better {remaining(axis, total)}"
        figures |= {"betterPercent": 100 * basis.likely, **remaining_figures(axis, total)}
    return message("course.rises" if verb == "rises" else "course.falls", text, figures)


def _undecided(series: MetricSeries, axis: Axis, look: Look, total: int | None) -> Message:
    of: Evidence = {"metric": series.name}
    if look.course is Course.WORSENING:
        worse, sign = Pace(axis, look.forecast), series.sign or 1
        lasted = wording.span(worse.seconds, worse.steps)
        text = f"{series.name} gets worse: slope 95 % CI {worse.interval(look.forecast, sign)} over the last {lasted}"
        return message("course.worsens", text, of | worse.figures(look.forecast, sign))
    flat = look.longest_flat
    if flat is None:
        most = max(0.0, replace(look.forecast, ahead=axis.ahead(total)).most)
        text = f"the course of {series.name} is not clear yet; at most {wording.percent(most)} better to come"
        return message("course.unclear", text, of | {"mostPercent": 100 * most if math.isfinite(most) else None})
    pace = Pace(axis, flat)
    text = f"no measurable improvement of {series.name} for {wording.span(pace.seconds, pace.steps)}"
    figures = of | {"seconds": pace.seconds if pace.timed else None, "steps": round(pace.steps)}
    more = points_needed(flat, axis, total, series.count)
    if more is None:
        return message("course.flatToTheEnd", f"{text}; too noisy for a verdict before the end", figures)
    text = f"{text}; a verdict needs about {wording.step(more)} more points" if more else text
    return message("course.flat", text, figures | {"morePoints": more or None})


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
