"""Turns waiting reports into chunks: the writer's work between commits.

Each series grows by its new raw points. Whenever eight of a tier are together they become one of the next, so all tiers are
complete but for a rest of at most seven points each, which :mod:`headway.store.sqlite.reading` takes from the tier below. The
last chunk of a tier is written again until it holds :data:`CHUNK` points; then it never changes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from headway.store.columns import Columns
from headway.store.packing import DamagedError, pack_chunk, unpack_chunk, unpack_row
from headway.store.sqlite.index import JobEntry
from headway.store.sqlite.statements import (
    ADD_SERIES,
    DELETE_REPORTS,
    FIND_CHUNKS,
    FIND_REPORTS,
    FIND_SERIES,
    PUT_CHUNKS,
    SET_COUNTS,
    SET_SEEN,
    cut,
)
from headway.store.tiers import FANOUT, summarise, width

CHUNK: Final = 512
"""Points of a full chunk. A power of :data:`~headway.store.tiers.FANOUT`, so that no group of a tier lies in two chunks."""

ROWS: Final = 256
"""Most reports compacted in one transaction, so that a commit waits for milliseconds only."""


@dataclass(slots=True)
class _Growing:
    """One series while it grows."""

    id: int
    count: int
    news: Columns


def compact(connection: sqlite3.Connection, entry: JobEntry, now: float) -> int:
    """Compacts the oldest waiting reports of a job, inside the caller's transaction; answers how many rows went.

    The caller takes them off ``entry.rows`` once the transaction is through.
    """
    rows = entry.rows[:ROWS].tolist()
    numbers = json.dumps(rows)
    news: dict[tuple[int, str], Columns] = {}
    runs = set()
    for attempt, run, data in connection.execute(FIND_REPORTS, (numbers,)).fetchall():
        runs.add(run)
        for metric, columns in unpack_row(data).items():
            news.setdefault((attempt, metric), Columns()).extend(columns)
    growing = _find_series(connection, news)
    opened = _open_chunks(connection, growing)
    chunks: dict[tuple[int, ...], bytes] = {}
    for series in growing:
        _grow(series, opened, chunks)
    counts = [(series.id, series.count + len(series.news)) for series in growing]
    seen = [(run.id, json.dumps(run.seen.pairs())) for run in entry.runs.values() if run.id in runs]
    connection.execute(PUT_CHUNKS, (*cut(chunks), now))
    connection.execute(SET_COUNTS, (json.dumps(counts),))
    connection.execute(SET_SEEN, (json.dumps(seen),))
    connection.execute(DELETE_REPORTS, (numbers,))
    return len(rows)


def _find_series(connection: sqlite3.Connection, news: dict[tuple[int, str], Columns]) -> list[_Growing]:
    places = json.dumps(list(news))
    connection.execute(ADD_SERIES, (places,))
    found = connection.execute(FIND_SERIES, (places,))
    return [_Growing(number, count, news[attempt, metric]) for attempt, metric, number, count in found]


def _open_chunks(connection: sqlite3.Connection, growing: Iterable[_Growing]) -> dict[tuple[int, int], Columns]:
    wanted = []
    for series in growing:
        tier, count = 0, series.count
        while count:
            if count % CHUNK:
                wanted.append((series.id, tier, count // CHUNK))
            tier, count = tier + 1, count // FANOUT
    found = connection.execute(FIND_CHUNKS, (json.dumps(wanted),))
    return {(number, tier): unpack_chunk(data) for number, tier, data in found}


def _grow(series: _Growing, opened: dict[tuple[int, int], Columns], chunks: dict[tuple[int, ...], bytes]) -> None:
    tier, news = 0, series.news
    while len(news):
        count = series.count // width(tier)
        number, filled = divmod(count, CHUNK)
        whole = Columns()
        if filled:
            if (series.id, tier) not in opened:
                raise DamagedError(f"chunk {number} of tier {tier} of series {series.id} is missing")
            whole.extend(opened[series.id, tier])
        whole.extend(news)
        for start in range(0, len(whole), CHUNK):
            part = whole.slice(start, start + CHUNK)
            place = (series.id, tier, number + start // CHUNK, len(part), min(part.steps), max(part.steps))
            chunks[place] = pack_chunk(part)
        news = summarise(whole, filled - filled % FANOUT)
        tier += 1
