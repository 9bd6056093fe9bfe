"""What the writer remembers of the database, so that a report is stored without looking anything up.

The ids of jobs, attempts and runs, which reports of a run are kept, and which rows wait to be compacted. Only the writer's
thread changes it, and only after a commit; readers take a job's entry and a copy of its rows.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from headway.protocol.job import JobKey
from headway.store.intervals import Intervals

TABLES = ("job", "attempt", "run", "report")


@dataclass(slots=True)
class RunEntry:
    """One run of a job."""

    id: int
    seen: Intervals = field(default_factory=Intervals)


@dataclass(slots=True)
class JobEntry:
    """One job. ``runs`` and ``attempts`` are read from the database with the job's first write."""

    id: int
    attempts: dict[str, int] = field(default_factory=dict)
    runs: dict[str, RunEntry] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("q"))
    """Ids of the reports that wait to be compacted, ascending."""
    known: bool = False
    """Whether ``attempts`` and ``runs`` are complete."""

    def knows(self, attempt: str, run: str) -> bool:
        """Whether both are stored already."""
        return attempt in self.attempts and run in self.runs


class Index:
    """All jobs of the database by key, and the next free id of each table. Ids are never given twice while it is open."""

    def __init__(self) -> None:
        self.jobs: dict[JobKey, JobEntry] = {}
        self.waiting = 0
        """Reports that wait to be compacted, of all jobs."""
        self._free = dict.fromkeys(TABLES, 1)

    def fresh(self, table: str) -> int:
        """An id that no row of the table has had."""
        self._free[table] += 1
        return self._free[table] - 1

    def load(self, connection: sqlite3.Connection) -> None:
        """Reads the jobs and the waiting reports."""
        for table in TABLES:
            (highest,) = connection.execute(f"SELECT max(id) FROM {table}").fetchone()  # noqa: S608 - our own names
            self._free[table] = (highest or 0) + 1
        by_id = {}
        for number, namespace, name in connection.execute("SELECT id, namespace, name FROM job"):
            by_id[number] = self.jobs[JobKey(namespace, name)] = JobEntry(number)
        waiting: dict[int, list[tuple[int, int]]] = {}
        for row, job, run, seq in connection.execute("SELECT id, job, run, seq FROM report ORDER BY id"):
            by_id[job].rows.append(row)
            self.waiting += 1
            waiting.setdefault(job, []).append((run, seq))
        for job, reports in waiting.items():
            complete(by_id[job], connection)
            runs = {run.id: run for run in by_id[job].runs.values()}
            for run, seq in reports:
                runs[run].seen.add(seq)

    def backlog(self) -> Iterator[JobEntry]:
        """Every job with reports that wait."""
        return (entry for entry in self.jobs.values() if entry.rows)


def complete(entry: JobEntry, connection: sqlite3.Connection) -> None:
    """Reads the attempts and runs of a job, unless they are there."""
    if entry.known:
        return
    entry.attempts.update(connection.execute("SELECT name, id FROM attempt WHERE job = ?", (entry.id,)))
    for name, number, seen in connection.execute("SELECT name, id, seen FROM run WHERE job = ?", (entry.id,)):
        entry.runs[name] = RunEntry(number, Intervals(json.loads(seen)))
    entry.known = True
