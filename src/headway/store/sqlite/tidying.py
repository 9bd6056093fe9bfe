"""What the writer does between commits: compacts what waits, and forgets what is too old or too much."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable

from headway.store.sqlite.compaction import ROWS, compact
from headway.store.sqlite.index import Index, JobEntry
from headway.store.sqlite.retention import forget
from headway.store.sqlite.schema import transaction
from headway.store.sqlite.settings import SqliteSettings


class Tidying:
    """Decides what is due. All of it on the writer's thread, a few milliseconds at a time."""

    def __init__(
        self, connection: sqlite3.Connection, index: Index, settings: SqliteSettings, clock: Callable[[], float]
    ) -> None:
        self._connection = connection
        self._index = index
        self._settings = settings
        self._clock = clock
        (newest,) = connection.execute("SELECT max(written) FROM chunk").fetchone()
        self._written: float = newest or 0.0
        self._waiting: dict[int, JobEntry] = {}
        self._urgent: dict[int, JobEntry] = {}
        self._quiet: dict[int, int] = {}
        """The newest row of each job with a backlog, at the last look."""
        self._damaged: set[int] = set()
        self._next_look = self._not_before = 0.0
        self.note(index.backlog())

    def note(self, entries: Iterable[JobEntry]) -> None:
        """Hears which jobs have reports that wait."""
        for entry in entries:
            if len(entry.rows) >= self._settings.compact_rows and entry.id not in self._damaged:
                self._waiting[entry.id] = entry
                if len(entry.rows) >= self._settings.compact_rows_at_most:
                    self._urgent[entry.id] = entry

    def tidy(self, *, idle: bool) -> float:
        """Does one portion of what is due; answers after how many seconds without a write to come back."""
        now = time.monotonic()
        if self._urgent and now >= self._not_before:
            self._compact(self._urgent, share=1 / 2)
        elif self._waiting and (
            idle or (self._index.waiting >= self._settings.waiting_at_most and now >= self._not_before)
        ):
            self._compact(self._waiting, share=1 / 5)
        wait = self._next_look - now
        if wait <= 0 and not self._look():
            self._next_look = now + (wait := self._settings.retention_seconds)
        if idle and self._waiting:
            return 0.0
        return max(0.0, min(wait, self._settings.idle_seconds) if self._waiting else wait)

    def _compact(self, due: dict[int, JobEntry], share: float) -> None:
        """Compacts jobs of ``due``, as many as fit into one transaction; ``share`` is how much of a busy writer's time."""
        began = time.monotonic()
        chosen, rows = list[JobEntry](), 0
        for entry in due.values():
            chosen.append(entry)
            rows += len(entry.rows)
            if rows >= ROWS:
                break
        now = self._written = max(self._written, self._clock())  # a clock set back must not make holes in a series
        done = []
        with transaction(self._connection):
            for entry in chosen:
                try:
                    done.append((entry, compact(self._connection, entry, now) if entry.rows else 0))
                except sqlite3.Error:
                    raise
                except Exception:
                    self._set_aside(entry)
                    raise
        for entry, count in done:
            entry.rows = entry.rows[count:]
            self._index.waiting -= count
            if len(entry.rows) < self._settings.compact_rows_at_most:
                self._urgent.pop(entry.id, None)
            if len(entry.rows) < self._settings.compact_rows:
                self._waiting.pop(entry.id, None)
        ended = time.monotonic()
        self._not_before = ended + (ended - began) * (1 / share - 1)

    def _set_aside(self, entry: JobEntry) -> None:
        """Never tries this job again: its reports stay as they are, and reading them says what is wrong."""
        self._damaged.add(entry.id)
        self._urgent.pop(entry.id, None)
        self._waiting.pop(entry.id, None)

    def _look(self) -> bool:
        """Looks at age and size, and for jobs that went quiet; answers whether there is more to do at once."""
        newest = {entry.id: entry.rows[-1] for entry in self._index.backlog()}
        for entry in self._index.backlog():
            if self._quiet.get(entry.id) == newest[entry.id] and entry.id not in self._damaged:
                self._waiting[entry.id] = entry
        self._quiet = newest
        return forget(self._connection, self._settings, self._clock())
