"""The pace of a run, in seconds per step: how it has been since it last changed, and how much it varies.

Feeds :mod:`headway.insight.eta`. What is kept are the newest intervals as they came, and before them sums over ever longer
stretches, so that memory grows with the logarithm of the run's length. The present pace is the mean over the longest stretch
up to now in which no change of pace can be shown: few intervals after a change, all of them in a steady run.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, stdev
from typing import Any, Final, NamedTuple

RING: Final = 16
"""Newest intervals kept as they came."""
LEAF: Final = 4
"""Intervals in the shortest stretch."""
_PER_LEVEL: Final = 6
_Z: Final = 4.0
_Z_WITHIN: Final = 3.0
_LEAST_CHANGE: Final = 0.01
_PRIOR_LEAVES: Final = 3.0
_PRIOR_SD: Final = 0.04
_FLOOR_SD: Final = 0.002
_LEAST_LEAVES: Final = 2
_CHANGES: Final = 8
_PARTS: Final = 8
_LEAST_PARTS: Final = 4
_TREND_PARTS: Final = 5
_AGREEMENT: Final = 3.0
_MEDIAN_OF_SQUARE: Final = 0.455
"""Median of the square of a standard normal."""
_SHORT: Final = 1.5


class Interval(NamedTuple):
    """What passed between two observations: steps, seconds of training proper, and whether a pause was taken out."""

    steps: float
    seconds: float

    @property
    def pace(self) -> float:
        """Seconds per step."""
        return self.seconds / self.steps


Stretch = tuple[float, float, float, float, float, float]
"""Sums over leaves: how many leaves, steps, seconds, pace, squared pace, relative variance of the mean of a leaf as its
own intervals show it."""
_SUMS: Final = 6
"""Numbers in a stretch."""
_NOTHING: Final[Stretch] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Change(NamedTuple):
    """A change of pace."""

    ratio: float
    """Log of the pace after it relative to that before it."""
    steps: float
    """How long the pace before it had held."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The present pace, and what it rests on."""

    seconds_per_step: float
    steps: float
    """Length of the stretch it is the mean of."""
    leaves: float
    sd: float
    """Relative standard deviation of the mean over :data:`LEAF` intervals."""
    whole: float
    """Mean over all that was seen of this attempt."""
    whole_steps: float
    changes: tuple[Change, ...]
    """The changes of pace that can be shown, newest first."""
    wander: float
    """Variance by which the log of the pace wanders per step, beyond what noise explains."""
    trend: float
    """By how much the log of the pace grows per step, where it has done so all along; else 0."""


def stretch(intervals: Sequence[Interval]) -> Stretch:
    """Sum up to :data:`LEAF` intervals; fewer count as a part of a leaf."""
    steps = sum(i.steps for i in intervals)
    seconds = sum(i.seconds for i in intervals)
    share = len(intervals) / LEAF
    pace = seconds / steps
    noise = 0.0
    if len(intervals) > 1 and pace > 0:
        spread = sum((i.seconds / i.steps / pace - 1) ** 2 for i in intervals)
        noise = share * spread / (len(intervals) - 1) / LEAF
    return share, steps, seconds, share * pace, share * pace * pace, noise


def _join(a: Stretch, b: Stretch) -> Stretch:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


class PaceHistory:
    """Sums over stretches, the older the longer: at most a few of each length."""

    __slots__ = ("_leaf", "_levels")

    def __init__(self) -> None:
        self._leaf: list[Interval] = []
        self._levels: list[array[float]] = []
        """The stretches of each length, their sums one after the other, oldest first."""

    def clear(self) -> None:
        """Forget everything."""
        self._leaf.clear()
        self._levels.clear()

    def add(self, interval: Interval) -> None:
        """Take in the next interval."""
        self._leaf.append(interval)
        if len(self._leaf) < LEAF:
            return
        item = stretch(self._leaf)
        self._leaf.clear()
        for level in self._levels:
            level.extend(item)
            if len(level) <= _PER_LEVEL * _SUMS:
                return
            oldest, next_oldest = _stretches(level[: 2 * _SUMS])
            del level[: 2 * _SUMS]
            item = _join(oldest, next_oldest)
        self._levels.append(array("d", item))

    def newest_first(self, recent: Sequence[Interval]) -> list[Stretch]:
        """Return all stretches, with ``recent`` intervals (oldest first) as the newest."""
        tail = [*self._leaf, *recent]
        out = [stretch(tail[max(0, end - LEAF) : end]) for end in range(len(tail), 0, -LEAF)]
        for level in self._levels:
            out.extend(reversed(_stretches(level)))
        return out

    def dump(self) -> list[Any]:
        """Return the state as JSON values."""
        return [[[i.steps, i.seconds] for i in self._leaf], [list(level) for level in self._levels]]

    def load(self, state: Sequence[Any]) -> None:
        """Take over what :meth:`dump` returned."""
        self._leaf = [Interval(*pair) for pair in state[0]]
        self._levels = [array("d", level) for level in state[1]]


def _stretches(sums: Sequence[float]) -> list[Stretch]:
    numbers = iter(sums)
    return list(zip(numbers, numbers, numbers, numbers, numbers, numbers, strict=True))


