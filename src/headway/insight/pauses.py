"""Pauses of training for something else (evaluation, checkpoint, end of an epoch): an amount of time per so many steps.

Feeds :mod:`headway.insight.eta`. Pauses of about the same length make one kind; each kind learns its length and its
period, so that the ones still to come can be counted rather than smeared over the steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

_KINDS: Final = 6
_LIKE: Final = math.log(1.6)
_MEMORY: Final = 8
_REGULAR: Final = 0.2
_STRAYS: Final = 3
"""Pauses that never came again, from which on more of them are expected; the longest is left out as a mishap."""


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
    due: float = 0.0
    """Seconds of those that are due at the present step."""
    kinds: int = 0


class Pauses:
    """Kinds of pauses seen so far."""

    __slots__ = ("kinds", "start")

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.start = 0.0

    def copy(self) -> Pauses:
        """Return an independent copy."""
        other = Pauses()
        other.kinds = list(self.kinds)
        other.start = self.start
        return other

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
            del self.kinds[weakest]
        self.kinds.append(Kind(label, 1, seconds, step, max(step - self.start, 1e-9)))

    def ahead(self, step: float, total: float, pace: float) -> Ahead:
        """Return what is to come between ``step`` and ``total``, at ``pace`` seconds per step of training proper."""
        seconds = variance = due = 0.0
        kinds = 0
        strays = []
        for kind in self.kinds:
            n, doubt = _still_to_come(kind, step, total, pace)
            if n <= 0:
                strays.append(kind.seconds)
                continue
            kinds += 1
            seconds += n * kind.seconds
            variance += (doubt * kind.seconds) ** 2
            if kind.last + kind.period <= step + 0.05 * kind.period:
                due += kind.seconds
        if len(strays) >= _STRAYS and step > self.start:
            n = (total - step) * len(strays) / (step - self.start)
            largest = max(strays)
            usual = (sum(strays) - largest) / (len(strays) - 1)
            seconds += n * usual
            variance += (n + n * n / len(strays)) * usual**2 + min(1.0, n) * (largest / 2) ** 2
        elif len(strays) > 1 and step > self.start:
            variance += min(1.0, (total - step) / (step - self.start)) * (min(strays) / 2) ** 2
        return Ahead(seconds, variance, due, kinds)

    def dump(self) -> list[Any]:
        """Return the state as JSON values."""
        return [self.start, [[k.label, k.count, k.seconds, k.last, k.period, k.spread] for k in self.kinds]]

    def load(self, state: list[Any]) -> None:
        """Take over what :meth:`dump` returned."""
        self.start = state[0]
        self.kinds = [Kind(*values) for values in state[1]]


def _still_to_come(kind: Kind, step: float, total: float, pace: float) -> tuple[float, float]:
    """How many pauses of a kind come between ``step`` and ``total``, and by how many that may be wrong."""
    since = step - kind.last
    if kind.count == 1:
        plausible = kind.seconds < kind.period * pace and since < 1.3 * kind.period
        if not plausible:
            return 0.0, 0.5
        n = math.floor((total - kind.last) / kind.period + 0.1)
        return float(n), 0.5 * n
    if since > 3 * kind.period:
        return 0.0, 1.0
    if kind.spread < _REGULAR and since < 1.3 * kind.period:
        n = math.floor((total - kind.last) / kind.period + 0.1)
        return float(max(0, n)), 0.5
    n_rate = (total - step) / max(kind.period, since)
    return n_rate, math.sqrt(n_rate + n_rate**2 / kind.count) + 0.5
