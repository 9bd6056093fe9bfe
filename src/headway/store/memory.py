"""A store that forgets when the process ends: for tests, and for a server that need not remember."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headway.errors import HeadwayError, StoreError, StoreLockedError
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import JobKey
from headway.store.base import Done, Store, StoredJob, StoreStats, Write
from headway.store.columns import Columns, gather
from headway.store.names import check_names
from headway.store.tiers import assemble, within
from headway.store.writer import GroupWriter


@dataclass(slots=True)
class _Kept:
    document: bytes | None = None
    history: dict[str, dict[str, Columns]] = field(default_factory=dict)
    """By attempt, then by metric."""
    seen: set[tuple[str, int]] = field(default_factory=set)


class MemoryStore(Store):
    """Keeps everything raw in memory. What was written outlives :meth:`close`, so the same object can be opened again."""

    def __init__(self) -> None:
        self._jobs: dict[JobKey, _Kept] = {}
        self._lock = threading.Lock()
        self._writer: GroupWriter | None = None

    def open(self, done: Done) -> None:
        """See :meth:`Store.open`."""
        if self._writer is not None and not self._writer.closed:
            raise StoreLockedError("the store is open already")
        self._writer = GroupWriter("headway-store", done, self._commit)
        self._writer.start()

    def close(self) -> None:
        """See :meth:`Store.close`."""
        if self._writer is not None:
            self._writer.close()

    def load(self) -> Iterator[StoredJob]:
        """See :meth:`Store.load`."""
        with self._lock:
            jobs = [StoredJob(key, kept.document) for key, kept in self._jobs.items() if kept.document is not None]
        return iter(jobs)

    def submit(self, write: Write, tag: object) -> None:
        """See :meth:`Store.submit`."""
        self._opened().submit([(write, tag)])

    def series(self, key: JobKey, query: SeriesQuery) -> list[Series]:
        """See :meth:`Store.series`."""
        with self._lock:
            kept = self._jobs.get(key)
            found = [
                assemble(metric, attempt, [(within(columns, query.first_step, query.last_step), 1)], query.points)
                for attempt, metrics in (kept.history.items() if kept else ())
                if query.attempt in (None, attempt)
                for metric, columns in sorted(metrics.items())
                if not query.metrics or metric in query.metrics
            ]
        return [series for series in found if series is not None]

    def metrics(self, key: JobKey) -> list[str]:
        """See :meth:`Store.metrics`."""
        with self._lock:
            kept = self._jobs.get(key)
            return sorted({metric for metrics in kept.history.values() for metric in metrics}) if kept else []

    def stats(self) -> StoreStats:
        """See :meth:`Store.stats`."""
        writer = self._opened()
        return StoreStats(
            commits=writer.commits,
            writes=writer.writes,
            failed_writes=writer.failed_writes,
            pending=writer.pending,
            bytes_on_disk=None,
        )

    def _opened(self) -> GroupWriter:
        if self._writer is None:
            raise StoreError("the store has not been opened")
        return self._writer

    def _commit(self, writes: Sequence[Write]) -> list[HeadwayError | None]:
        outcomes: list[HeadwayError | None] = []
        with self._lock:
            for write in writes:
                try:
                    self._apply(write)
                    outcomes.append(None)
                except HeadwayError as error:
                    outcomes.append(error)
        return outcomes

    def _apply(self, write: Write) -> None:
        batch = write.points
        gathered = gather(batch.points) if batch is not None else {}
        check_names(*write.key, *((batch.attempt, batch.run) if batch is not None else ()))
        if write.delete:
            self._jobs.pop(write.key, None)
        if write.document is None and batch is None:
            return
        kept = self._jobs.setdefault(write.key, _Kept())
        if write.document is not None:
            kept.document = write.document
        if batch is None or (batch.run, batch.seq) in kept.seen:
            return
        kept.seen.add((batch.run, batch.seq))
        history = kept.history.setdefault(batch.attempt, {})
        for metric, columns in gathered.items():
            history.setdefault(metric, Columns()).extend(columns)
