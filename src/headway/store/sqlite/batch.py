"""One commit: a batch of writes planned in memory, sent as one statement a table, and remembered once it is durable."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from headway.errors import HeadwayError, InvalidError
from headway.protocol.job import JobKey
from headway.store.base import PointBatch, Write
from headway.store.columns import LARGEST
from headway.store.names import check_names
from headway.store.packing import pack_row
from headway.store.sqlite.index import Index, JobEntry, RunEntry, complete
from headway.store.sqlite.statements import (
    ADD_ATTEMPTS,
    ADD_JOBS,
    ADD_REPORTS,
    ADD_RUNS,
    DELETE_JOBS,
    DELETE_REPORTS,
    SET_DOCUMENTS,
    cut,
)


class Batch:
    """The writes of one commit. Nothing outside it changes until :meth:`remember`."""

    def __init__(self, index: Index, connection: sqlite3.Connection) -> None:
        self._index = index
        self._connection = connection
        self._current: dict[JobKey, JobEntry | None] = {}
        self._gone: dict[int, JobEntry] = {}
        self._jobs: list[tuple[int, str, str]] = []
        self._attempts: dict[tuple[int, str], int] = {}
        self._runs: dict[tuple[int, str], int] = {}
        self._seen: dict[tuple[int, str], set[int]] = {}
        self._documents: dict[int, bytes] = {}
        self._rows: dict[tuple[int, ...], bytes] = {}
        self._entries: dict[int, JobEntry] = {}

    def plan(self, writes: Sequence[Write]) -> list[HeadwayError | None]:
        """Takes the writes in, in order; those that cannot be stored are left out, with the reason."""
        outcomes: list[HeadwayError | None] = []
        for write in writes:
            try:
                self._plan(write)
                outcomes.append(None)
            except InvalidError as error:
                outcomes.append(error)
        return outcomes

    def _plan(self, write: Write) -> None:
        key, points = write.key, write.points
        packed = b"" if points is None else _pack(points)
        entry = self._find(key)
        if entry is None:
            check_names(*key)
        if points is not None and (entry is None or not entry.knows(points.attempt, points.run)):
            check_names(points.attempt, points.run)
        if write.delete and entry is not None:
            self._gone[entry.id] = entry
            self._current[key] = entry = None
        if write.document is None and points is None:
            return
        if entry is None:
            entry = self._current[key] = JobEntry(self._index.fresh("job"), known=True)
            self._jobs.append((entry.id, *key))
        if write.document is not None:
            self._documents[entry.id] = write.document
        if packed and points is not None:
            self._plan_points(entry, points, packed)

    def _find(self, key: JobKey) -> JobEntry | None:
        if key in self._current:
            return self._current[key]
        entry = self._index.jobs.get(key)
        if entry is not None:
            complete(entry, self._connection)
        return entry

    def _plan_points(self, entry: JobEntry, points: PointBatch, packed: bytes) -> None:
        place = (entry.id, points.run)
        run = entry.runs.get(points.run)
        seen = self._seen.setdefault(place, set())
        if points.seq in seen or (run is not None and points.seq in run.seen):
            return
        seen.add(points.seq)
        if run is not None:
            run_id = run.id
        elif place in self._runs:
            run_id = self._runs[place]
        else:
            run_id = self._runs[place] = self._index.fresh("run")
        attempt_id = entry.attempts.get(points.attempt) or self._attempts.get((entry.id, points.attempt))
        if attempt_id is None:
            attempt_id = self._attempts[entry.id, points.attempt] = self._index.fresh("attempt")
        self._rows[self._index.fresh("report"), entry.id, attempt_id, run_id, points.seq] = packed
        self._entries[entry.id] = entry

    def write(self) -> None:
        """Sends the batch; to be called inside a transaction."""
        gone, execute = self._gone, self._connection.execute
        if gone:
            execute(DELETE_REPORTS, (json.dumps([row for entry in gone.values() for row in entry.rows]),))
            for statement in DELETE_JOBS:
                execute(statement, (json.dumps(list(gone)),))
        if jobs := [job for job in self._jobs if job[0] not in gone]:
            execute(ADD_JOBS, (json.dumps(jobs),))
        if attempts := [(number, *place) for place, number in self._attempts.items() if place[0] not in gone]:
            execute(ADD_ATTEMPTS, (json.dumps(attempts),))
        if runs := [(number, *place) for place, number in self._runs.items() if place[0] not in gone]:
            execute(ADD_RUNS, (json.dumps(runs),))
        documents: dict[tuple[int, ...], bytes] = {(job,): d for job, d in self._documents.items() if job not in gone}
        if documents:
            execute(SET_DOCUMENTS, cut(documents))
        if rows := {row: packed for row, packed in self._rows.items() if row[1] not in gone}:
            execute(ADD_REPORTS, cut(rows))

    def remember(self) -> list[JobEntry]:
        """Brings the index up to date after the commit; answers the jobs that have new reports."""
        for entry in self._gone.values():
            self._index.waiting -= len(entry.rows)
            del entry.rows[:]
        for key, current in self._current.items():
            if current is None:
                self._index.jobs.pop(key, None)
            else:
                self._index.jobs[key] = current
        for (job, attempt), number in self._attempts.items():
            self._entries[job].attempts[attempt] = number
        for (job, run), number in self._runs.items():
            self._entries[job].runs[run] = RunEntry(number)
        for (job, run), numbers in self._seen.items():
            for number in numbers:
                self._entries[job].runs[run].seen.add(number)
        for row, job, *_ in self._rows:
            if job not in self._gone:
                self._entries[job].rows.append(row)
                self._index.waiting += 1
        return [entry for entry in self._entries.values() if entry.id not in self._gone]


def _pack(points: PointBatch) -> bytes:
    if not 0 <= points.seq < LARGEST:
        raise InvalidError(f"{points.seq} is out of range", field="headway.seq")
    return pack_row(points.points)
