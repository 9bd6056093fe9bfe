"""Whether improvement worth having is still to come: a test of equivalence, not of patience.

A rule of patience asks "was there evidence of improvement in the last k reports?", and noise alone answers no. Here the
question is turned: is the *upper* confidence bound of what is still to come below a margin worth having? The slope of a
trailing window, times what is left of the run, bounds it from above, as long as the curve goes on slowing down.

Five windows (see :mod:`headway.insight.forecast`) are looked at whenever the number of points has grown by 8 %, and by 4 % where
a plateau is not far from proved; two looks in a row must agree. A shorter window that measures improvement overrules a longer
one that does not. Where a longer one measures it, the shortest ones must show that it has ended: that they are too short to
measure it is not enough.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from headway.insight.axis import Axis
from headway.insight.forecast import NEGLIGIBLE, WORTH_HAVING, Forecast, forecasts, may_fall_again, onset
from headway.insight.metrics import Role
from headway.insight.order import median
from headway.insight.series import MetricSeries, noise

_GROWTH: Final = 1.08
_GROWTH_NEAR: Final = 1.04
"""Where the bound is near the margin, looks are closer: each is another chance to be sure, and the end comes nearer."""
_NEAR: Final = 2.0
_LONG_WINDOWS: Final = 2
"""Windows of half of the run and more: what they show needs no second window to agree, and they suffice at the start."""
_ALL_WINDOWS: Final = 5
_SHORT_WINDOWS: Final = 3
"""From this one on, windows are so short that a pause of the descent passes for its end."""
_PAUSED: Final = 0.5
"""What part of a longer window's pace a short one must exclude: a power law keeps more than that from one to the next."""
_FIRST_LOOK: Final = 24
_FIRST_LOOK_EVAL: Final = 12
_EARLIEST: Final = 0.03
_LATEST: Final = 0.95
_COOL_DOWN: Final = 0.8
"""Part of a run after which a learning rate that has come to nothing is as planned; before, the rest is for nothing."""
_GRACE: Final = 0.05
_NEAR_ZERO: Final = 0.01
_LEARNT: Final = 4.0
_VAGUE: Final = 0.4
"""An interval of what is to come that is wider than this says nothing, even where (nearly) all of it is worse. One that
ends at exactly zero is excepted: there the levels repeat to the last digit, as a capped reward does."""
_EPOCHS: Final = 1.2


class Course(StrEnum):
    """How a metric goes."""

    PLATEAU = "plateau"
    PROGRESSING = "progressing"
    WORSENING = "worsening"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """What one look found."""

    course: Course
    count: int
    forecast: Forecast
    """The window that the course rests on."""
    forecasts: tuple[Forecast, ...]
    """All windows, longest first."""

    @property
    def longest_flat(self) -> Forecast | None:
        """The longest window in which no change can be measured."""
        return next((forecast for forecast in self.forecasts if forecast.flat), None)


def judge(found: tuple[Forecast, ...], count: int, shortest: float = 0.0) -> Look | None:
    """The course that the forecasts of several windows amount to; None without any.

    Only windows of at least ``shortest`` steps can show a plateau.
    """
    if not found:
        return None
    whole = [forecast for forecast in found if forecast.trend.last_step - forecast.trend.first_step >= 0.9 * shortest]
    chosen = min(whole or found, key=lambda forecast: forecast.most)
    recent = found[found.index(chosen) :]
    worse = next((f for f in found if f.trend.decide.low > 0 and -f.gained > NEGLIGIBLE), None)
    improving = next((f for f in reversed(found) if f.improving), None)
    if (
        whole
        and chosen.most < WORTH_HAVING
        and (chosen.at_best or _agreed(found, whole, chosen))
        and (chosen.at_best or improving is None or _ended(found, chosen, improving))
        and chosen.gained < 2 * WORTH_HAVING
        and (chosen.least <= 0 or chosen.most < NEGLIGIBLE)
        and (chosen.at_best or chosen.most - chosen.least < _VAGUE)
        and not any(forecast.improving for forecast in recent)
    ):
        course, basis = Course.PLATEAU, chosen
    elif improving is not None:
        course, basis = Course.PROGRESSING, improving
    elif worse is not None:
        course, basis = Course.WORSENING, worse
    else:
        course, basis = Course.UNDECIDED, chosen
    return Look(course=course, count=count, forecast=basis, forecasts=found)


def _agreed(found: tuple[Forecast, ...], whole: list[Forecast], chosen: Forecast) -> bool:
    """Whether a short window does not stand alone: the upper bound of another one is below the margin, too."""
    return found.index(chosen) < _LONG_WINDOWS or sum(forecast.most < WORTH_HAVING for forecast in whole) > 1


