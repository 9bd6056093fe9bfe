"""Waiting for a job without I/O: what the event stream brings goes in, and whether the wait is over comes out.

The stream is asked anew now and then, so that what only takes time (a condition that stands for an hour) is noticed although
nothing changes. Times are the server's, so the caller's clock does not matter.
"""

from __future__ import annotations

from typing import Final

from headway.client.events import Backoff
from headway.client.until import Until
from headway.errors import JobEndedError, NotFoundError, RetryableError, UnavailableError, WaitTimeoutError
from headway.protocol.job import Changes, Job, JobKey

SPAN: Final = 10.0
"""Seconds after which the stream is asked anew."""


class Waiting:
    """One wait. ``now`` is any monotonic clock, in seconds."""

    def __init__(self, key: JobKey, until: Until, timeout: float | None, now: float) -> None:
        self._key, self._until = key, until
        self._timeout = timeout
        self._end = None if timeout is None else now + timeout
        self._backoff = Backoff()
        self.job: Job | None = None
        """The job as it was heard of last."""
        self.over = False
        """Whether what is waited for has come."""

    def take(self, changes: Changes) -> Job | None:
        """The job, if it is other than before.

        Raises:
            NotFoundError: there is no such job, or no longer.
            JobEndedError: it has ended, and what is waited for has not come.
        """
        self._backoff.reset()
        job = next((each for each in changes.jobs if JobKey(each.namespace, each.name) == self._key), None)
        if self._key in changes.deleted or (job is None and changes.snapshot):
            raise NotFoundError(f"there is no job {self._key}; `headway ls -A` lists those that there are")
        if job is None:
            return None
        news = job if job != self.job else None
        self.job = job
        self.over = self._until(job, changes.server_time)
        if job.state.ended and not self.over:
            raise JobEndedError(f"job {self._key} is {job.summary}, and will not come to {self._until}")
        return news

    def span(self, now: float) -> float:
        """Seconds for which to follow the stream next.

        Raises:
            WaitTimeoutError: the time is up.
        """
        if self._end is None:
            return SPAN
        if now >= self._end:
            where = "it was not heard of" if self.job is None else f"it is {self.job.summary}"
            raise WaitTimeoutError(f"job {self._key} did not come to {self._until} within {self._timeout:g} s: {where}")
        return min(SPAN, self._end - now)

    def pause(self, error: RetryableError | None) -> float:
        """Seconds to wait before the stream is asked again, after it ended well (None) or badly.

        Raises:
            RetryableError: nothing was ever heard.
        """
        if self.job is None:
            raise error or UnavailableError("the server told nothing of its jobs")
        if error is None:
            return 0.0
        return max(self._backoff.next(), error.retry_after or 0.0)
