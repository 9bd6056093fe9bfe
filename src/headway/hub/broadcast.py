"""Tells watchers what changed: at most one message a second, made once for all who watch the same.

Nothing is queued for anybody. Each watcher remembers how far it has heard; the broadcast remembers which jobs changed in the
last messages. Whoever lags gets one message with the present state of all that changed since, and whoever was away too long
gets a snapshot. So a slow watcher costs a number, not memory.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headway.hub.clock import Clock
from headway.protocol.job import Changes, Job, JobKey

Show = Callable[[JobKey], Job | None]
"""The present view of a job; None when it is not there."""


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


@dataclass(slots=True)
class _Channel:
    """Everybody who watches the same."""

    watchers: set[Subscription] = field(default_factory=set)
    newest: int = -1
    """The message up to which those in ``made`` go."""
    made: dict[int, Changes] = field(default_factory=dict)
    """What changed since a message, by its number; -1: since ever."""


class Subscription:
    """One watcher: an asynchronous iterator of :class:`~headway.protocol.job.Changes`, a snapshot first.

    The same object is handed to all who watch the same, so that it need be serialised only once.
    """

    def __init__(self, broadcast: Broadcast, what: _Filter, heard: int | None) -> None:
        self._broadcast = broadcast
        self._what = what
        self._heard = heard
        self._news = asyncio.Event()
        self._closed = False
        if heard is None or heard < broadcast.newest:
            self._news.set()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Changes:
        while not self._closed:
            self._news.clear()
            changes = self._broadcast.since(self._what, self._heard)
            self._heard = self._broadcast.newest
            if changes is not None:
                return changes
            await self._news.wait()
        raise StopAsyncIteration

    def close(self) -> None:
        """Ends the iteration. May be called twice."""
        self._closed = True
        self._news.set()
        self._broadcast.leave(self._what, self)

    def notify(self) -> None:
        """There is news."""
        self._news.set()


class Broadcast:
    """The change log and its watchers. To be used from the loop's thread only."""

    def __init__(
        self, show: Show, keys: Callable[[], Iterable[JobKey]], clock: Clock, *, interval: float, replay: int
    ) -> None:
        self._show = show
        self._keys = keys
        self._clock = clock
        self._interval = interval
        self.epoch = secrets.token_hex(4)
        self.newest = 0
        """Number of the newest message."""
        self._log: deque[tuple[int, frozenset[JobKey]]] = deque(maxlen=replay)
        self._dirty: set[JobKey] = set()
        self._channels: dict[_Filter, _Channel] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = float("-inf")

    @property
    def watchers(self) -> int:
        """How many watch."""
        return sum(len(channel.watchers) for channel in self._channels.values())

    def subscribe(self, namespace: str | None, name: str | None, last_event_id: str | None) -> Subscription:
        """A new watcher. With a ``last_event_id`` that is still known it hears only what changed since."""
        what = _Filter(namespace, name)
        subscription = Subscription(self, what, self._number(last_event_id))
        self._channels.setdefault(what, _Channel()).watchers.add(subscription)
        return subscription

    def leave(self, what: _Filter, subscription: Subscription) -> None:
        """Forgets a watcher."""
        channel = self._channels.get(what)
        if channel is not None:
            channel.watchers.discard(subscription)
            if not channel.watchers:
                del self._channels[what]

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
        for channel in list(self._channels.values()):
            for subscription in list(channel.watchers):
                subscription.close()

    def _send(self) -> None:
        self._timer = None
        self._sent_at = asyncio.get_running_loop().time()
        self.newest += 1
        self._log.append((self.newest, frozenset(self._dirty)))
        self._dirty.clear()
        for channel in self._channels.values():
            for subscription in channel.watchers:
                subscription.notify()

    def since(self, what: _Filter, heard: int | None) -> Changes | None:
        """What changed for a watcher since message ``heard`` (None: since ever); None when nothing did."""
        if heard is not None and heard >= self.newest:
            return None
        begin = -1 if heard is None or heard < self._oldest() - 1 else heard
        channel = self._channels.get(what, _Channel())
        if channel.newest != self.newest:
            channel.newest = self.newest
            channel.made.clear()
        changes = channel.made.get(begin)
        if changes is None:
            changes = self._snapshot(what) if begin < 0 else self._changes(what, begin)
            if changes is not None:
                channel.made[begin] = changes
        return changes

    def _oldest(self) -> int:
        return self._log[0][0] if self._log else self.newest + 1

    def _number(self, last_event_id: str | None) -> int | None:
        epoch, _, number = (last_event_id or "").rpartition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > 18:
            return None
        heard = int(number)
        return heard if self._oldest() - 1 <= heard <= self.newest else None

    def _snapshot(self, what: _Filter) -> Changes:
        jobs = [self._show(key) for key in self._keys() if key in what]
        return Changes(
            id=self._id(), snapshot=True, jobs=tuple(job for job in jobs if job is not None), server_time=self._clock()
        )

    def _changes(self, what: _Filter, heard: int) -> Changes | None:
        keys = {key for number, changed in self._log if number > heard for key in changed if key in what}
        if not keys:
            return None
        jobs: list[Job] = []
        deleted: list[JobKey] = []
        for key in sorted(keys):
            job = self._show(key)
            if job is None:
                deleted.append(key)
            else:
                jobs.append(job)
        return Changes(id=self._id(), jobs=tuple(jobs), deleted=tuple(deleted), server_time=self._clock())

    def _id(self) -> str:
        return f"{self.epoch}-{self.newest}"
