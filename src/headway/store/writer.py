"""The one thread through which a store is written: group commit.

It takes whatever queued while the last commit was under way, hands it to the backend as one batch, and reports the whole batch
at once. So the batch grows by itself with the load, and a single write never waits for company.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Final

from headway.errors import HeadwayError, StoreError, UnavailableError
from headway.store.base import Completion, Done, Write

logger = logging.getLogger(__name__)

Commit = Callable[[Sequence[Write]], Sequence[HeadwayError | None]]
"""Makes a batch durable: an outcome for each write, in order. Raises a HeadwayError when all of the batch failed."""

Chores = Callable[[bool], float]
"""What the writer does between commits. Told whether it is idle; answers in how many seconds it should be asked again."""

MAX_BATCH: Final = 4096
"""Writes from which on a commit takes no more: bounds memory and the time until the first is answered."""

AFTER_FAILURE: Final = 10.0
"""Seconds until chores that failed are tried again."""


def no_chores(idle: bool) -> float:  # noqa: ARG001
    """For a backend that has nothing to tidy."""
    return 3600.0


class GroupWriter:
    """Queue, thread and counters. ``submit`` from any thread; ``commit`` and ``chores`` run on the writer's own."""

    def __init__(self, name: str, done: Done, commit: Commit, chores: Chores = no_chores) -> None:
        self._done = done
        self._commit = commit
        self._chores = chores
        self._queue: SimpleQueue[Sequence[tuple[Write, object]] | None] = SimpleQueue()
        self._door = threading.Lock()
        self._closed = False
        self._tidy_again = 0.0
        self.pending = 0
        """Writes queued and not taken up yet."""
        self.commits = self.writes = self.failed_writes = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` has been called."""
        return self._closed

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def submit(self, writes: Sequence[tuple[Write, object]]) -> None:
        """Queues writes, each with its tag; after :meth:`close` they fail at once."""
        with self._door:
            if not self._closed:
                self._queue.put(writes)
                self.pending += len(writes)
                return
        self._report([Completion(tag, UnavailableError("the store is closed")) for _, tag in writes])

    def close(self) -> None:
        """Lets the thread finish what is queued, and waits for it. May be called twice."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        wait = 0.0
        while True:
            batch, ended = self._take(wait)
            if batch:
                with self._door:
                    self.pending -= len(batch)
                self._write(batch)
            if ended:
                return
            wait = self._tidy(idle=not batch)

    def _take(self, wait: float) -> tuple[list[tuple[Write, object]], bool]:
        batch: list[tuple[Write, object]] = []
        try:
            item = self._queue.get(timeout=wait) if wait > 0 else self._queue.get_nowait()
            while item is not None:
                batch += item
                if len(batch) >= MAX_BATCH:
                    return batch, False
                item = self._queue.get_nowait()
        except Empty:
            return batch, False
        return batch, True

    def _write(self, batch: list[tuple[Write, object]]) -> None:
        outcomes: Sequence[Exception | None]
        try:
            outcomes = self._commit([write for write, _ in batch])
        except HeadwayError as error:
            outcomes = [error] * len(batch)
        except Exception as error:  # the thread must live on, and every caller must hear
            logger.exception("a batch of %d writes failed in a way nobody foresaw", len(batch))
            outcomes = [StoreError(f"the write failed: {error!r}")] * len(batch)
        failed = sum(outcome is not None for outcome in outcomes)
        self.commits += failed < len(batch)
        self.writes += len(batch) - failed
        self.failed_writes += failed
        self._report([Completion(tag, outcome) for (_, tag), outcome in zip(batch, outcomes, strict=True)])

    def _report(self, completions: list[Completion]) -> None:
        try:
            self._done(completions)
        except Exception:
            logger.exception("the listener of %d completions raised", len(completions))

    def _tidy(self, *, idle: bool) -> float:
        wait = self._tidy_again - time.monotonic()
        if wait > 0:
            return wait
        try:
            return self._chores(idle)
        except HeadwayError as error:
            logger.warning("tidying the store failed: %s", error)
        except Exception:
            logger.exception("tidying the store failed in a way nobody foresaw")
        self._tidy_again = time.monotonic() + AFTER_FAILURE
        return AFTER_FAILURE
