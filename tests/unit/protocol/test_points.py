"""Columns hold what the points held, whichever metrics each of them has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.protocol.points import NO_POINTS, Points
from headway.protocol.report import Cell, Point

numbers = st.floats(allow_nan=False)
cells = st.builds(Cell, numbers, st.integers(1, 9), numbers, st.integers(0, 1))
points = st.lists(
    st.builds(Point, st.integers(), numbers, st.dictionaries(st.sampled_from(["loss", "lr", "eval_loss", ""]), cells)),
    max_size=12,
)


@given(points)
def test_points_come_back_as_they_were(some: list[Point]):
    table = Points.of(some)

    assert table == some
    assert tuple(table) == tuple(some)
    assert len(table) == len(some)
    assert bool(table) is bool(some)
    assert [table[place] for place in range(len(some))] == some
    assert table[1:] == tuple(some[1:])


@given(points)
def test_a_metric_that_every_point_has_names_no_places(some: list[Point]):
    for name, column in Points.of(some).columns.items():
        having = tuple(place for place, point in enumerate(some) if name in point.metrics)
        assert column.places == (None if len(having) == len(some) else having)
        assert len(column.means) == len(column.counts) == len(column.squares) == len(column.bads) == len(having)


def test_columns_are_not_made_twice():
    table = Points.of([Point(1, 2.0, {"loss": Cell(0.5)})])

    assert Points.of(table) is table
    assert Points.of([]) is NO_POINTS
    assert table != [Point(1, 2.0, {"loss": Cell(0.25)})]
