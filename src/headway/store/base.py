"""The contract of a store: what every backend promises, and the suite in :mod:`headway.testing` proves.

A store keeps, per job, one **document** (opaque bytes: the tracker's own record of the job) and the **points** of its metric
history. The hub keeps every live job in memory and is the store's only writer; so a store needs no query language: it must be
durable, quick to append, quick to load at a start, and quick to answer a series of any length.

Promises
    * **Durable.** ``done(None)`` is called only once the write is on disk, and survives SIGKILL and power loss.
    * **All or nothing.** Of one :class:`Write`, either everything is kept or nothing.
    * **In order.** Writes take effect in the order of :meth:`Store.submit`.
    * **Idempotent points.** Points of the same (job, run, seq) stored twice are there once.
    * **Full is not broken.** When space runs out, writes fail with :class:`~headway.errors.UnavailableError`, reads go on, and
      writes succeed again once there is space.
    * **One owner.** Opening a store that another process holds raises :class:`~headway.errors.StoreLockedError`.
    * **Any thread.** ``submit`` never blocks on I/O; ``series`` may, and may be called from any thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import JobKey
from headway.protocol.report import Point


class PointBatch(NamedTuple):
    """The points of one report. ``(run, seq)`` names it: the same batch stored twice counts once."""

    attempt: str
    run: str
    seq: int
    points: Sequence[Point]


class Write(NamedTuple):
    """One atomic change of one job.

    ``document`` None leaves the stored one as it is. ``delete`` removes the job with all its history, before anything else of
    this write takes effect.
    """

    key: JobKey
    document: bytes | None = None
    points: PointBatch | None = None
    delete: bool = False


class StoredJob(NamedTuple):
    """A job as it is loaded at a start."""

    key: JobKey
    document: bytes


Done = Callable[[Sequence["Completion"]], None]
"""Hears of all writes of one commit at once, in order, from the store's own thread: hand over quickly, never raise."""


class Completion(NamedTuple):
    """What became of one write. ``tag`` is what :meth:`Store.submit` was given; ``error`` None means that it is durable."""

    tag: object
    error: Exception | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """What a store has done since it was opened, for the metrics endpoint."""

    commits: int
    writes: int
    failed_writes: int
    pending: int
    bytes_on_disk: int | None


class Store(ABC):
    """A place to keep jobs and their history; see the module for what it promises."""

    @abstractmethod
    def open(self, done: Done) -> None:
        """Opens the store, migrating it to the newest schema if need be, and starts its writer.

        Raises:
            StoreLockedError: another process holds it.
            StoreCorruptError: what is there cannot be understood, or is newer than this version of Headway.
            UnavailableError: it cannot be reached, or there is no space to open it.
        """

    @abstractmethod
    def close(self) -> None:
        """Writes what is pending, then lets go. Further submits fail. May be called twice."""

    @abstractmethod
    def load(self) -> Iterator[StoredJob]:
        """Every job, in no particular order."""

    @abstractmethod
    def submit(self, write: Write, tag: object) -> None:
        """Queues a write and returns at once; ``done`` hears its outcome with this ``tag``, also when the store is closed."""

    def submit_all(self, writes: Sequence[tuple[Write, object]]) -> None:
        """As :meth:`submit` of each write with its tag, in order."""
        for write, tag in writes:
            self.submit(write, tag)

    @abstractmethod
    def series(self, key: JobKey, query: SeriesQuery) -> list[Series]:
        """History of a job, ordered by attempt (first seen first) then metric name, each by (step, t); empty if there is none.

        A point of one step may be there more than once (a run that went back): both are kept, ordered by ``t``.
        At most ``query.points`` points per series, chosen so that minimum and maximum of each stretch are kept; a stretch with
        values that are not finite says how many.
        """

    @abstractmethod
    def metrics(self, key: JobKey) -> list[str]:
        """Names of all metrics that a job has history of, sorted."""

    @abstractmethod
    def stats(self) -> StoreStats:
        """Counters since the store was opened."""
