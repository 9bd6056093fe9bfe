"""Takes jobs to the store, and tells who waits for it once it is durable.

Per job one group of writes is under way at a time, and what comes meanwhile makes up the next group: so a job that is reported
to often is encoded once per commit, and when a write fails nothing that was built on it has been acknowledged.

What comes in one turn of the event loop goes to the store together, or as soon as it is :data:`ENOUGH`: so a commit, which costs
much the same for one job as for thirty, is seldom begun for one of many that are already here, and a single report never waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, cast

from headway.errors import RetryableError, UnavailableError
from headway.hub.clock import Clock
from headway.hub.entry import Entry, Group, Heard, Waiting
from headway.protocol.job import JobKey
from headway.store.base import Completion, PointBatch, Store, Write
from headway.tracking.document import dump
from headway.tracking.fold import History
from headway.tracking.writing import WriteJson

__all__ = ["Heard", "Persister", "waited_for"]

logger = logging.getLogger(__name__)

ENOUGH: Final = 32
"""Jobs that are handed over before the turn of the event loop ends, so that the store is at work while the rest is read."""


def waited_for() -> tuple[asyncio.Future[None], Heard]:
    """A future, and what is to be told so that it is done."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def heard(error: UnavailableError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    return future, heard


class Persister:
    """The hub's only way to the store."""

    def __init__(self, store: Store, clock: Clock, restore: Callable[[Entry], None], write_json: WriteJson) -> None:
        self._store = store
        self._clock = clock
        self._restore = restore
        self._write_json = write_json
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: list[Entry] = []
        """Jobs that are to be handed over in this turn of the event loop."""
        self.waiting = 0
        """Writes that the store has not answered yet."""

    async def open(self) -> None:
        """Opens the store; see :meth:`Store.open` for what it raises."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._store.open, self._done)

    async def close(self) -> None:
        """Closes the store once everything is written."""
        self._hand_over()
        await asyncio.to_thread(self._store.close)
        await asyncio.sleep(0)  # what the store answered last is heard

    async def keep(self, entry: Entry, history: History | None = None) -> None:
        """Returns once a job, and the points of a report, are durable.

        Raises:
            UnavailableError: they could not be written; the job is again what is persisted.
        """
        future, heard = waited_for()
        self.keep_then(entry, history, heard)
        await future

    def keep_then(self, entry: Entry, history: History | None, heard: Heard) -> None:
        """As :meth:`keep`, for whoever would rather be told."""
        self._enqueue(entry, Waiting(history, heard))

    def keep_later(self, entry: Entry) -> None:
        """Persists a job without anybody waiting for it."""
        self._enqueue(entry, Waiting(None, None))

    async def delete(self, key: JobKey) -> None:
        """Returns once a job and its history are gone for good.

        Raises:
            UnavailableError: they could not be deleted.
        """
        future, heard = waited_for()
        self._hand_over()
        group = Group([Waiting(None, heard)], b"", 1)
        self.waiting += 1
        self._store.submit(Write(key=key, delete=True), (None, group))
        await future

    def _enqueue(self, entry: Entry, waiting: Waiting) -> None:
        entry.queue.append(waiting)
        if entry.group is None and len(entry.queue) == 1:
            self._make_due(entry)

    def _make_due(self, entry: Entry) -> None:
        if not self._due:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._due.append(entry)
        if len(self._due) >= ENOUGH:
            self._hand_over()

    def _hand_over(self) -> None:
        due, self._due = self._due, []
        writes: list[tuple[Write, object]] = []
        for entry in due:
            if entry.queue:
                writes += self._group(entry)
        if writes:
            self.waiting += len(writes)
            self._store.submit_all(writes)

    def _group(self, entry: Entry) -> list[tuple[Write, object]]:
        """What waits of a job, as one group of writes."""
        waiting, entry.queue = entry.queue, []
        batches = [PointBatch(*history) for history, _ in waiting if history is not None]
        document = dump(entry.job, self._clock(), self._write_json)
        last = batches.pop() if batches else None
        key = entry.job.key
        tag = (entry, Group(waiting, document, len(batches) + 1))
        entry.group = tag[1]
        writes: list[tuple[Write, object]] = [(Write(key, None, batch), tag) for batch in batches]
        writes.append((Write(key, document, last), tag))
        return writes

    def _done(self, completions: Sequence[Completion]) -> None:
        """Hears the store, in its thread."""
        if self._loop is None or self._loop.is_closed():
            logger.debug("%d writes were answered after the loop had ended", len(completions))
            return
        self._loop.call_soon_threadsafe(self._completed, completions)

    def _completed(self, completions: Sequence[Completion]) -> None:
        self.waiting -= len(completions)
        for tag, error in completions:
            entry, group = cast("tuple[Entry | None, Group]", tag)
            group.left -= 1
            group.error = group.error or error
            if group.left == 0:
                self._settle(entry, group)

    def _settle(self, entry: Entry | None, group: Group) -> None:
        failed = None if group.error is None else _unavailable(group.error)
        waiting = group.waiting
        if entry is not None:
            entry.group = None
            if failed is None:
                entry.persisted = group.document
            else:
                waiting = [*waiting, *entry.queue]  # folded upon what was not written
                entry.queue = []
                logger.warning("%s could not be written: %s", entry.job.key, failed)
                self._restore(entry)
        for _, heard in waiting:
            if heard is not None:
                try:
                    heard(failed)
                except Exception:  # the others are told all the same
                    logger.exception("whoever waited for %s could not be told", entry and entry.job.key)
        if entry is not None and entry.queue:
            self._make_due(entry)


def _unavailable(error: Exception) -> UnavailableError:
    wait = error.retry_after if isinstance(error, RetryableError) else None
    unavailable = UnavailableError(f"the report could not be persisted: {error}", retry_after=wait)
    unavailable.__cause__ = error
    return unavailable
