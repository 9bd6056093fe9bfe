"""One metric's history as columns of numbers: what every store keeps, merges and answers with.

Columns, not tuples: a hundred thousand points are seven arrays, which the garbage collector never walks, and which are written
and read as they are. Time is kept in whole milliseconds, which is how it travels.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Final, NamedTuple

from headway.errors import InvalidError
from headway.protocol.history import SeriesPoint
from headway.protocol.points import Column, Points
from headway.protocol.report import Point
from headway.store.names import check_names


def _integers() -> array[int]:
    return array("q")


def _doubles() -> array[float]:
    return array("d")


@dataclass(slots=True)
class Columns:
    """Points of one metric, column by column; all seven are of one length.

    Of a raw point, ``lows`` and ``highs`` are its mean; of a merged one, the extremes of the means merged. Where no sample was
    finite all three are NaN, and ``bads`` equals ``counts``.
    """

    steps: array[int] = field(default_factory=_integers)
    times: array[int] = field(default_factory=_integers)
    """Milliseconds since the attempt began."""
    means: array[float] = field(default_factory=_doubles)
    lows: array[float] = field(default_factory=_doubles)
    highs: array[float] = field(default_factory=_doubles)
    counts: array[int] = field(default_factory=_integers)
    """Samples behind each point."""
    bads: array[int] = field(default_factory=_integers)
    """How many of those were not finite."""

    def __len__(self) -> int:
        return len(self.steps)

    @classmethod
    def raw(
        cls, steps: array[int], times: array[int], means: array[float], counts: array[int], bads: array[int]
    ) -> Columns:
        """Raw points, whose lows and highs *are* the means: for reading only, since the three share one array."""
        return cls(steps, times, means, means, means, counts, bads)

    def is_raw(self) -> bool:
        """Whether every low and high is the point's own mean, to the bit."""
        if self.lows is self.means and self.highs is self.means:
            return True
        means = self.means.tobytes()
        return self.lows.tobytes() == means and self.highs.tobytes() == means

    def append(  # noqa: PLR0917 - one value a column, and called once a point
        self, step: int, time: int, mean: float, low: float, high: float, count: int, bad: int
    ) -> None:
        """Adds one point."""
        self.steps.append(step)
        self.times.append(time)
        self.means.append(mean)
        self.lows.append(low)
        self.highs.append(high)
        self.counts.append(count)
        self.bads.append(bad)

    def extend(self, other: Columns) -> None:
        """Adds all points of ``other``."""
        self.steps.extend(other.steps)
        self.times.extend(other.times)
        self.means.extend(other.means)
        self.lows.extend(other.lows)
        self.highs.extend(other.highs)
        self.counts.extend(other.counts)
        self.bads.extend(other.bads)

    def slice(self, start: int, stop: int) -> Columns:
        """A copy of the points from ``start`` up to ``stop``."""
        cut = slice(start, stop)
        return Columns(
            self.steps[cut],
            self.times[cut],
            self.means[cut],
            self.lows[cut],
            self.highs[cut],
            self.counts[cut],
            self.bads[cut],
        )

    def take(self, order: Sequence[int]) -> Columns:
        """A copy of the points at the positions ``order``, in that order."""
        return Columns(
            array("q", [self.steps[i] for i in order]),
            array("q", [self.times[i] for i in order]),
            array("d", [self.means[i] for i in order]),
            array("d", [self.lows[i] for i in order]),
            array("d", [self.highs[i] for i in order]),
            array("q", [self.counts[i] for i in order]),
            array("q", [self.bads[i] for i in order]),
        )

    def append_merged(self, source: Columns, start: int, stop: int) -> None:
        """Adds one point that stands for the points of ``source`` from ``start`` up to ``stop``, at the place of the last."""
        counts, means = source.counts[start:stop], source.means[start:stop]
        count, bad = sum(counts), sum(source.bads[start:stop])
        lows, highs = source.lows[start:stop], source.highs[start:stop]
        if bad:
            good = [i for i in range(stop - start) if means[i] == means[i]]
            counts = array("q", [counts[i] - source.bads[start + i] for i in good])
            means = array("d", [means[i] for i in good])
            lows, highs = array("d", [lows[i] for i in good]), array("d", [highs[i] for i in good])
        if means:
            low, high = min(lows), max(highs)
            mean = sum(map(mul, means, counts)) / (count - bad)
            if not math.isfinite(mean):  # the sum went over the largest double; the mean does not
                mean = sum(each * (weight / (count - bad)) for each, weight in zip(means, counts, strict=True))
            mean = min(max(mean, low), high)
        else:
            mean = low = high = math.nan
        self.append(source.steps[stop - 1], source.times[stop - 1], mean, low, high, count, bad)

    def points(self) -> tuple[SeriesPoint, ...]:
        """The points as they are answered."""
        times = [time / 1000 for time in self.times]
        return tuple(
            map(SeriesPoint, self.steps, times, self.means, self.lows, self.highs, self.counts, self.bads),
        )