def _ended(found: tuple[Forecast, ...], chosen: Forecast, improving: Forecast) -> bool:
    """Whether an improvement that a longer window measures has ended, rather than being too small for a short one to measure."""
    return found.index(chosen) < _SHORT_WINDOWS or chosen.most < _PAUSED * improving.likely


def _near(look: Look) -> bool:
    """Whether the upper bound of a window is not far above the margin."""
    return any(each.most < _NEAR * WORTH_HAVING and not each.improving for each in look.forecasts)


class PlateauJudge:
    """Looks at one metric now and then, and keeps what two looks in a row agree on."""

    __slots__ = ("_best", "_due", "_not_before", "_previous", "look", "since", "standing", "uninformative")

    def __init__(self) -> None:
        self._due = 0.0
        self._not_before = -math.inf
        self._previous: Course | None = None
        self._best = math.inf
        """Best level there had been when the plateau was found: what an improvement must pass."""
        self.look: Look | None = None
        self.uninformative = False
        """Flat, but near zero since the beginning: it says nothing of the course of the run."""
        self.standing: Course | None = None
        self.since: float | None = None

    def consider(self, series: MetricSeries, axis: Axis, total: float | None, epoch: float | None) -> bool:
        """Look if it is time to; ``epoch`` is how many steps one epoch has, where a run has several. True: looked."""
        first_look = _FIRST_LOOK_EVAL if series.is_evaluation else _FIRST_LOOK
        if series.count < max(first_look, self._due) or axis.first_step is None:
            return False
        self._due = series.count * _GROWTH
        share = 0.5 if total is None else (axis.last_step - axis.first_step) / max(total - axis.first_step, 1e-9)
        most = _LONG_WINDOWS if share < _EARLIEST else _ALL_WINDOWS
        look = judge(forecasts(series, axis, total, most=most), series.count, _EPOCHS * epoch if epoch else 0.0)
        if look is None:
            return False
        if (
            look.course is Course.PLATEAU
            and self.standing is not Course.PLATEAU
            and may_fall_again(series, axis, total)
        ):
            look = replace(look, course=Course.UNDECIDED)
        course = look.course
        self.uninformative = course is not Course.PROGRESSING and near_zero_by_design(series)
        untimely = not _EARLIEST <= share < _LATEST or axis.last_step < self._not_before
        spent = axis.rate is not None and axis.rate < 0.01 * axis.peak and share > _COOL_DOWN
        if self.standing is not Course.PLATEAU and (untimely or self.uninformative or spent or axis.warming(total)):
            course = Course.UNDECIDED if course is Course.PLATEAU else course
        self._settle(course, series, look)
        if self.standing is not Course.PLATEAU and _near(look):
            self._due = series.count * _GROWTH_NEAR
        self.look, self._previous = look, course
        return True

    def _settle(self, course: Course, series: MetricSeries, look: Look) -> None:
        if self.standing is Course.PLATEAU:
            now = look.forecasts[-1]
            if course is Course.PROGRESSING and now.trend.level < self._best - NEGLIGIBLE * now.scale:
                self.standing = course
        elif course is self._previous:
            self.standing = course
            if course is Course.PLATEAU:
                self.since = onset(series, look.forecast)
                self._best = min(batch.level for batch in series.history.batches(-math.inf))
        elif self.standing is None:
            self.standing = course if course is Course.PROGRESSING else Course.UNDECIDED

    def begin_again(self, axis: Axis, total: float | None) -> None:
        """A new attempt: its level may stand higher for a while, which must not be read as standing still."""
        first = axis.first_step if axis.first_step is not None else 0.0
        length = axis.last_step - first if total is None else total - first
        self._not_before = axis.last_step + _GRACE * length
        self._due = 0.0

    def forget(self) -> None:
        """The run went back or began again: what was agreed on no longer stands."""
        self._due, self._previous, self.look, self.standing = 0.0, None, None, None


def near_zero_by_design(series: MetricSeries) -> bool:
    """Whether a loss crosses zero, or began next to it, and never fell by more than its noise.

    The loss of a policy gradient (GRPO, PPO) hovers about zero, or rises from it, while the policy learns.
    """
    if series.role not in (Role.TRAIN_LOSS, Role.EVAL_LOSS) or (series.low > 0 and series.first >= _NEAR_ZERO):
        return False
    levels = array("d", [batch.level for batch in series.history.batches(-math.inf)])
    smooth = [median(levels[at : at + 3]) for at in range(len(levels) - 2)]
    return smooth[0] - min(smooth) < _LEARNT * noise(levels)
