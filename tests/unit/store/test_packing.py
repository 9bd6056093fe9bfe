"""Points survive packing to the bit; bytes that are something else are told apart."""

from __future__ import annotations

import itertools
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.protocol.report import Cell, Point
from headway.store.columns import LARGEST, Columns, gather
from headway.store.intervals import Intervals
from headway.store.packing import DamagedError, pack_chunk, pack_row, unpack_chunk, unpack_row
from headway.store.tiers import summarise

places = st.integers(-LARGEST + 1, LARGEST - 1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    count = draw(st.integers(1, 10))
    return Cell(draw(numbers), count, 0.0, draw(st.integers(0, count - 1)))


reports = st.lists(
    st.builds(Point, places, st.floats(-1e9, 1e9), st.dictionaries(names, cells(), min_size=1, max_size=4)), max_size=20
)


@settings(deadline=None)
@given(reports)
def test_a_row_is_read_as_it_was_written(points: list[Point]) -> None:
    assert unpack_row(pack_row(points)) == gather(points)


@settings(deadline=None)
@given(reports)
def test_a_chunk_is_read_as_it_was_written_raw_and_merged(points: list[Point]) -> None:
    for columns in gather(points).values():
        assert unpack_chunk(pack_chunk(columns)) == columns
        whole = Columns()
        whole.extend(columns)
        for merged in (whole, summarise(whole)):
            if len(merged):
                assert unpack_chunk(pack_chunk(merged)) == merged


def test_a_report_of_thirty_cells_takes_seven_hundred_bytes() -> None:
    points = [Point(i, i / 10, {m: Cell(i / 7, 5, 0.1) for m in ("loss", "grad_norm", "lr")}) for i in range(10)]
    assert len(pack_row(points)) < 700


@pytest.mark.parametrize("cut", [1, 5, 9, 12, 40, -1, -8])
def test_a_row_cut_short_is_damaged(cut: int) -> None:
    row = pack_row([Point(1, 1.0, {"loss": Cell(1.0)}), Point(2, 2.0, {"loss": Cell(2.0, 3)})])
    with pytest.raises(DamagedError):
        unpack_row(row[:cut])


def test_a_chunk_of_something_else_is_damaged() -> None:
    for data in (b"", b"nonsense", zlib.compress(b"short"), zlib.compress(b"\xff" * 200)):
        with pytest.raises(DamagedError):
            unpack_chunk(data)


@settings(deadline=None)
@given(st.lists(st.integers(0, 60)), st.lists(st.integers(0, 60)))
def test_intervals_are_a_set(first: list[int], second: list[int]) -> None:
    intervals = Intervals()
    for number in first:
        intervals.add(number)
    intervals = Intervals(intervals.pairs())
    for number in second:
        intervals.add(number)
    everything = {*first, *second}
    assert {number for number in range(-1, 62) if number in intervals} == everything
    pairs = intervals.pairs()
    assert [number for low, high in pairs for number in range(low, high + 1)] == sorted(everything)
    assert all(high + 1 < low for (_, high), (low, _) in itertools.pairwise(pairs))


def test_a_sequence_without_gaps_is_one_interval() -> None:
    intervals = Intervals()
    for number in (*range(1, 1000, 2), *range(0, 1000, 2)):
        intervals.add(number)
    assert intervals.pairs() == [(0, 999)]
