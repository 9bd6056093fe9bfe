"""The store on one SQLite database: opening and closing it, and what happens on which thread.

Reports come in on any thread (:meth:`SqliteStore.submit`), are written by one (:meth:`SqliteStore._commit`, then
:meth:`SqliteStore._chores`), and are read on the caller's, over a connection from a pool.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from headway.errors import HeadwayError, StoreError, StoreLockedError
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import JobKey
from headway.store.base import Done, Store, StoredJob, StoreStats, Write
from headway.store.migrations import Migration, migrations
from headway.store.packing import DamagedError
from headway.store.sqlite.batch import Batch
from headway.store.sqlite.failures import corrupt, wrapped
from headway.store.sqlite.folder import FolderLock, warn_of_network
from headway.store.sqlite.index import Index
from headway.store.sqlite.reading import read_metrics, read_series
from headway.store.sqlite.schema import connect_reader, connect_writer, migrate, transaction
from headway.store.sqlite.settings import SqliteSettings
from headway.store.sqlite.tidying import Tidying
from headway.store.writer import GroupWriter

DATABASE: Final = "headway.db"
"""Name of the database in the store's folder."""

LOCK: Final = "headway.lock"
"""Name of the file that the owner of the folder holds locked; the owner's process id is in it."""


T = TypeVar("T")


class SqliteStore(Store):
    """Keeps jobs and history in ``folder``, which it makes if need be.

    ``clock`` (Unix seconds) says how old history is; ``steps`` are the migrations to bring the database up to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        settings: SqliteSettings = SqliteSettings(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.time,
        steps: Sequence[Migration] | None = None,
    ) -> None:
        self.path = folder / DATABASE
        self._settings = settings
        self._clock = clock
        self._steps = migrations() if steps is None else steps
        self._lock = FolderLock(folder / LOCK)
        self._index = Index()
        self._connection: sqlite3.Connection | None = None
        self._writer: GroupWriter | None = None
        self._idle_readers: list[sqlite3.Connection] = []
        self._readers = threading.Lock()

    def open(self, done: Done) -> None:
        """See :meth:`Store.open`."""
        if self._connection is not None:
            raise StoreLockedError("this process has the store open already")
        self._lock.acquire()
        self._writer = None
        try:
            warn_of_network(self.path.parent)
            with wrapped(self.path):
                connection = self._connection = connect_writer(self.path, self._settings)
                migrate(connection, self.path, self._steps)
                self._index = Index()
                self._index.load(connection)
                self._tidying = Tidying(connection, self._index, self._settings, self._clock)
        except BaseException:
            self.close()
            raise
        self._writer = GroupWriter("headway-store", done, self._commit, self._chores)
        self._writer.start()

    def close(self) -> None:
        """See :meth:`Store.close`."""
        if self._writer is not None:
            self._writer.close()
        with self._readers:
            idle, self._idle_readers = self._idle_readers, []
            connection, self._connection = self._connection, None
        for each in (*idle, connection):
            if each is not None:
                each.close()
        self._lock.release()

    def load(self) -> Iterator[StoredJob]:
        """See :meth:`Store.load`."""
        with self._reader() as connection:
            rows = connection.execute("SELECT namespace, name, document FROM job WHERE document IS NOT NULL")
            for namespace, name, document in rows:
                yield StoredJob(JobKey(namespace, name), document)

    def submit(self, write: Write, tag: object) -> None:
        """See :meth:`Store.submit`."""
        self._opened().submit([(write, tag)])

    def submit_all(self, writes: Sequence[tuple[Write, object]]) -> None:
        """See :meth:`Store.submit_all`."""
        self._opened().submit(writes)

    def series(self, key: JobKey, query: SeriesQuery) -> list[Series]:
        """See :meth:`Store.series`."""
        return self._read(key, lambda connection, job, rows: read_series(connection, job, rows, query))

    def metrics(self, key: JobKey) -> list[str]:
        """See :meth:`Store.metrics`."""
        return self._read(key, read_metrics)

    def stats(self) -> StoreStats:
        """See :meth:`Store.stats`."""
        writer = self._opened()
        files = (self.path, self.path.with_name(f"{DATABASE}-wal"))
        return StoreStats(
            commits=writer.commits,
            writes=writer.writes,
            failed_writes=writer.failed_writes,
            pending=writer.pending,
            bytes_on_disk=sum(file.stat().st_size for file in files if file.exists()),
        )

    def waiting_reports(self) -> int:
        """Reports kept as they came, not compacted yet."""
        return self._index.waiting

    def _opened(self) -> GroupWriter:
        if self._writer is None:
            raise StoreError("the store has not been opened")
        return self._writer

    def _commit(self, writes: Sequence[Write]) -> list[HeadwayError | None]:
        connection = self._connection
        if connection is None:
            raise StoreError("the store is closed")
        with wrapped(self.path):
            batch = Batch(self._index, connection)
            outcomes = batch.plan(writes)
            with transaction(connection):
                batch.write()
        self._tidying.note(batch.remember())
        return outcomes

    def _chores(self, idle: bool) -> float:
        with wrapped(self.path):
            return self._tidying.tidy(idle=idle)

    def _read(self, key: JobKey, read: Callable[[sqlite3.Connection, int, Sequence[int]], list[T]]) -> list[T]:
        entry = self._index.jobs.get(key)
        if entry is None:
            return []
        # Before the snapshot begins: what is compacted meanwhile is then found in its chunks, and never missed.
        rows = entry.rows.tolist()
        with self._reader() as connection:
            connection.execute("BEGIN")
            try:
                return read(connection, entry.id, rows)
            except DamagedError as error:
                raise corrupt(self.path, f"the history of job {key} is damaged ({error})") from error
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with wrapped(self.path):
            with self._readers:
                if self._connection is None:
                    raise StoreError("the store is closed")
                connection = self._idle_readers.pop() if self._idle_readers else None
            if connection is None:
                connection = connect_reader(self.path, self._settings)
            try:
                yield connection
            finally:
                with self._readers:
                    keep = self._connection is not None
                    if keep:
                        self._idle_readers.append(connection)
                if not keep:
                    connection.close()