def present(stretches: Sequence[Stretch], *, z: float = _Z) -> Pace:
    """Return the pace over the longest stretch up to now without a change. ``stretches``: newest first, not empty."""
    whole = _total(stretches)
    noise = whole[5] / whole[0]
    changes: list[Change] = []
    first = len(stretches)
    begin = 0
    found = _newest_change(stretches, z, noise)
    while found is not None and len(changes) < _CHANGES:
        begin += found[0]
        older = _newest_change(stretches[begin:], z, noise)
        until = len(stretches) if older is None else begin + older[0]
        changes.append(Change(found[1], sum(item[1] for item in stretches[begin:until])))
        if len(changes) == 1:
            first = begin
            while (found := _newest_change(stretches[:first], _Z_WITHIN, noise)) is not None:
                first = found[0]
        found = older
    current = _total(stretches[:first])
    wander, trend = _course(stretches, whole, noise)
    return Pace(
        seconds_per_step=current[2] / current[1],
        steps=current[1],
        leaves=current[0],
        sd=math.sqrt(max(noise, _variance(current, _NOTHING))),
        whole=whole[2] / whole[1],
        whole_steps=whole[1],
        changes=tuple(changes),
        wander=wander,
        trend=trend,
    )


def _course(stretches: Sequence[Stretch], whole: Stretch, noise: float) -> tuple[float, float]:
    """How the pace moves from one eighth of the run so far to the next: wander and trend, as in :class:`Pace`.

    Both are blind to a single change of pace, which says little of how the run will go on: the wander as a median of
    squares, the trend by asking that the moves agree.
    """
    part = max(whole[1] / _PARTS, stretches[0][1])
    parts: list[Stretch] = []
    current = _NOTHING
    for item in stretches:
        current = _join(current, item)
        if current[1] >= part:
            parts.append(current)
            current = _NOTHING
    if len(parts) < _LEAST_PARTS:
        return 0.0, 0.0
    squares, slopes = [], []
    for newer, older in pairwise(parts):
        ratio = math.log(newer[2] / newer[1] * older[1] / older[2])
        apart = (newer[1] + older[1]) / 2
        squares.append((ratio * ratio - noise * (1 / newer[0] + 1 / older[0])) / apart)
        slopes.append(ratio / apart)
    trend = fmean(slopes)
    agree = len(parts) >= _TREND_PARTS and abs(trend) > _AGREEMENT * stdev(slopes) / math.sqrt(len(slopes))
    return max(0.0, median(squares) / _MEDIAN_OF_SQUARE), trend if agree else 0.0


def _total(stretches: Iterable[Stretch]) -> Stretch:
    total = _NOTHING
    for item in stretches:
        total = _join(total, item)
    return total


def _variance(a: Stretch, b: Stretch) -> float:
    """Relative variance of the pace of a leaf, within ``a`` and within ``b``, leaning on a prior where leaves are few."""
    within = 0.0
    for item in (a, b):
        if item[0] > 1 and item[3] > 0:
            mean = item[3] / item[0]
            within += max(0.0, item[4] / item[0] / (mean * mean) - 1.0) * item[0]
    freedom = max(0.0, a[0] - 1) + max(0.0, b[0] - 1)
    return max(_FLOOR_SD**2, (within + _PRIOR_LEAVES * _PRIOR_SD**2) / (freedom + _PRIOR_LEAVES))


def _newest_change(stretches: Sequence[Stretch], z: float, noise: float) -> tuple[int, float] | None:
    """Find the newest split whose two sides differ: (how many stretches are newer, log ratio newer to older).

    At each split the newer side is compared with as long an older side, which shows small changes, and with a short one,
    which shows large changes that did not last. Of neighbouring splits that differ the clearest one counts.
    """
    best: tuple[float, int, float] | None = None
    newer = long = _NOTHING
    end = 0
    for split in range(1, len(stretches)):
        moved = stretches[split - 1]
        newer = _join(newer, moved)
        long = _part(long, moved) if end >= split else _NOTHING
        end = max(end, split)
        while end < len(stretches) and (long[0] < newer[0] or end == split):
            long = _join(long, stretches[end])
            end += 1
        if newer[0] < _LEAST_LEAVES:
            continue
        short = stretches[split]
        if short[0] < _LEAST_LEAVES and split + 1 < len(stretches):
            short = _join(short, stretches[split + 1])
        found = max(
            _compare(newer, long, noise, z, None),
            _compare(newer, short, _SHORT * noise, z, _NOTHING),
        )
        if found[0] > z:
            if best is None or found[0] > best[0]:
                best = (found[0], split, found[1])
        elif best is not None:
            break
    return None if best is None else (best[1], best[2])


def _compare(newer: Stretch, older: Stretch, noise: float, z: float, within: Stretch | None) -> tuple[float, float]:
    """Return by how many standard errors the paces differ, and the log of their ratio; (0, 0) when by less than ``z``.

    The variance is the larger of ``noise`` and what the leaves show, within both sides or within the newer one only.
    """
    if older[1] <= 0 or older[2] <= 0 or newer[2] <= 0:
        return 0.0, 0.0
    ratio = math.log(newer[2] / newer[1] * older[1] / older[2])
    share = 1 / newer[0] + 1 / older[0]
    if abs(ratio) < _LEAST_CHANGE or ratio * ratio <= z * z * noise * share:
        return 0.0, 0.0
    variance = max(noise, _variance(newer, older if within is None else within))
    return abs(ratio) / math.sqrt(variance * share), ratio


def _part(a: Stretch, b: Stretch) -> Stretch:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]
