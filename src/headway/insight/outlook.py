"""What is left of a run, given the pace and the pauses that it has shown: seconds, and how far they may be off.

Feeds :mod:`headway.insight.eta`. The doubt has three sources. What was seen is noisy. What was seen may not go on: a change
of pace may have been for a while only, a pace that wanders goes on wandering. And what was not seen yet may come, which is as
a rule more time and not less; of that there is the more the less of the run has been seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Final

from headway.insight.pace import Pace
from headway.insight.pauses import TAIL, Z80, Ahead

_EARLY: Final = 0.15
_FLOOR: Final = 0.003
"""Relative standard deviation that is left however steady a run is."""
_MOST_WANDER: Final = 0.09
_MOST_TREND: Final = 0.3
_UNSEEN_ABOVE: Final = 0.22
_UNSEEN_BELOW: Final = 0.1
"""What may come that was not seen at the very start, as a share of the rest: chosen on :mod:`headway.testing.paces`."""
_UNSEEN_POWER: Final = 3.0
_TURNS: Final = 2
"""From so many turns on, a pace that goes up and down is taken to go on doing so."""
_RETURNS: Final = 1.0
_STAYS: Final = 3.0
"""What is believed of a change before any: that it is for a while, and that it is for good, in changes seen."""
_WHILE: Final = 0.2
"""How long a pace that is for a while lasts, as a share of the run."""
_LIKE: Final = 0.3
"""A pace has come back if the way back is that of the way there, give or take this share."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """Seconds that are left; how many fewer and how many more they are at most, in four of five runs."""

    seconds: float
    below: float
    above: float


def outlook(pace: Pace, left: float, ahead: Ahead, count: int) -> Outlook:
    """Return what is to be expected of ``left`` steps, after ``count`` intervals."""
    training = _training(pace, left)
    seconds = training + ahead.seconds
    sd = _sd(pace, left, ahead, seconds, count)
    share = left / (left + pace.whole_steps) if left > 0 else 0.0
    unseen = share**_UNSEEN_POWER * seconds
    below = math.hypot(Z80 * sd, _UNSEEN_BELOW * unseen, ahead.below)
    above = math.hypot(Z80 * sd, _UNSEEN_ABOVE * unseen, ahead.above)
    if pace.changes and left > 0 and _turns(pace) < _TURNS:
        back = (
            training * -math.expm1(-pace.changes[0].ratio) * min(1.0, max(0.0, _for_a_while(pace, left) / TAIL - 1.0))
        )
        below += max(0.0, back)
        above += max(0.0, -back)
    return Outlook(seconds, below, above)


def _for_a_while(pace: Pace, left: float) -> float:
    """The chance that the last change of pace was for a while only: as with earlier ones, and the less the longer it holds."""
    returns = sum(abs(new.ratio + old.ratio) < _LIKE * abs(old.ratio) for new, old in pairwise(pace.changes))
    chance = (_RETURNS + returns) / (_RETURNS + _STAYS + len(pace.changes) - 1)
    return chance * math.exp(-pace.steps / (_WHILE * (pace.whole_steps + left)))


def _turns(pace: Pace) -> int:
    return sum(new.ratio * old.ratio < 0 for new, old in pairwise(pace.changes))


def _training(pace: Pace, left: float) -> float:
    """Seconds of training proper for ``left`` steps: at the present pace, unless it has been going up and down."""
    if _turns(pace) < _TURNS or left <= 0:
        lag = max(-_MOST_TREND, min(_MOST_TREND, pace.trend * pace.steps / 2))
        return pace.seconds_per_step * left * math.exp(lag + _ahead_of_trend(pace, left))
    usual = fmean(change.steps for change in pace.changes[:-1])
    length = max(usual - pace.steps, usual / 4, 1e-9)
    share = length / left * -math.expm1(-left / length)
    return left * (share * pace.seconds_per_step + (1 - share) * pace.whole)


def _sd(pace: Pace, left: float, ahead: Ahead, seconds: float, count: int) -> float:
    """Return the standard deviation of the seconds that are left, as far as what was seen tells it."""
    leaf_steps = pace.steps / pace.leaves
    noise = pace.sd**2 * (1 / pace.leaves + leaf_steps / max(left, leaf_steps))
    early = (_EARLY / count) ** 2
    wander = min(_MOST_WANDER, pace.wander * (left / 3 + pace.steps / 3))
    trend = _ahead_of_trend(pace, left) ** 2
    turns = 0.0
    if pace.changes:
        size = max(abs(change.ratio) for change in pace.changes)
        turns = (0.35 * size) ** 2 * pace.steps / (pace.steps + left) if len(pace.changes) > 1 else 0.0
        turns += (0.5 * size * math.exp(-pace.leaves / 4)) ** 2
    return math.sqrt(seconds**2 * (noise + early + wander + trend + turns + _FLOOR**2) + ahead.variance)


def _ahead_of_trend(pace: Pace, left: float) -> float:
    """Log of what a trend adds to the pace of the steps ahead: half of what it would, as it may end."""
    return max(-_MOST_TREND, min(_MOST_TREND, pace.trend * left / 2)) / 2
