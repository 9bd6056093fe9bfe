"""Findings about the course of a metric, in words with the figures that they rest on.

Verdicts are decided at a two-sided 99 % interval; what is quoted is the 95 % interval, the one that people know. All
percentages are relative to the metric's scale: its level, or half of its range where levels have no natural zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from headway.insight import wording
from headway.insight.axis import Axis
from headway.insight.divergence import Departure
from headway.insight.findings import Evidence, Finding
from headway.insight.forecast import Forecast
from headway.insight.hints import Hint
from headway.insight.overfit import Overfit
from headway.insight.plateau import Look
from headway.insight.series import MetricSeries
from headway.protocol.verdict import ConditionType


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class Pace:
    """Turns slopes per x into slopes per hour or, where no times are known, per so many steps (a power of ten)."""

    def __init__(self, axis: Axis, forecast: Forecast) -> None:
        trend = forecast.trend
        self.steps = trend.last_step - trend.first_step
        self.seconds = axis.time(trend.last_step) - axis.time(trend.first_step)
        self.timed = math.isfinite(self.seconds) and self.seconds > 0
        many = 10 ** max(0, math.floor(math.log10(max(1.0, self.steps))))
        self.unit = "h" if self.timed else f"{many:,} steps" if many > 1 else "step"
        length = self.seconds / 3600 if self.timed else self.steps / many
        self.factor = trend.width / length / forecast.scale

    def interval(self, forecast: Forecast, sign: int) -> str:
        """The quoted interval of the slope, as the user's metric moves."""
        quoted = forecast.trend.quote.scaled(sign * self.factor)
        return f"[{wording.signed(100 * quoted.low)}, {wording.signed(100 * quoted.high)}] %/{self.unit}"

    def figures(self, forecast: Forecast, sign: int) -> Evidence:
        """The same interval, in percent per unit, and how long the window is that it was taken from."""
        quoted = forecast.trend.quote.scaled(100 * sign * self.factor)
        return {
            "slopeLow": _finite(quoted.low),
            "slopeHigh": _finite(quoted.high),
            "slopeUnit": f"%/{self.unit}",
            "seconds": self.seconds if self.timed else None,
            "steps": round(self.steps),
        }


def _figures(series: MetricSeries, axis: Axis, forecast: Forecast) -> Evidence:
    pace = Pace(axis, forecast)
    trend = forecast.trend
    quoted = trend.quote.scaled((series.sign or 1) * pace.factor * 100)
    return {
        "level": _finite(series.shown(trend.level)),
        "slopeLow": _finite(quoted.low),
        "slopeHigh": _finite(quoted.high),
        "slopeUnit": f"%/{pace.unit}",
        "mostPercent": _finite(100 * max(0.0, forecast.quoted.high)),
        "firstStep": round(trend.first_step),
        "lastStep": round(trend.last_step),
        "batches": trend.batches,
        "reports": series.count,
        "axis": "cumulative learning rate" if axis.rated else "steps",
    }


def remaining(axis: Axis, total: float | None) -> str:
    """What is left of the run, in words."""
    if total is None:
        return "if the run were doubled"
    seconds, left = _left(axis, total)
    return f"by the end ({wording.span(seconds, left)})"


def remaining_figures(axis: Axis, total: float | None) -> Evidence:
    """What is left of the run; nothing is known of one without a total."""
    seconds, steps = (math.nan, math.nan) if total is None else _left(axis, total)
    return {"remainingSeconds": _finite(seconds), "remainingSteps": _finite(steps)}


def _left(axis: Axis, total: float) -> tuple[float, float]:
    """Seconds (NaN where no times are known) and steps to the end, at the mean pace."""
    left = max(0.0, total - axis.last_step)
    passed = axis.last_step - (axis.first_step if axis.first_step is not None else axis.last_step)
    began = axis.time(axis.first_step) if axis.first_step is not None else math.nan
    return (axis.last_t - began) / passed * left if passed > 0 else math.nan, left


