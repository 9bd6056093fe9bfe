"""Following the event stream without I/O: what to ask for next, what came, how long to wait after a break."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headway.client import operations
from headway.client.events import Backoff, EventParser, changes_of
from headway.client.operations import Operation
from headway.errors import RetryableError
from headway.protocol.job import Changes

STREAM_SILENCE: Final = 35.0
"""Seconds without a byte, not even a comment, after which an event stream is taken for dead."""


class Watch:
    """One following of the stream, over as many connections as it takes. ``now`` is any monotonic clock, in seconds."""

    def __init__(self, namespace: str | None, name: str | None, timeout: float | None, now: float) -> None:
        self._filter = (namespace, name)
        self._end = None if timeout is None else now + timeout
        self._parser = EventParser()
        self._last_id: str | None = None
        self._heard = False
        self._backoff = Backoff()

    def over(self, now: float) -> bool:
        """Whether the time is up."""
        return self._end is not None and now >= self._end

    def connect(self, now: float) -> Operation[None]:
        """The request for the next connection, which the server ends in time: a read waits as long after every byte."""
        self._parser = EventParser()
        return operations.events(*self._filter, self._last_id, None if self._end is None else self._end - now)

    def silence(self, now: float) -> float:
        """Seconds to wait for a byte at most."""
        return STREAM_SILENCE if self._end is None else min(STREAM_SILENCE, max(0.05, self._end - now))

    def feed(self, chunk: bytes) -> Iterator[Changes]:
        """The changes that ``chunk`` completes."""
        for event in self._parser.feed(chunk):
            changes = changes_of(event)
            if changes is not None:
                self._last_id = event.id or changes.id
                self._heard = True
                self._backoff.reset()
                yield changes

    def pause(self, error: RetryableError | None, now: float) -> float:
        """Seconds to wait before connecting again, after an error or the stream's end.

        Raises:
            RetryableError: ``error`` itself, when nothing was ever heard and there is time left: there is nothing to go on from.
        """
        if error is not None and not self._heard and not self.over(now):
            raise error
        wait = self._backoff.next()
        if error is not None and error.retry_after is not None:
            wait = max(wait, error.retry_after)
        return wait if self._end is None else min(wait, max(0.0, self._end - now))
