"""Writes to a store and waits for the answer: what the contract suite, and any other test of a store, is written with."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from headway.protocol.history import Series
from headway.protocol.job import JobKey
from headway.protocol.report import Cell, Point
from headway.store.base import Completion, PointBatch, Store, Write

JOB = JobKey("local", "fraud-ft")
"""The job that writes are of, if nothing else is said."""


class Opened:
    """An open store and what its listener heard."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.heard: list[Completion] = []
        self._news = threading.Condition()
        store.open(self._listen)

    def _listen(self, completions: Sequence[Completion]) -> None:
        with self._news:
            self.heard += completions
            self._news.notify_all()

    def wait(self, count: int, seconds: float = 20.0) -> None:
        """Waits until ``count`` completions have been heard since the opening."""
        with self._news:
            if not self._news.wait_for(lambda: len(self.heard) >= count, seconds):
                raise AssertionError(f"{len(self.heard)} of {count} writes were answered within {seconds} s")

    def write(self, *writes: Write) -> list[Exception | None]:
        """Submits writes together and waits for them; answers their outcomes in order."""
        before = len(self.heard)
        for write in writes:
            self.store.submit(write, object())
        self.wait(before + len(writes))
        return [completion.error for completion in self.heard[before:]]

    def keep(self, *writes: Write) -> None:
        """Like :meth:`write`, and all must succeed."""
        outcomes = self.write(*writes)
        if any(outcomes):
            raise AssertionError(f"not all writes were kept: {outcomes}")


def document(text: str, key: JobKey = JOB) -> Write:
    """A write of a document alone."""
    return Write(key=key, document=text.encode())


def reported(
    seq: int, *points: Point, key: JobKey = JOB, attempt: str = "a-1", run: str = "r-1", text: str | None = None
) -> Write:
    """A write of one report's points, with a document if ``text`` is given."""
    return Write(
        key=key,
        document=None if text is None else text.encode(),
        points=PointBatch(attempt=attempt, run=run, seq=seq, points=points),
    )


def at(step: int, t: float | None = None, **metrics: float | Cell) -> Point:
    """A point, with plain numbers as single samples; ``t`` is a tenth of a second a step if not given."""
    cells = {
        name: value if isinstance(value, Cell) else Cell(float(value), bad=0 if math.isfinite(value) else 1)
        for name, value in metrics.items()
    }
    return Point(step, step / 10 if t is None else t, cells)


def steps(series: Series) -> list[int]:
    """Its steps, in order."""
    return [point.step for point in series.points]
