"""What is still to be delivered, in order, each thing exactly once.

Points wait until a *batch* is made of them: a sequence number and the points that it will always carry, for the server
counts (run, seq) once however often it comes. At most one batch is under way; it is offered again, unchanged, until it is
acknowledged. What waits is bounded: beyond the limit the middle is merged pair by pair, so means stay exact and the newest
and the oldest points stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from headway.protocol.report import Checkpoint, Ending, Point
from headway.reporter.fold import merge

MOST_WAITING = 4096
"""Points kept in memory."""
_KEEP_ENDS = 256


@dataclass(slots=True)
class Batch:
    """One report's worth of news. ``lean`` once a server refused even a batch without points: the bare minimum goes then."""

    seq: int
    points: list[Point] = field(default_factory=list)
    checkpoint: Checkpoint | None = None
    ending: Ending | None = None
    lean: bool = False
    offers: int = 0
    """How often it was answered without being acknowledged."""

    @property
    def news(self) -> bool:
        """Whether it holds anything that would be missed."""
        return bool(self.points or self.checkpoint or self.ending)


class Outbox:
    """Points and facts on their way. Used under the reporter's lock."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most = most_waiting
        self.waiting: list[Point] = []
        self.checkpoint: Checkpoint | None = None
        self.ending: Ending | None = None
        self.batch: Batch | None = None
        self._seq = 0

    @property
    def full(self) -> bool:
        """More waits than memory should hold."""
        return len(self.waiting) > self._most

    @property
    def empty(self) -> bool:
        """All that was ever news is delivered."""
        return (
            not self.waiting
            and self.checkpoint is None
            and self.ending is None
            and (self.batch is None or not self.batch.news)
        )

    def add(self, points: list[Point]) -> None:
        """New points, in order of time. Far beyond the bound (nowhere to spool, nobody to take them) the middle is merged."""
        self.waiting.extend(points)
        while len(self.waiting) > 2 * self._most:
            self.thin()

    def next_batch(self, fit: Callable[[list[Point]], tuple[list[Point], list[Point]]]) -> Batch:
        """The batch under way, or a new one of the oldest points, as many as ``fit`` says; the ending goes with the last."""
        if self.batch is None:
            self._seq += 1
            fitted, self.waiting = fit(self.waiting)
            self.batch = Batch(self._seq, fitted)
            self.batch.checkpoint, self.checkpoint = self.checkpoint, None
            if not self.waiting:
                self.batch.ending, self.ending = self.ending, None
        return self.batch

    def delivered(self) -> None:
        """The batch under way is acknowledged, or kept elsewhere."""
        self.batch = None

    def shrink(self) -> str | None:
        """Makes the batch smaller after a refusal, which tells for certain that it was not taken in.

        Half of its points go back; a single refused point is dropped; then everything but identity and progress is left
        out; and what is refused even so is given up. Returns what was lost, in words.
        """
        batch = self.batch
        if batch is None:
            return None
        if len(batch.points) > 1:
            half = len(batch.points) // 2
            self.waiting[:0] = batch.points[half:]
            del batch.points[half:]
            if batch.ending is not None:
                self.ending, batch.ending = batch.ending, None
            return None
        if batch.points:
            step = batch.points.pop().step
            return f"the point at step {step}"
        if not batch.lean:
            batch.lean = True
            return None
        self.batch = None
        return "a report"

    def thin(self) -> None:
        """Merges neighbours in the middle until what waits is within its bound."""
        if self.full:
            points, ends = self.waiting, min(_KEEP_ENDS, self._most // 4)
            middle = points[ends:-ends]
            pairs = zip(islice(middle, 0, None, 2), islice(middle, 1, None, 2), strict=False)
            merged = [merge(older, newer) for older, newer in pairs]
            if len(middle) % 2:
                merged.append(middle[-1])
            self.waiting = points[:ends] + merged + points[-ends:]
