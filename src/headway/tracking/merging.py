"""Many points in place of which insight reads a few: neighbours become one, with mean, count and second moment of all.

Whoever reports several points at a time may report more than there is time to judge. A mean over more steps is what a reporter
with a longer interval would have sent, so nothing that insight does rests on how dense the points are.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import mul
from typing import Final

from headway.insight.metrics import EPOCH_NAMES, Role, role_of
from headway.protocol.points import Column, Points
from headway.protocol.report import Cell, Point

MOST_UNREAD: Final = 1024
"""Points of one job that wait to be read; of more, neighbours are merged."""


class Unread:
    """Points that insight has still to read, in order."""

    __slots__ = ("_count", "_parts")

    def __init__(self) -> None:
        self._parts: list[Points] = []
        self._count = 0

    def add(self, points: Points) -> None:
        """Adds the points of a report."""
        self._parts.append(points)
        self._count += len(points)
        if self._count > MOST_UNREAD:
            self._parts = [Points.of(merged(self._parts, MOST_UNREAD // 8))]
            self._count = len(self._parts[0])

    def take(self, most: int) -> list[Point]:
        """What has been added since the last time, in at most so many points."""
        parts, self._parts, self._count = self._parts, [], 0
        return merged(parts, most)


def merged(parts: Sequence[Points], most: int) -> list[Point]:
    """At most ``most`` points that stand for all of ``parts``, in order: each at the place of the last that it stands for."""
    count = sum(map(len, parts))
    if count <= most:
        return [point for part in parts for point in part]
    size = -(-count // most)
    starts = range(0, count, size)
    steps = [step for part in parts for step in part.steps]
    times = [t for part in parts for t in part.times]
    points = [Point(steps[at], times[at], {}) for at in (min(start + size, count) - 1 for start in starts)]
    for name, column in _joined(parts).items():
        newest = name in EPOCH_NAMES or role_of(name) is Role.LEARNING_RATE  # tells where the run is
        means, counts, squares, bads, places = column
        for point, start in zip(points, starts, strict=True):
            first, last = start, min(start + size, count)
            if places is not None:
                first, last = bisect_left(places, first), bisect_left(places, last)
            if newest and first < last:
                first = last - 1
            if first < last:
                part = slice(first, last)
                point.metrics[name] = pooled(means[part], counts[part], squares[part], bads[part])
    return points


def _joined(parts: Sequence[Points]) -> dict[str, Column]:
    """The columns of all parts, one after the other."""
    first = parts[0].columns
    if all(part.columns.keys() == first.keys() for part in parts) and not any(
        column.places for part in parts for column in part.columns.values()
    ):
        return {name: _chained(part.columns[name] for part in parts) for name in first}
    found: dict[str, list[Column]] = {}
    begin = 0
    for part in parts:
        for name, column in part.columns.items():
            places = range(len(part)) if column.places is None else column.places
            found.setdefault(name, []).append(column._replace(places=tuple(place + begin for place in places)))
        begin += len(part)
    return {name: _chained(columns, sparse=True) for name, columns in found.items()}


def _chained(columns: Iterable[Column], *, sparse: bool = False) -> Column:
    means, counts, squares, bads, places = zip(*columns, strict=True)
    flat = chain.from_iterable
    return Column(
        tuple(flat(means)),
        tuple(flat(counts)),
        tuple(flat(squares)),
        tuple(flat(bads)),
        tuple(flat(places)) if sparse else None,
    )


def pooled(means: Sequence[float], counts: Sequence[int], squares: Sequence[float], bads: Sequence[int]) -> Cell:
    """The cell of all samples behind some cells, given column by column (after Chan, Golub and LeVeque, 1983)."""
    n = good = sum(counts)
    total = sum(map(mul, means, counts))
    if any(bads) or not -math.inf < total < math.inf:
        cells = zip(means, counts, squares, bads, strict=True)
        finite = [(mean, count - bad, m2) for mean, count, m2, bad in cells if math.isfinite(mean) and bad < count]
        if not finite:
            return Cell(means[-1] if not math.isfinite(means[-1]) else math.nan, n, 0.0, n)
        means, counts, squares = zip(*finite, strict=True)
        good = sum(counts)
        total = sum(map(mul, means, counts))
    low, high = min(means), max(means)
    if low == high:  # to the bit: a metric that repeats itself must be seen to
        return Cell(low, n, sum(squares), n - good)
    mean = min(max(total / good, low), high)
    away = [each - mean for each in means]
    return Cell(mean, n, sum(squares) + sum(map(mul, counts, map(mul, away, away))), n - good)
