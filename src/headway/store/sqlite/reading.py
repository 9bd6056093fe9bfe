"""Answers history: finds the coarsest tier that still has the points asked for, and what completes it on either side.

A series is one line of raw positions from 0. For one tier, the beginning may have been forgotten: it comes from coarser ones.
The end may not be full groups yet: it comes from finer ones, and at last from the reports that wait to be compacted. Where
only some steps are asked for, a merged point counts where its last step lies: at either end less than one answered point's
worth may be missing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headway.protocol.history import Series, SeriesQuery
from headway.store.columns import Columns
from headway.store.packing import unpack_chunk, unpack_row
from headway.store.sqlite.compaction import CHUNK
from headway.store.tiers import Piece, assemble, width, within


@dataclass(slots=True)
class _Line:
    """One metric of one attempt as the database has it."""

    id: int = 0
    count: int = 0
    waiting: Columns = field(default_factory=Columns)


def read_series(connection: sqlite3.Connection, job: int, rows: Sequence[int], query: SeriesQuery) -> list[Series]:
    """The series that were asked for, from one snapshot. ``rows`` are the job's waiting reports."""
    result = []
    for attempt, lines in _lines(connection, job, rows).items():
        for metric, line in sorted(lines.items()):
            if query.attempt in (None, attempt) and (not query.metrics or metric in query.metrics):
                series = assemble(metric, attempt, _choose(connection, line, query), query.points)
                result += [series] if series is not None else []
    return result


def read_metrics(connection: sqlite3.Connection, job: int, rows: Sequence[int]) -> list[str]:
    """Names of all metrics of a job, sorted."""
    return sorted({metric for lines in _lines(connection, job, rows).values() for metric in lines})


def _lines(connection: sqlite3.Connection, job: int, rows: Sequence[int]) -> dict[str, dict[str, _Line]]:
    """By attempt, first seen first, then by metric."""
    names = dict(connection.execute("SELECT id, name FROM attempt WHERE job = ? ORDER BY id", (job,)))
    lines: dict[int, dict[str, _Line]] = {number: {} for number in names}
    for number, count, attempt, metric in connection.execute(
        "SELECT s.id, s.count, s.attempt, s.metric FROM series s JOIN attempt a ON a.id = s.attempt WHERE a.job = ?",
        (job,),
    ):
        lines[attempt][metric] = _Line(number, count)
    for attempt, data in connection.execute(
        "SELECT attempt, points FROM report WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(rows),),
    ):
        for metric, columns in unpack_row(data).items():
            lines[attempt].setdefault(metric, _Line()).waiting.extend(columns)
    return {names[number]: metrics for number, metrics in lines.items()}


def _choose(connection: sqlite3.Connection, line: _Line, query: SeriesQuery) -> list[Piece]:
    tier, enough = 0, max(1, query.points)
    while line.count // width(tier + 1) >= enough:
        tier += 1
    starts = {
        tier: first * CHUNK * width(tier)
        for tier, first in connection.execute(
            "SELECT tier, min(number) FROM chunk WHERE series = ? GROUP BY tier", (line.id,)
        )
    }
    while True:
        pieces = list(_pieces(connection, line, query, tier, starts))
        if tier == 0 or sum(len(columns) for columns, _ in pieces) >= enough:
            return pieces
        tier -= 1


def _pieces(
    connection: sqlite3.Connection, line: _Line, query: SeriesQuery, tier: int, starts: dict[int, int]
) -> Iterator[Piece]:
    start, stretches = line.count, list[tuple[int, int, int]]()
    for each in range(tier, max(starts, default=0) + 1):  # what the tier has, then what only coarser ones remember
        begin = starts.get(each, start)
        end = min(start, line.count // width(each) * width(each))
        if begin < end:
            stretches.insert(0, (each, begin, end))
            start = begin
    start = line.count // width(tier) * width(tier)
    for each in reversed(range(tier)):  # the rest that is no full group
        end = line.count // width(each) * width(each)
        stretches.append((each, start, end))
        start = end
    for each, begin, end in stretches:
        if begin < end:
            points = _stretch(connection, (line.id, each), range(begin // width(each), end // width(each)), query)
            yield points, width(each)
    yield within(line.waiting, query.first_step, query.last_step), 1


def _stretch(connection: sqlite3.Connection, place: tuple[int, int], span: range, query: SeriesQuery) -> Columns:
    """The points ``span`` of ``place`` (a series and a tier), as far as they lie between the steps asked for."""
    result = Columns()
    first = -(2**63) if query.first_step is None else query.first_step
    last = 2**63 - 1 if query.last_step is None else query.last_step
    for number, data in connection.execute(
        "SELECT number, points FROM chunk WHERE series = ? AND tier = ? AND number BETWEEN ? AND ? "
        "AND last_step >= ? AND first_step <= ? ORDER BY number",
        (*place, span.start // CHUNK, (span.stop - 1) // CHUNK, first, last),
    ):
        base = number * CHUNK
        result.extend(unpack_chunk(data).slice(max(0, span.start - base), span.stop - base))
    return within(result, query.first_step, query.last_step)
