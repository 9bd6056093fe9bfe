"""Thinning a series loses no extreme, no sample and no bad one, whatever the numbers."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import InvalidError
from headway.protocol.report import Cell, Point
from headway.store.columns import LARGEST, Columns, gather
from headway.store.tiers import FANOUT, assemble, summarise, width, within

values = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    count = draw(st.integers(1, 50))
    return Cell(draw(values), count, 0.0, draw(st.integers(0, count)))


points = st.lists(st.tuples(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6), cells()), min_size=1, max_size=300).map(
    lambda rows: tuple(Point(step, t, {"loss": cell}) for step, t, cell in rows)
)


def loss(of: tuple[Point, ...]) -> Columns:
    return gather(of)["loss"]


def facts(columns: Columns) -> tuple[float | None, float | None, int, int]:
    """What must survive: lowest, highest, samples, bad samples."""
    shown = [i for i in range(len(columns)) if not math.isnan(columns.means[i])]
    return (
        min((columns.lows[i] for i in shown), default=None),
        max((columns.highs[i] for i in shown), default=None),
        sum(columns.counts),
        sum(columns.bads),
    )


@settings(deadline=None)
@given(points, st.integers(1, 40))
def test_a_series_keeps_extremes_order_and_counts(of: tuple[Point, ...], limit: int) -> None:
    raw = loss(of)
    series = assemble("loss", "a-1", [(raw, 1)], limit)
    assert series is not None
    assert len(series.points) <= limit or len(series.points) == len(raw) <= limit
    thinned = Columns()
    for point in series.points:
        thinned.append(point.step, 0, *point[2:])
        assert math.isnan(point.mean) == (point.n == point.bad)
        assert math.isnan(point.mean) or point.low <= point.mean <= point.high
    assert facts(thinned) == facts(raw)
    places = [(point.step, point.t) for point in series.points]
    assert places == sorted(places)
    assert places[-1] == max(zip(raw.steps, (time / 1000 for time in raw.times), strict=True))
    assert series.tier * len(series.points) >= len(raw)


@settings(deadline=None)
@given(points, st.lists(st.integers(0, 300)), st.integers(1, 40))
def test_pieces_of_any_tier_make_the_same_series(of: tuple[Point, ...], cuts: list[int], limit: int) -> None:
    raw = loss(tuple(sorted(of, key=lambda point: (point.step, round(point.t * 1000)))))
    edges = sorted({0, len(raw), *(cut // FANOUT * FANOUT for cut in cuts if cut < len(raw))})
    pieces = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        piece = raw.slice(start, stop)
        if number % 2 or (stop - start) % FANOUT:
            pieces.append((piece, 1))
        else:
            pieces.append((summarise(piece), FANOUT))
    series = assemble("loss", "a-1", pieces, limit)
    assert series is not None
    assert len(series.points) <= limit
    assert sum(point.n for point in series.points) == sum(raw.counts)
    assert sum(point.bad for point in series.points) == sum(raw.bads)
    shown = [point for point in series.points if not math.isnan(point.mean)]
    lowest, highest, *_ = facts(raw)
    assert min((point.low for point in shown), default=None) == lowest
    assert max((point.high for point in shown), default=None) == highest


@settings(deadline=None)
@given(points)
def test_a_tier_stands_for_the_full_groups_below_it(of: tuple[Point, ...]) -> None:
    raw = loss(of)
    above = summarise(raw)
    assert len(above) == len(raw) // FANOUT
    assert facts(above) == facts(raw.slice(0, len(above) * FANOUT))
    assert list(above.steps) == list(raw.steps)[FANOUT - 1 :: FANOUT]
    rest = summarise(raw, FANOUT)
    assert len(rest) == max(0, len(raw) // FANOUT - 1)


@settings(deadline=None)
@given(points, st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_between_two_steps(of: tuple[Point, ...], first: int, last: int) -> None:
    raw = loss(of)
    assert list(within(raw, first, last).steps) == [step for step in raw.steps if first <= step <= last]
    assert list(within(raw, first, None).steps) == [step for step in raw.steps if first <= step]
    assert list(within(raw, None, last).steps) == [step for step in raw.steps if step <= last]


def test_the_mean_is_weighted_by_good_samples() -> None:
    of = (
        Point(1, 0.1, {"loss": Cell(1.0, 10, 0.0, 4)}),
        Point(2, 0.2, {"loss": Cell(3.0, 2, 0.0)}),
        Point(3, 0.3, {"loss": Cell(math.inf, 5, 0.0)}),
    )
    series = assemble("loss", "a-1", [(loss(of), 1)], 1)
    assert series is not None
    assert series.points == ((3, 0.3, 1.5, 1.0, 3.0, 17, 9),)
    assert series.tier == 3


def test_the_largest_doubles_have_a_mean() -> None:
    big = 1.7e308
    series = assemble("loss", "a-1", [(loss(tuple(Point(i, i, {"loss": Cell(big)}) for i in range(8))), 1)], 1)
    assert series is not None
    assert series.points[0].mean == pytest.approx(big)


def test_nothing_makes_no_series() -> None:
    assert assemble("loss", "a-1", [], 10) is None
    assert assemble("loss", "a-1", [(Columns(), 1)], 10) is None


def test_widths() -> None:
    assert [width(tier) for tier in range(5)] == [1, 8, 64, 512, 4096]


@pytest.mark.parametrize(
    "point",
    [
        Point(LARGEST, 1.0, {"loss": Cell(1.0)}),
        Point(1, 1e300, {"loss": Cell(1.0)}),
        Point(1, math.nan, {"loss": Cell(1.0)}),
        Point(1, 1.0, {"loss": Cell(1.0, 2**41)}),
    ],
)
def test_what_cannot_be_kept_is_refused(point: Point) -> None:
    with pytest.raises(InvalidError):
        gather([point])
