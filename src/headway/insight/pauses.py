"""Pauses of training for something else (evaluation, checkpoint, end of an epoch): an amount of time per so many steps.

Feeds :mod:`headway.insight.eta`. Pauses of about the same length make one kind; each kind learns its length and its
period, so that the ones still to come can be counted rather than smeared over the steps. Kinds that keep no period are taken
together as what comes at random: so many per step, with lengths as they have been (a compound Poisson process).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

Z80: Final = 1.2816
"""Standard deviations to either side that hold 80 % of a normal variable."""
TAIL: Final = 0.1
"""Chance that an interval of 80 % leaves out on either side."""
_KINDS: Final = 6
_LIKE: Final = math.log(1.6)
_MEMORY: Final = 8
_REGULAR: Final = 0.2
_SURE: Final = 4
"""Pauses of a kind from which on its spread says something."""
_SPREAD_AT_RANDOM: Final = 2 / math.e
"""Mean absolute relative deviation of an exponential variable."""
_CHANCE: Final = 0.35
"""Chance that the first pause of a kind, or the first that comes in time, does so at random."""
_NEXT_CHANCE: Final = 0.3
"""Chance that one that comes at random comes in time."""


Unsteady = tuple[float, float, float, float]
"""Pauses that keep no period: how many, their seconds, the squares of these, variance of their number relative to Poisson's."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Pauses of one kind."""

    label: str | None
    """The phase that the run declared, if it did."""
    count: int
    seconds: float
    """Mean length."""
    last: float
    """Step after which the last one came."""
    period: float
    """Mean number of steps between two; before the second one, the number of steps before the first."""
    spread: float = 0.0
    """Mean absolute relative deviation of the period."""

    @property
    def dispersion(self) -> float:
        """Variance of how many come, relative to what comes at random."""
        return 1.0 if self.count < _SURE else min(1.0, (self.spread / _SPREAD_AT_RANDOM) ** 2)

    def weighed(self, weight: float) -> Unsteady:
        """The kind as one that comes at random, with a weight from 0 to 1."""
        count = weight * self.count
        return count, count * self.seconds, count * self.seconds**2, self.dispersion

    def next(self, seconds: float, step: float) -> Kind:
        """Return the kind with one more pause."""
        count = self.count + 1
        weight = 1 / min(count, _MEMORY)
        gap = step - self.last
        if self.count == 1:
            period, spread = gap, min(1.0, abs(gap / self.period - 1))
        else:
            share = 1 / min(self.count, _MEMORY)
            period = self.period + share * (gap - self.period)
            spread = self.spread + share * (abs(gap / self.period - 1) - self.spread)
        return Kind(self.label, count, self.seconds + weight * (seconds - self.seconds), step, period, spread)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Pauses expected before the end."""

    seconds: float = 0.0
    variance: float = 0.0
    """Of those that keep a period."""
    due: float = 0.0
    """Seconds of those that are due at the present step."""
    kinds: int = 0
    below: float = 0.0
    above: float = 0.0
    """By how much those that keep no period may come to less, and to more, in four of five runs."""


class Pauses:
    """Kinds of pauses seen so far."""

    __slots__ = ("before", "kinds", "rest", "start")

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.start = 0.0
        self.before = 0.0
        """Steps of earlier attempts."""
        self.rest = (0.0, 0.0, 0.0)
        """Pauses of kinds that had to be given up: how many, their seconds, and the squares of these."""

    def copy(self) -> Pauses:
        """Return an independent copy."""
        other = Pauses()
        other.kinds = list(self.kinds)
        other.start, other.before, other.rest = self.start, self.before, self.rest
        return other

    def end(self, step: float) -> None:
        """End an attempt at ``step``."""
        self.before += max(0.0, step - self.start)

    def begin(self, step: float) -> None:
        """Begin an attempt at ``step``. What earlier attempts taught stays."""
        self.start = step
        self.kinds = [
            replace(kind, last=kind.last - math.ceil((kind.last - step) / kind.period) * kind.period)
            if kind.last > step
            else kind
            for kind in self.kinds
            if kind.count > 1
        ]

    def add(self, step: float, seconds: float, label: str | None) -> None:
        """Take in a pause of ``seconds`` that came after ``step``."""
        best: int | None = None
        nearest = _LIKE
        for index, kind in enumerate(self.kinds):
            distance = abs(math.log(seconds / kind.seconds))
            if kind.label == label and distance < nearest and step > kind.last:
                best, nearest = index, distance
        if best is not None:
            self.kinds[best] = self.kinds[best].next(seconds, step)
            return
        if len(self.kinds) >= _KINDS:
            weakest = min(range(_KINDS), key=lambda i: (self.kinds[i].count, self.kinds[i].last))
            lost = self.kinds.pop(weakest)
            count, length, square = self.rest
            self.rest = (count + lost.count, length + lost.count * lost.seconds, square + lost.count * lost.seconds**2)
        self.kinds.append(Kind(label, 1, seconds, step, max(step - self.start, 1e-9)))

    def ahead(self, step: float, total: float, pace: float) -> Ahead:
        """Return what is to come between ``step`` and ``total``, at ``pace`` seconds per step of training proper."""
        seconds = variance = due = 0.0
        kinds = 0
        seen = max(step - self.start, 1e-9)
        times = (total - step) / (seen + self.before)
        unsteady: list[Unsteady] = [(*self.rest, 1.0)]
        for kind in self.kinds:
            n, doubt = _still_to_come(kind, step, total, pace)
            if n is None:
                unsteady.append(kind.weighed(1 / (1 + (kind.seconds / (seen * pace)) ** 2)))
                continue
            chance = _CHANCE * _NEXT_CHANCE ** (kind.count - 1)
            unsteady.append(kind.weighed(chance))
            n *= 1 - chance
            kinds += 1
            seconds += n * kind.seconds
            variance += (doubt * kind.seconds) ** 2
            if kind.last + kind.period <= step + 0.05 * kind.period:
                due += kind.seconds
        few, usual, many = _at_random(unsteady, times)
        return Ahead(seconds + usual, variance, due, kinds, usual - few, many - usual)

    def dump(self) -> list[Any]:
        """Return the state as JSON values."""
        return [
            self.start,
            self.before,
            list(self.rest),
            [[k.label, k.count, k.seconds, k.last, k.period, k.spread] for k in self.kinds],
        ]

    def load(self, state: list[Any]) -> None:
        """Take over what :meth:`dump` returned."""
        self.start, self.before, rest, kinds = state
        self.rest = (rest[0], rest[1], rest[2])
        self.kinds = [Kind(*values) for values in kinds]


def _at_random(kinds: Sequence[Unsteady], times: float) -> tuple[float, float, float]:
    """Seconds of unsteady pauses in a stretch ``times`` as long as that in which they were seen: 10 %, 50 % and 90 % quantile.

    The number to come has a rate that is itself uncertain. The median of the sum is that of a log-normal of its mean and
    variance; that of the normal, the mean, is too much for what is skewed.
    """
    number = expected = variance = 0.0
    for count, length, square, dispersion in kinds:
        if count <= 0:
            continue
        n = times * count
        number += n
        expected += n * length / count
        variance += (n + n * n / count) * dispersion * square / count
    if expected <= 0:
        return 0.0, 0.0, 0.0
    usual = expected / math.sqrt(1 + variance / expected**2)
    doubt = Z80 * math.sqrt(variance) * min(1.0, -math.expm1(-number) / TAIL)
    return max(0.0, min(usual, expected - doubt)), usual, expected + doubt


def _still_to_come(kind: Kind, step: float, total: float, pace: float) -> tuple[float | None, float]:
    """How many pauses of a kind come between ``step`` and ``total``, and by how many that may be wrong.

    None: it keeps no period.
    """
    since = step - kind.last
    if kind.count == 1:
        if kind.seconds >= kind.period * pace or since >= 1.3 * kind.period:
            return None, 0.0
        n = math.floor((total - kind.last) / kind.period + 0.1)
        return float(n), 0.5 * n
    if since > 3 * kind.period or kind.spread >= _REGULAR or since >= 1.3 * kind.period:
        return None, 0.0
    n = math.floor((total - kind.last) / kind.period + 0.1)
    return float(max(0, n)), 0.5