LARGEST: Final = 2**62
"""Steps and milliseconds lie below this, so that their differences fit into 64 bits."""

MOST_SAMPLES: Final = 2**40
"""Most samples behind one raw point, so that sums over millions of points fit into 64 bits."""


class Metric(NamedTuple):
    """What is kept of one metric of a report; as :class:`~headway.protocol.points.Column`."""

    name: str
    means: Sequence[float]
    counts: Sequence[int] | None
    """None: one sample each."""
    bads: Sequence[int] | None
    """None: all samples are finite."""
    places: Sequence[int] | None


def checked(points: Sequence[Point]) -> tuple[Sequence[int], Sequence[int], list[Metric]]:
    """Steps, times in milliseconds and metrics of raw points, as they are kept.

    Raises:
        InvalidError: a number is too large to be kept, a time is not finite, or a metric's name is no text.
    """
    points = Points.of(points)
    try:
        steps, times = points.steps, [round(seconds * 1000) for seconds in points.times]
        check_names(*points.columns)
        _check_range(steps, points.ordered)
        _check_range(times, points.ordered)
        return steps, times, [_metric(name, column) for name, column in points.columns.items()]
    except (OverflowError, ValueError, TypeError) as error:
        raise InvalidError(f"a point cannot be kept: {error}", field="headway.points") from error


def gather(points: Sequence[Point]) -> dict[str, Columns]:
    """Raw points, sorted into columns by metric; for reading only, since metrics of the same points share their places.

    Raises:
        InvalidError: as :func:`checked`.
    """
    some_steps, some_times, metrics = checked(points)
    steps, times = array("q", some_steps), array("q", some_times)
    result = {}
    for name, means, counts, bads, places in metrics:
        mine = (steps, times) if places is None else (_pick(steps, places), _pick(times, places))
        ones, none = array("q", counts or (1,) * len(means)), array("q", bads or bytes(8 * len(means)))
        result[name] = Columns.raw(*mine, array("d", means), ones, none)
    return result


def _check_range(values: Sequence[int], ordered: bool) -> None:
    if not values:
        return
    low, high = (values[0], values[-1]) if ordered else (min(values), max(values))
    if not -LARGEST < low <= high < LARGEST:
        raise OverflowError(f"a step or time (in ms) out of {low} to {high} is too large")


def _pick(values: array[int], places: Iterable[int]) -> array[int]:
    return array("q", [values[place] for place in places])


def _metric(name: str, column: Column) -> Metric:
    means, counts, _, bads, places = column
    most = max(counts)
    if most > MOST_SAMPLES:
        raise OverflowError(f"{most} samples in one point are too many")
    some = counts if most > 1 else None
    if not any(bads) and math.isfinite(sum(means)):
        return Metric(name, means, some, None, places)
    # whatever the mean of such a point was, no finite sample stands behind it
    good = [bad < count and math.isfinite(mean) for mean, count, bad in zip(means, counts, bads, strict=True)]
    means = tuple(mean if fine else math.nan for mean, fine in zip(means, good, strict=True))
    bads = tuple(bad if fine else count for bad, count, fine in zip(bads, counts, good, strict=True))
    return Metric(name, means, some, bads if any(bads) else None, places)
