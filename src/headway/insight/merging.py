"""Many points in place of which insight reads a few: neighbours become one, with mean, count and second moment of all.

Whoever reports several points at a time may report more than there is time to judge. A mean over more steps is what a reporter
with a longer interval would have sent, so nothing that insight does rests on how dense the points are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from operator import mul

from headway.insight.metrics import EPOCH_NAMES, Role, role_of
from headway.protocol.report import Cell, Point


def merged(points: Sequence[Point], most: int) -> list[Point]:
    """At most ``most`` points that stand for ``points``, which are in order: each at the place of the last that it stands for."""
    if len(points) <= most:
        return list(points)
    size = -(-len(points) // most)
    return [_one(points[at : at + size]) for at in range(0, len(points), size)]


def _one(points: Sequence[Point]) -> Point:
    step, t, newest = points[-1]
    metrics = {}
    for name in dict.fromkeys(chain.from_iterable([point[2] for point in points])):
        if name in EPOCH_NAMES or role_of(name) is Role.LEARNING_RATE:  # tells where the run is: the newest word counts
            metrics[name] = newest.get(name) or next(point[2][name] for point in reversed(points) if name in point[2])
        else:
            metrics[name] = pooled([point[2][name] for point in points if name in point[2]])
    return Point(step, t, metrics)


def pooled(cells: Sequence[Cell]) -> Cell:
    """The cell of all samples behind ``cells`` (after Chan, Golub and LeVeque, 1983)."""
    means, counts, squares, bads = zip(*cells, strict=True)
    n = good = sum(counts)
    total = sum(map(mul, means, counts))
    if any(bads) or not -math.inf < total < math.inf:
        finite = [cell for cell in cells if math.isfinite(cell.mean) and cell.bad < cell.n]
        if not finite:
            return Cell(cells[-1].mean if not math.isfinite(cells[-1].mean) else math.nan, n, 0.0, n)
        means, counts, squares = zip(*[(cell.mean, cell.n - cell.bad, cell.m2) for cell in finite], strict=True)
        good = sum(counts)
        total = sum(map(mul, means, counts))
    low, high = min(means), max(means)
    if low == high:  # to the bit: a metric that repeats itself must be seen to
        return Cell(low, n, sum(squares), n - good)
    mean = min(max(total / good, low), high)
    away = [each - mean for each in means]
    return Cell(mean, n, sum(squares) + sum(map(mul, counts, map(mul, away, away))), n - good)
