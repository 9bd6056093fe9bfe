"""Tells watchers what changed: at most one message a second, made once for all who watch the same.

Nothing is queued for anybody. Each watcher remembers how far it has heard; the broadcast remembers which jobs changed in the
last messages. Whoever lags gets one message with the present state of all that changed since, and whoever was away too long
gets a snapshot. So a slow watcher costs a number, not memory.

There are two kinds of messages: whole documents (:class:`~headway.protocol.job.Changes`), and rows of a list
(:class:`~headway.protocol.row.RowChanges`), whose snapshot comes in parts, so that making it holds up nobody.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Generic, TypeVar

from headway.hub.clock import Clock
from headway.hub.entry import Entry
from headway.hub.roster import Roster
from headway.protocol.job import Changes, Job, JobKey
from headway.protocol.row import JobRow, RowChanges
from headway.tracking.view import view

PART: Final = 250
"""Rows in one part of a snapshot: made in about 25 ms."""

Shown = TypeVar("Shown", Job, JobRow)
Told = TypeVar("Told", Changes, RowChanges)


@dataclass(frozen=True, slots=True)
class _Filter:
    namespace: str | None
    name: str | None

    def __contains__(self, key: object) -> bool:
        return (
            isinstance(key, JobKey)
            and self.namespace in (None, key.namespace)
            and self.name in (None, key.name)
        )  # fmt: skip


class _Shared(Generic[Told]):
    """Messages one after the other, each made when the first watcher comes to it."""

    def __init__(self, source: Iterator[Told]) -> None:
        self._source: Iterator[Told] = source
        self._made: list[Told] = []

    def __iter__(self) -> Iterator[Told]:
        for index in count():
            if index == len(self._made):
                made = next(self._source, None)
                if made is None:
                    return
                self._made.append(made)
            yield self._made[index]


Making = Callable[["Broadcast", _Filter, "int | None"], Iterator[Told]]
"""Makes the messages of what changed since a message; None: a snapshot."""


@dataclass(slots=True)
class _Channel(Generic[Told]):
    """Everybody who watches the same, shown in the same way."""

    making: Making[Told]
    watchers: set[Subscription[Told]] = field(default_factory=set)
    newest: int = -1
    """The message up to which those in ``made`` go."""
    made: dict[int | None, _Shared[Told]] = field(default_factory=dict)
    """What changed since a message, by its number; None: since ever."""


class Subscription(Generic[Told]):
    """One watcher: an asynchronous iterator of messages, a snapshot first.

    The same object is handed to all who watch the same, so that it need be serialised only once.
    """

    def __init__(self, broadcast: Broadcast, what: _Filter, channel: _Channel[Told], heard: int | None) -> None:
        self._broadcast = broadcast
        self._what = what
        self._channel: _Channel[Told] = channel
        self._heard = heard
        self._coming: Iterator[Told] = iter(())
        self._news = asyncio.Event()
        self._closed = False

    def __aiter__(self) -> Subscription[Told]:
        return self

    async def __anext__(self) -> Told:
        while not self._closed:
            message = next(self._coming, None)
            if message is not None:
                return message
            self._news.clear()
            if self._heard is not None and self._heard >= self._broadcast.newest:
                await self._news.wait()
            else:
                self._coming = iter(self._broadcast.since(self._what, self._channel, self._heard))
                self._heard = self._broadcast.newest
        raise StopAsyncIteration

    def close(self) -> None:
        """Ends the iteration. May be called twice."""
        self._closed = True
        self._news.set()
        self._broadcast.leave(self._what, self._channel, self)

    def notify(self) -> None:
        """There is news."""
        self._news.set()


class Broadcast:
    """The change log and its watchers. To be used from the loop's thread only."""

    def __init__(self, roster: Roster, clock: Clock, *, interval: float, replay: int) -> None:
        self._roster = roster
        self._clock = clock
        self._interval = interval
        self.epoch = secrets.token_hex(4)
        self.newest = 0
        """Number of the newest message."""
        self._log: deque[tuple[int, frozenset[JobKey]]] = deque(maxlen=replay)
        self._dirty: set[JobKey] = set()
        self._documents: dict[_Filter, _Channel[Changes]] = {}
        self._rows: dict[_Filter, _Channel[RowChanges]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = float("-inf")

    @property
    def watchers(self) -> int:
        """How many watch."""
        return sum(1 for _ in self._watchers())

    def subscribe(self, namespace: str | None, name: str | None, last_event_id: str | None) -> Subscription[Changes]:
        """A new watcher of documents. With a ``last_event_id`` that is still known it hears only what changed since."""
        what = _Filter(namespace, name)
        return self._admit(what, self._documents.setdefault(what, _Channel(_documents)), last_event_id)

    def subscribe_rows(
        self, namespace: str | None, name: str | None, last_event_id: str | None
    ) -> Subscription[RowChanges]:
        """A new watcher of rows."""
        what = _Filter(namespace, name)
        return self._admit(what, self._rows.setdefault(what, _Channel(_rows)), last_event_id)

    def _admit(self, what: _Filter, channel: _Channel[Told], last_event_id: str | None) -> Subscription[Told]:
        subscription = Subscription(self, what, channel, self._number(last_event_id))
        channel.watchers.add(subscription)
        return subscription

    def leave(self, what: _Filter, channel: _Channel[Told], subscription: Subscription[Told]) -> None:
        """Forgets a watcher."""
        channel.watchers.discard(subscription)
        if not channel.watchers:
            for channels in (self._documents, self._rows):
                if channels.get(what) is channel:
                    del channels[what]

    def changed(self, key: JobKey) -> None:
        """Notes that a job changed, came or went; watchers hear within an interval."""
        self._dirty.add(key)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._sent_at + self._interval), self._send)

    def close(self) -> None:
        """Ends all watchers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for subscription in list(self._watchers()):
            subscription.close()

    def _watchers(self) -> Iterator[Subscription[Changes] | Subscription[RowChanges]]:
        for documents in self._documents.values():
            yield from documents.watchers
        for rows in self._rows.values():
            yield from rows.watchers

    def _send(self) -> None:
        self._timer = None
        self._sent_at = asyncio.get_running_loop().time()
        self.newest += 1
        self._log.append((self.newest, frozenset(self._dirty)))
        self._dirty.clear()
        for subscription in self._watchers():
            subscription.notify()

    def since(self, what: _Filter, channel: _Channel[Told], heard: int | None) -> _Shared[Told]:
        """The messages that tell what changed since message ``heard`` (None: since ever)."""
        begin = None if heard is None or heard < self._oldest() - 1 else heard
        if channel.newest != self.newest:
            channel.newest = self.newest
            channel.made.clear()
        made = channel.made.get(begin)
        if made is None:
            made = channel.made[begin] = _Shared(channel.making(self, what, begin))
        return made

    def _oldest(self) -> int:
        return self._log[0][0] if self._log else self.newest + 1

    def _number(self, last_event_id: str | None) -> int | None:
        epoch, _, number = (last_event_id or "").rpartition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > 18:
            return None
        heard = int(number)
        return heard if self._oldest() - 1 <= heard <= self.newest else None

    # --- what messages are made of -----------------------------------------------------------------------------------

    def now(self) -> float:
        """The server's clock."""
        return self._clock()

    def id(self) -> str:
        """The id of the newest message."""
        return f"{self.epoch}-{self.newest}"

    def known(self, what: _Filter) -> list[JobKey]:
        """All jobs, in the order in which they became known."""
        return [entry.job.key for entry in self._roster if entry.job.key in what]

    def altered(self, what: _Filter, heard: int) -> list[JobKey]:
        """The jobs that came, changed or went after message ``heard``."""
        return sorted({key for number, changed in self._log if number > heard for key in changed if key in what})

    def present(
        self, keys: list[JobKey], show: Callable[[Entry, float], Shown]
    ) -> tuple[tuple[Shown, ...], tuple[JobKey, ...]]:
        """Jobs as they are shown now, and the keys of those that are not there."""
        now = self._clock()
        shown: list[Shown] = []
        gone: list[JobKey] = []
        for key in keys:
            entry = self._roster.find(key)
            if entry is None:
                gone.append(key)
            else:
                shown.append(show(entry, now))
        return tuple(shown), tuple(gone)


def _documents(broadcast: Broadcast, what: _Filter, heard: int | None) -> Iterator[Changes]:
    message = broadcast.id()
    keys = broadcast.known(what) if heard is None else broadcast.altered(what, heard)
    jobs, gone = broadcast.present(keys, lambda entry, now: view(entry.job, now))
    if heard is None:
        yield Changes(id=message, snapshot=True, jobs=jobs, server_time=broadcast.now())
    elif keys:
        yield Changes(id=message, jobs=jobs, deleted=gone, server_time=broadcast.now())


def _rows(broadcast: Broadcast, what: _Filter, heard: int | None) -> Iterator[RowChanges]:
    message = broadcast.id()
    if heard is not None:
        keys = broadcast.altered(what, heard)
        if keys:
            rows, gone = broadcast.present(keys, Entry.row)
            yield RowChanges(id=message, rows=rows, deleted=gone, server_time=broadcast.now())
        return
    keys = broadcast.known(what)[::-1]
    for begin in range(0, max(1, len(keys)), PART):
        rows, _ = broadcast.present(keys[begin : begin + PART], Entry.row)
        more = begin + PART < len(keys)
        yield RowChanges(id=message, snapshot=True, more=more, rows=rows, server_time=broadcast.now())
