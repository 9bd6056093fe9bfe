"""The hub: the one door for reports and lifecycle events. Each is folded, stored and told on.

One event loop, one thread; only the store works in others. Everything that is shown comes from memory, and an answer to whoever
brought something is given only once it is durable.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from typing import Any, Final

from headway.errors import ConflictError, InvalidError, UnavailableError
from headway.hub import judging
from headway.hub.answering import answer_to, answer_to_event
from headway.hub.broadcast import Broadcast, Subscription
from headway.hub.clock import Clock, SteadyClock
from headway.hub.entry import Entry
from headway.hub.intake import Intake
from headway.hub.loading import load_jobs, put_back
from headway.hub.notifiers import Notifiers
from headway.hub.pacing import Pulse
from headway.hub.persist import Heard, Persister, waited_for
from headway.hub.query import page
from headway.hub.roster import Roster
from headway.hub.settings import HubSettings
from headway.hub.stats import HubStats
from headway.hub.ticker import Ticker
from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.directive import Answer
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import Changes, Job, JobKey, JobPage, JobQuery
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer, Registration
from headway.protocol.report import Envelope, Report
from headway.protocol.row import RowChanges
from headway.protocol.verdict import Condition
from headway.store.base import Store
from headway.tracking.actions import ask
from headway.tracking.fold import fold_lifecycle, fold_registration, fold_report
from headway.tracking.progress import overall
from headway.tracking.state import outcome, refuse_second
from headway.tracking.view import view

__all__ = ["Hub", "HubSettings", "HubStats"]

logger = logging.getLogger(__name__)

_NO_ENVELOPE: Final = Envelope()


class Hub:
    """All jobs, and the one way to change them. Its methods are called from one event loop."""

    def __init__(self, store: Store, *, clock: Clock | None = None, settings: HubSettings | None = None) -> None:
        self._store = store
        self._clock = clock or SteadyClock()
        self._settings = settings or HubSettings()
        self._roster = Roster()
        self._persister = Persister(store, self._clock, self._restore, self._settings.write_json)
        self._broadcast = Broadcast(
            self._roster, self._clock, interval=self._settings.broadcast_interval, replay=self._settings.replay
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._reports = self._duplicates = self._points = self._failed = 0
        self._ticker = Ticker(self._roster, self._clock, self._settings, self._turned)
        self._pulse = Pulse(self._ticker.tick, self._settings.tick)
        self.intake = Intake(self, self._clock)
        self.notifiers = Notifiers()
        self.ready = False
        """Whether it takes reports: from the end of :meth:`start` to the beginning of :meth:`stop`."""

    async def start(self) -> None:
        """Opens the store, loads every job, and begins to listen.

        Raises:
            StoreLockedError, StoreCorruptError, UnavailableError: as :meth:`Store.open`.
        """
        await self._persister.open()
        try:
            self._roster.fill(*await asyncio.to_thread(load_jobs, self._store))
        except BaseException:
            await self._persister.close()
            raise
        self._ticker.begin()
        self.tick()
        self.ready = True
        self._spawn(self._pulse.beat())
        if self._settings.spool is not None:
            self._spawn(self.intake.watch(self._settings.spool, self._settings.spool_interval))

    async def stop(self) -> None:
        """Stops listening, ends the watchers, and closes the store once everything is written."""
        self.ready = False
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._broadcast.close()
        for entry in map(self._roster.find, self._roster.live):  # what was learnt since it was written last
            if entry is not None and entry.job.judge is not None:
                entry.job.judge.fragment = None
                self._persister.keep_later(entry)
        await self._persister.close()

    # --- what comes in ---------------------------------------------------------------------------------------------

    async def ingest(
        self, key: JobKey, report: Report, envelope: Envelope = _NO_ENVELOPE, *, create: bool = False
    ) -> Answer:
        """As :meth:`take`; returns once it is persisted (a mere beat is not).

        Raises:
            NotFoundError, UnavailableError, StoreCorruptError: as :meth:`take`, and as its ``heard`` is told.
        """
        future, heard = waited_for()
        answer = self.take(key, report, heard, envelope, create=create)
        await future
        return answer

    def take(
        self, key: JobKey, report: Report, heard: Heard, envelope: Envelope = _NO_ENVELOPE, *, create: bool = False
    ) -> Answer:
        """Takes in one report; the answer may be given once ``heard`` is told that it is persisted (a mere beat is not).

        Raises:
            NotFoundError: no such job, and ``create`` is not given.
            UnavailableError: the server is starting or ending. ``heard`` is told of one, where it could not be persisted.
            StoreCorruptError: what is stored of the job cannot be understood; delete it, or use a newer Headway.
        """
        self._listening()
        self._reports += 1
        if report.status is None and report.headway is None:
            asyncio.get_running_loop().call_soon(heard, None)
            return Answer(interval=self._interval(), warnings=report.warnings)
        now = self._clock()
        entry = self._roster.find_or_add(key, now) if create else self._roster.entry(key)
        folded = fold_report(entry.job, report, envelope, now)
        if folded.newest:
            judging.observe(entry, folded)
            judge = entry.job.judge
            if judge is not None and judge.insight is None and entry.backlog is None:
                self._spawn(judging.rebuild(entry, self._store, self._settings.insight_points))
        self._duplicates += folded.duplicate
        self._points += len(folded.points)
        if folded.news:
            self._changed(entry)
        answer = answer_to(report, folded, entry.job, self._interval(), now)
        if folded.keep or entry.persisted is None:
            self._persister.keep_then(entry, folded.history, heard)
        else:
            asyncio.get_running_loop().call_soon(heard, None)
        return answer

    async def register(self, key: JobKey, registration: Registration, *, age: float = 0.0) -> tuple[Job, float]:
        """Makes a job known, or begins its next attempt; answers the job and the seconds between signs of life.

        ``age`` is how many seconds ago it happened, when it could not be told at once.

        Raises:
            ConflictError: the job lives under another attempt, with another runner or by itself.
            UnavailableError: it could not be persisted.
        """
        self._listening()
        now = self._clock()
        entry = self._roster.find(key)
        if entry is None:
            entry = self._roster.add(key, now)
        else:
            refuse_second(entry.job, registration, now - age)
        fold_registration(entry.job, registration, now, age)
        self._changed(entry)
        await self._persister.keep(entry)
        return self._view(entry), self._settings.heartbeat

    async def lifecycle(self, key: JobKey, event: Lifecycle) -> LifecycleAnswer:
        """Takes in a runner's event; returns once what it changes is persisted.

        Raises:
            NotFoundError: no such job.
            UnavailableError: it could not be persisted.
        """
        self._listening()
        entry = self._roster.entry(key)
        if fold_lifecycle(entry.job, event, self._clock()):
            self._changed(entry)
            await self._persister.keep(entry)
        return answer_to_event(event, entry.job, self._settings.heartbeat, self._clock())

    async def announce(self, key: JobKey) -> Job:
        """Makes a job known before anything of it is heard; one that is known stays as it is. Raises as :meth:`ingest`."""
        self._listening()
        entry = self._roster.find(key)
        if entry is None:
            entry = self._roster.add(key, self._clock())
            self._changed(entry)
            await self._persister.keep(entry)
        return self._view(entry)

    async def act(self, key: JobKey, kind: ActionKind, request: ActionRequest) -> Job:
        """Asks for something to be done to a job; answers the job, whose last action this is.

        Raises:
            NotFoundError: no such job.
            ConflictError, InvalidError: it cannot be done to the job as it is, or not like that.
            UnavailableError: it could not be persisted.
        """
        self._listening()
        entry = self._roster.entry(key)
        ask(entry.job, kind, request, f"{kind}-{secrets.token_hex(8)}", self._clock())
        self._changed(entry)
        await self._persister.keep(entry)
        return self._view(entry)

    async def delete(self, key: JobKey) -> None:
        """Forgets a job that has ended, with its history.

        Raises:
            NotFoundError: no such job.
            ConflictError: it has not ended.
            UnavailableError: it could not be deleted.
        """
        self._listening()
        if key in self._roster.unreadable:
            await self._persister.delete(key)
            del self._roster.unreadable[key]
            return
        entry = self._roster.entry(key)
        state = outcome(entry.job, overall(entry.job)).state
        if not state.ended:
            raise ConflictError(f"job {key} is {state}: stop it first")
        entry.deleting = True
        try:
            await self._persister.delete(key)
        except UnavailableError:
            entry.deleting = False
            raise
        self._roster.remove(entry)
        self._broadcast.changed(key)

    # --- what is asked ---------------------------------------------------------------------------------------------

    def job(self, key: JobKey) -> Job:
        """One job, as it is now.

        Raises:
            NotFoundError: no such job.
        """
        entry = self._roster.entry(key)
        if key in self._roster.live:
            self._ticker.look(entry)
        return self._view(entry)

    def jobs(self, query: JobQuery) -> JobPage:
        """One page of the jobs that match.

        Raises:
            InvalidError: the query cannot be answered; names the parameter.
        """
        return page(self._roster, query, self._clock(), self._view)

    async def series(self, key: JobKey, query: SeriesQuery) -> list[Series]:
        """Metric history of a job.

        Raises:
            NotFoundError: no such job.
            InvalidError: fewer than one point is asked for.
        """
        self._roster.entry(key)
        if query.points < 1:
            raise InvalidError(f"expected at least 1, got {query.points}", field="points")
        return await asyncio.to_thread(self._store.series, key, query)

    async def metrics(self, key: JobKey) -> list[str]:
        """Names of the metrics that a job has history of.

        Raises:
            NotFoundError: no such job.
        """
        self._roster.entry(key)
        return await asyncio.to_thread(self._store.metrics, key)

    def subscribe(
        self, *, namespace: str | None = None, name: str | None = None, last_event_id: str | None = None
    ) -> Subscription[Changes]:
        """Watches all jobs, those of a namespace, or one: a snapshot first, then what changes."""
        return self._broadcast.subscribe(namespace, name, last_event_id)

    def subscribe_rows(
        self, *, namespace: str | None = None, name: str | None = None, last_event_id: str | None = None
    ) -> Subscription[RowChanges]:
        """As :meth:`subscribe`, for what lists show."""
        return self._broadcast.subscribe_rows(namespace, name, last_event_id)

    def tick(self) -> None:
        """Looks at the clock now: silence becomes Silent or Lost, and news is judged."""
        for _ in self._ticker.tick():
            pass

    def stats(self) -> HubStats:
        """Counters since the start."""
        return HubStats(
            jobs=len(self._roster),
            running=len(self._roster.live),
            reports=self._reports,
            duplicates=self._duplicates,
            points=self._points,
            failed_writes=self._failed,
            waiting_writes=self._persister.waiting,
            watchers=self._broadcast.watchers,
            spooled_reports=self.intake.count,
        )

    # --- within ----------------------------------------------------------------------------------------------------

    def _listening(self) -> None:
        if not self.ready:
            raise UnavailableError("the server is starting or ending", retry_after=1.0)

    def _changed(self, entry: Entry) -> None:
        """Something was reported of a job, or asked of it."""
        entry.changed()
        self._roster.live.add(entry.job.key)
        self._broadcast.changed(entry.job.key)

    def _turned(self, entry: Entry, before: tuple[Condition, ...], now: float) -> None:
        """Time, or what was made of its points, has changed a job."""
        self.notifiers.tell(entry.job, before, now)
        entry.forget()
        self._broadcast.changed(entry.job.key)
        self._persister.keep_later(entry)

    def _interval(self) -> float:
        """Seconds between reports that runs are asked for: longer when the store is behind."""
        behind = self._persister.waiting / self._settings.busy_writes
        return self._settings.report_interval * (1.0 if behind <= 1.0 else min(10.0, behind))

    def _view(self, entry: Entry) -> Job:
        return view(entry.job, self._clock())

    def _restore(self, entry: Entry) -> None:
        """Puts a job back to what is persisted, after a write failed."""
        self._failed += 1
        if entry.persisted is None:
            self._roster.remove(entry)
        else:
            put_back(entry, entry.persisted)
        if self.ready:
            self._broadcast.changed(entry.job.key)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
