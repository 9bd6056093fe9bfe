"""The writer's statements: each takes a whole batch at once.

Bytes travel in one parameter and their places in another, as JSON, and SQLite cuts them apart (:func:`cut`). That is one
statement for a batch of any size, during which the interpreter is free for the threads that take reports in.

JSON is read with ``json_extract``, not ``->>``: SQLite 3.34 still comes with some supported systems.
"""
# ruff: noqa: S608 - the only words put together here are this module's own

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final


def cut(parts: Mapping[tuple[int, ...], bytes]) -> tuple[bytes, str]:
    """Two parameters for one statement: all bytes in one piece, and as JSON, for each part, ``[start, length, *numbers]``."""
    places = []
    start = 1
    for numbers, part in parts.items():
        places.append((start, len(part), *numbers))
        start += len(part)
    return b"".join(parts.values()), json.dumps(places)


def _field(number: int, row: str = "value") -> str:
    """SQL for one element of a row that travels as a JSON array."""
    return f"json_extract({row}, '$[{number}]')"


def _fields(numbers: Iterable[int], row: str = "value") -> str:
    """SQL for several, in order, with commas."""
    return ", ".join(_field(number, row) for number in numbers)


_THESE: Final = "(SELECT value FROM json_each(?1))"
_PART: Final = f"substr(?1, {_fields((0, 1))})"
"""The bytes of a row of :func:`cut`."""

DELETE_REPORTS: Final = f"DELETE FROM report WHERE id IN {_THESE}"
DELETE_JOBS: Final = (
    "DELETE FROM chunk WHERE series IN (SELECT s.id FROM series s JOIN attempt a ON a.id = s.attempt "
    f"WHERE a.job IN {_THESE})",
    f"DELETE FROM series WHERE attempt IN (SELECT id FROM attempt WHERE job IN {_THESE})",
    f"DELETE FROM attempt WHERE job IN {_THESE}",
    f"DELETE FROM run WHERE job IN {_THESE}",
    f"DELETE FROM job WHERE id IN {_THESE}",
)
ADD_JOBS: Final = f"INSERT INTO job (id, namespace, name) SELECT {_fields(range(3))} FROM json_each(?1)"
ADD_ATTEMPTS: Final = f"INSERT INTO attempt (id, job, name) SELECT {_fields(range(3))} FROM json_each(?1)"
ADD_RUNS: Final = f"INSERT INTO run (id, job, name, seen) SELECT {_fields(range(3))}, '[]' FROM json_each(?1)"
SET_DOCUMENTS: Final = (
    f"UPDATE job SET document = new.document FROM (SELECT {_field(2)} AS id, {_PART} AS document FROM json_each(?2)) AS new "
    "WHERE job.id = new.id"
)
ADD_REPORTS: Final = (
    f"INSERT INTO report (points, id, job, attempt, run, seq) SELECT {_PART}, {_fields(range(2, 7))} FROM json_each(?2)"
)
FIND_REPORTS: Final = "SELECT attempt, run, points FROM report WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
ADD_SERIES: Final = (
    f"INSERT OR IGNORE INTO series (attempt, metric, count) SELECT {_fields((0, 1))}, 0 FROM json_each(?)"
)
FIND_SERIES: Final = (
    "SELECT s.attempt, s.metric, s.id, s.count FROM json_each(?) w CROSS JOIN series s "
    f"ON s.attempt = {_field(0, 'w.value')} AND s.metric = {_field(1, 'w.value')}"
)
FIND_CHUNKS: Final = (
    "SELECT c.series, c.tier, c.points FROM json_each(?) w CROSS JOIN chunk c "
    f"ON c.series = {_field(0, 'w.value')} AND c.tier = {_field(1, 'w.value')} AND c.number = {_field(2, 'w.value')}"
)
PUT_CHUNKS: Final = (
    "INSERT INTO chunk (points, series, tier, number, count, first_step, last_step, written) "
    f"SELECT substr(?1, {_fields((0, 1))}), {_fields(range(2, 8))}, ?3 FROM json_each(?2) WHERE true "
    "ON CONFLICT (series, tier, number) DO UPDATE SET count = excluded.count, first_step = excluded.first_step, "
    "last_step = excluded.last_step, written = excluded.written, points = excluded.points"
)
SET_COUNTS: Final = (
    f"UPDATE series SET count = {_field(1, 'w.value')} FROM json_each(?) w WHERE series.id = {_field(0, 'w.value')}"
)
SET_SEEN: Final = (
    f"UPDATE run SET seen = {_field(1, 'w.value')} FROM json_each(?) w WHERE run.id = {_field(0, 'w.value')}"
)
