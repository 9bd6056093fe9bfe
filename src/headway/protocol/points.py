"""A report's points, column by column: what folds, keeps and judges them works on whole columns.

A report of ten points of three metrics is forty objects point by point, and four columns a metric so: numbers of one kind in one
tuple, which the interpreter sums, compares and packs without a step of bytecode for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple, TypeAlias, TypeVar, overload

from headway.protocol.report import Cell, Point

T = TypeVar("T")


class Column(NamedTuple):
    """The cells of one metric; see :class:`~headway.protocol.report.Cell`. All tuples are of one length."""

    means: tuple[float, ...]
    counts: tuple[int, ...]
    squares: tuple[float, ...]
    bads: tuple[int, ...]
    places: tuple[int, ...] | None = None
    """Which points have the metric, by their position, ascending; None: all of them."""

    @classmethod
    def of(cls, cells: Iterable[tuple[float, int, float, int]], places: tuple[int, ...] | None) -> Column:
        """The column of cells, of which there is at least one."""
        means, counts, squares, bads = zip(*cells, strict=True)
        return cls(means, counts, squares, bads, places)


class Points(Sequence[Point]):
    """Points, each a :class:`~headway.protocol.report.Point` where one is asked for. Never changed once made."""

    __slots__ = ("columns", "ordered", "steps", "times")

    def __init__(self, steps: tuple[int, ...], times: tuple[float, ...], columns: dict[str, Column]) -> None:
        self.steps = steps
        self.times = times
        self.columns = columns
        """By metric, in the order in which they first appear."""
        self.ordered = tuple(sorted(steps)) == steps and tuple(sorted(times)) == times and math.isfinite(sum(times))
        """Whether neither steps nor times ever fall: what nearly every report holds."""

    @classmethod
    def of(cls, points: Iterable[Point]) -> Points:
        """The columns of points."""
        if isinstance(points, Points):
            return points
        points = tuple(points)
        if not points:
            return NO_POINTS
        steps, times, metrics = zip(*points, strict=True)
        columns = {name: Column.of(cells, places) for name, cells, places in by_metric(metrics)}
        return cls(steps, times, columns)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Point, ...]: ...
    def __getitem__(self, index: int | slice) -> Point | tuple[Point, ...]:
        return tuple(self)[index]

    def __iter__(self) -> Iterator[Point]:
        points = [Point(step, t, {}) for step, t in zip(self.steps, self.times, strict=True)]
        for name, column in self.columns.items():
            having = points if column.places is None else [points[place] for place in column.places]
            for point, cell in zip(having, zip(*column[:4], strict=True), strict=True):
                point.metrics[name] = Cell(*cell)
        return iter(points)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


NO_POINTS = Points((), (), {})


Places: TypeAlias = tuple[int, ...] | None


def by_metric(metrics: Sequence[dict[str, T]]) -> list[tuple[str, tuple[T, ...], Places]]:
    """Of the metrics of each point: name by name the values, and which points have them (None: all)."""
    names = metrics[0]
    try:
        found: list[tuple[str, tuple[T, ...], Places]] = [
            (name, tuple(map(itemgetter(name), metrics)), None) for name in names
        ]
    except KeyError:
        return _by_some(metrics)
    return found if sum(map(len, metrics)) == len(names) * len(metrics) else _by_some(metrics)


def _by_some(metrics: Sequence[dict[str, T]]) -> list[tuple[str, tuple[T, ...], Places]]:
    found = []
    for name in dict.fromkeys(chain.from_iterable(metrics)):
        places = tuple([place for place, having in enumerate(metrics) if name in having])
        values = tuple([metrics[place][name] for place in places])
        found.append((name, values, places if len(places) < len(metrics) else None))
    return found