def plateaued(
    series: MetricSeries,
    axis: Axis,
    look: Look,
    since: float,
    *,
    total: float | None,
    now: float,
    falling_train: str | None,
    hint: Hint | None,
) -> Finding:
    """No improvement worth having is left; with ``falling_train``, of the evaluation only."""
    forecast = replace(look.forecast, ahead=axis.ahead(total))
    pace = Pace(axis, forecast)
    lasted = wording.span(now - axis.time(since), axis.last_step - since)
    most = max(0.0, forecast.quoted.high)
    text = (
        f"no measurable improvement of {series.name} worth having for {lasted} "
        f"(steps {wording.step(since)}-{wording.step(axis.last_step)}); "
        f"slope 95 % CI {pace.interval(forecast, series.sign or 1)}"
    )
    if forecast.ahead > 0:
        text += (
            f"; if learning rate and data stay as they are, at most {wording.percent(most)} better "
            f"{'even ' if total is None else ''}{remaining(axis, total)}"
        )
    worse = forecast.trend.decide.low > 0
    if worse:
        text += "; it is getting worse"
    at_peak = axis.rate is not None and axis.peak > 0 and axis.rate > 0.9 * axis.peak
    if falling_train:
        text += f"; {falling_train} still falls: more training is not buying anything"
    elif at_peak:
        text += "; the learning rate is still at its peak: a cool-down usually helps yet"
    if hint:
        text += f"; {hint.text}"
    evidence = {
        **_figures(series, axis, forecast),
        "newestStep": round(axis.last_step),
        **remaining_figures(axis, total),
        "worsening": "yes" if worse else "no",
        "rateAtPeak": "yes" if at_peak else "no",
        "trainMetric": falling_train,
        "hint": hint.text if hint else None,
        **(hint.figures if hint else {}),
    }
    return Finding(
        type=ConditionType.EVAL_PLATEAUED if falling_train else ConditionType.PLATEAUED,
        since_t=axis.time(since),
        since_step=round(since),
        metric=series.name,
        evidence=evidence,
        text=text,
    )


def diverging(series: MetricSeries, axis: Axis, found: Departure, causes: Sequence[Hint]) -> Finding:
    """The loss has left its best level; ``causes`` are likely ones."""
    hint = "; ".join(cause.text for cause in causes) or None
    text = (
        f"{series.name} has risen from {wording.number(found.best)} (best, step {wording.step(found.best_step)}) to "
        f"{wording.number(found.level)}, x{wording.number(found.ratio, 2)}, and has not come back since step "
        f"{wording.step(found.since)}"
    )
    return Finding(
        type=ConditionType.DIVERGING,
        since_t=axis.time(found.since),
        since_step=round(found.since),
        metric=series.name,
        evidence={
            "best": found.best,
            "bestStep": round(found.best_step),
            "level": found.level,
            "ratio": found.ratio,
            "hint": hint,
            **{name: figure for cause in causes for name, figure in cause.figures.items()},
        },
        text=f"{text}; {hint}" if hint else text,
    )


def overfitting(series: MetricSeries, train: MetricSeries, axis: Axis, found: Overfit) -> Finding:
    """Evaluation gets worse while training gets better."""
    since = found.best_step
    first = axis.first_step if axis.first_step is not None else since
    share = (axis.last_step - since) / max(axis.last_step - first, 1e-9)
    return Finding(
        type=ConditionType.OVERFITTING,
        since_t=axis.time(since),
        since_step=round(since),
        metric=series.name,
        evidence={
            "best": found.best,
            "bestStep": round(since),
            "level": found.level,
            "risePercent": 100 * found.rise,
            "evaluationsSince": found.evaluations,
            "p": found.p,
            "trainMetric": train.name,
            "trainChangePercent": 100 * found.train_change,
            "sharePercentAfterBest": 100 * share,
        },
        text=(
            f"{series.name} was best at step {wording.step(since)} ({wording.number(found.best)}) and is "
            f"{wording.percent(found.rise)} worse now ({wording.number(found.level)}; {found.evaluations} evaluations, "
            f"p {wording.number(found.p, 1)}), while {train.name} fell {wording.percent(-found.train_change)}; "
            f"{wording.percent(share)} of the run so far came after the best"
        ),
    )


def nonfinite(name: str, axis: Axis, since: float, word: str, count: int) -> Finding:
    """A metric is not a number."""
    return Finding(
        type=ConditionType.NON_FINITE,
        since_t=axis.time(since),
        since_step=round(since),
        metric=name,
        evidence={"value": word, "reports": count, "lastStep": round(axis.last_step)},
        text=f"{name} is {word} since step {wording.step(since)} ({count} reports in all)",
    )


def frozen(name: str, axis: Axis, since: float, value: float, repeats: int, *, others_move: bool) -> Finding:
    """A metric repeats to the last digit."""
    text = (
        f"{name} has been {wording.number(value, 6)} to the last digit for {repeats + 1} reports, "
        f"since step {wording.step(since)}"
    )
    if others_move:
        text += ", while other metrics move: it is logged less often than it is sent, or no longer updated"
    return Finding(
        type=ConditionType.FROZEN,
        since_t=axis.time(since),
        since_step=round(since),
        metric=name,
        evidence={"value": value, "reports": repeats + 1, "othersMove": "yes" if others_move else "no"},
        text=text,
    )
