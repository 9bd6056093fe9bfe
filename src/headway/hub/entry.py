"""One job in the hub's hands: what is remembered, what of it is persisted, and what waits to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from headway.errors import UnavailableError
from headway.protocol.job import State
from headway.protocol.report import Point
from headway.protocol.row import JobRow, row_of
from headway.protocol.verdict import Verdict
from headway.tracking.fold import History
from headway.tracking.merging import Unread
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import framework_of, view

FRESH: Final = 1.0
"""Seconds for which the facts of a running job hold."""

ROW_FRESH: Final = 10.0
"""Seconds for which the row of a running job holds: its ages are counted on by whoever shows it, its costs are not."""

QUIET: Final = 60.0
"""Seconds after which what was learnt of a job that has ended is let go."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What lists filter and sort by."""

    at: float
    state: State
    verdict: Verdict | None
    framework: str | None
    tags: frozenset[str]
    percent: int | None
    eta: float | None
    spent: float | None


Heard: TypeAlias = Callable[[UnavailableError | None], None]
"""Hears that something is durable (None), or why not."""


class Waiting(NamedTuple):
    """Points that wait to be stored, and who waits for it (None: nobody)."""

    history: History | None
    heard: Heard | None


@dataclass(slots=True, eq=False)
class Group:
    """Writes that were handed to the store together: the last one carries the document that holds the effects of all."""

    waiting: list[Waiting]
    document: bytes
    left: int
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Entry:
    """One job in the hub's hands."""

    job: TrackedJob
    persisted: bytes | None = None
    """The document that is on disk."""
    queue: list[Waiting] = field(default_factory=list)
    group: Group | None = None
    """The writes under way: one group at a time, so that a failure is known before anything is built on it."""
    deleting: bool = False
    unjudged: bool = True
    """Whether there is news that insight has not been asked about."""
    backlog: list[Point] | None = None
    """Points that came while insight was being rebuilt from the history."""
    unread: Unread = field(default_factory=Unread)
    """Points of the current attempt that insight has still to read."""
    unread_epoch: float | None = None
    """The epoch at the last of them."""
    _facts: Facts | None = None
    _row: JobRow | None = None

    def forget(self) -> None:
        """Forgets what was derived."""
        self._facts = self._row = None

    def changed(self) -> None:
        """There is news."""
        self._facts = self._row = None
        self.unjudged = True

    def quiet(self, now: float) -> bool:
        """Whether nothing more comes from a job that has ended. One that is Lost may report on: what it taught is kept."""
        judge = self.job.judge
        return not self.unjudged and (judge is None or now - judge.spoke_at > QUIET)

    def facts(self, now: float) -> Facts:
        """What lists filter and sort by."""
        facts = self._facts
        if facts is None or (facts.state is State.RUNNING and not 0 <= now - facts.at < FRESH):
            shown = view(self.job, now)
            spent = shown.ledger.spent
            facts = self._facts = Facts(
                at=now,
                state=shown.state,
                verdict=shown.verdict,
                framework=framework_of(self.job),
                tags=frozenset(shown.tags),
                percent=shown.progress.percent,
                eta=shown.eta.seconds if shown.eta is not None else None,
                spent=spent.money if spent.money is not None else spent.device_hours,
            )
        return facts

    def row(self, now: float) -> JobRow:
        """What lists show: made again when the job has changed, or its costs have grown."""
        row = self._row
        if row is None or (row.state is State.RUNNING and not 0 <= now - row.at < ROW_FRESH):
            row = self._row = row_of(view(self.job, now, whole=False), now)
        return row
