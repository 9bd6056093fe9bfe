"""Brings batches to the server, or keeps them: one exchange at a time, in order, each exactly once.

The reporter's thread calls :meth:`Delivery.deliver`. The lock is held while books are kept, never while the network is waited
for, so that the end of a run can take over (:meth:`Delivery.rescue`) from a thread that hangs there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from headway.errors import (
    ForbiddenError,
    HeadwayError,
    InvalidError,
    NotFoundError,
    RetryableError,
    TooLargeError,
    UnavailableError,
)
from headway.protocol.codec import dumps
from headway.protocol.directive import Answer
from headway.reporter.backoff import Backoff
from headway.reporter.compose import POINTS_BYTES, Moment, compose, fit
from headway.reporter.notices import Notices, log
from headway.reporter.outbox import Batch, Outbox
from headway.reporter.route import Route
from headway.reporter.settings import Settings
from headway.reporter.transports.spool import SpoolLine

_MOST_OFFERS: Final = 3
"""Answers without acknowledgement after which a batch that was taken (200) is not offered again."""
_LONGEST_STRETCH: Final = 0.5
_PAUSE: Final = 0.05
_LEAST_BYTES: Final = 1024
_LONGEST_RETRY_AFTER: Final = 120.0


class Delivery:
    """The books of what is under way.

    Args:
        route: where to.
        outbox: what.
        moment: makes the snapshot that goes with a batch.
        heard: is told each answer.
        settings: times.
        notices: for what people should know.
    """

    def __init__(
        self,
        *,
        route: Route,
        outbox: Outbox,
        moment: Callable[[], Moment],
        heard: Callable[[Answer], None],
        settings: Settings,
        notices: Notices,
    ) -> None:
        self.lock = threading.Lock()
        self.route = route
        self.outbox = outbox
        self.describe = True
        """The run's description is still to be told."""
        self._moment = moment
        self._heard = heard
        self._settings = settings
        self._notices = notices
        self._backoff = Backoff(settings.first_backoff, settings.last_backoff)
        self._most_bytes = POINTS_BYTES
        self._closed = False

    def closed(self) -> bool:
        """Whether the end of the run has taken over."""
        return self._closed

    def deliver(self) -> float | None:
        """Sends what there is, oldest first, at least one report.

        Returns None when done, else seconds to wait: after a failure, or because the folding of steps is due in between.
        """
        pause_at = time.monotonic() + _LONGEST_STRETCH
        while True:
            http = self.route.server()
            with self.lock:
                if self.closed():
                    return None
                kept = self.route.spool.first() if self.route.spool is not None else None
                if http is None or kept is not None:
                    self._keep()
                if http is None:
                    return None
                plain = self.route.plain
                body, age = self._body(kept, plain=plain)
            began = time.monotonic()
            try:
                answer = http.post(body, age=age)
            except HeadwayError as error:
                with self.lock:
                    if self.closed():
                        return None
                    wait = self._failed(error, kept, time.monotonic() - began)
                if wait is not None:
                    return wait
                continue
            with self.lock:
                if self.closed() or not self._succeeded(answer, kept, plain=plain):
                    return None
            if time.monotonic() >= pause_at:
                return _PAUSE

    def rescue(self, wait: float) -> bool:
        """Spools all that is left and closes the books: nothing that the thread still does counts from now on.

        Returns whether all is kept. Waits for the lock no longer than ``wait`` seconds.
        """
        if not self.lock.acquire(timeout=wait):
            return False
        try:
            if self._closed:
                return True
            self._closed = True
            kept = self.outbox.empty or self.route.plain or self._keep()
            if self.route.spool is not None:
                self.route.spool.close(delete=self.route.spool.first() is None)
            return kept
        finally:
            self.lock.release()

    def _body(self, kept: SpoolLine | None, *, plain: bool) -> tuple[bytes, float]:
        if kept is not None and self.route.spool is not None:
            return dumps(kept.body), self.route.spool.age(kept)
        return compose(self._batch(), self._moment(), plain=plain), 0.0

    def _batch(self) -> Batch:
        return self.outbox.next_batch(partial(fit, most_bytes=self._most_bytes))

    def _keep(self) -> bool:
        """Moves all that would be missed into the spool; False when that cannot be."""
        try:
            while not self.outbox.empty or self.describe:
                batch, moment = self._batch(), self._moment()
                self.route.open_spool(moment.attempt).append(compose(batch, moment))
                self.outbox.delivered()
                self.describe = False
        except UnavailableError as error:
            self._notices.once("spool", f"{error}; what fits stays in memory")
            return False
        return True

    def _succeeded(self, answer: Answer | None, kept: SpoolLine | None, *, plain: bool) -> bool:
        """Notes what an answer means; True when there is more to send at once."""
        if self._backoff.failures:
            log.info("the server takes reports again")
        self._backoff.reset()
        if answer is not None:
            self.route.take_interval(answer.interval)
        if kept is not None and self.route.spool is not None:
            self.route.spool.drop()
            if self.route.spool.first() is None:
                self.route.spool.close(delete=True)
                self.route.spool = None
            if answer is not None:
                self._heard(answer)
            return True
        if plain and answer is not None:
            self.route.plain = False  # it speaks our protocol: tell it everything
            return True
        if answer is not None:
            self.describe = "job" in answer.want
            self._heard(answer)
        batch = self._batch()
        batch.offers += 1
        acknowledged = plain or (answer is not None and answer.ack is not None and answer.ack >= batch.seq)
        if acknowledged or batch.offers >= _MOST_OFFERS:
            self.outbox.delivered()
            if plain:
                self.outbox.waiting.clear()  # a stock server wants no points
            return not self.outbox.empty
        return False

    def _failed(self, error: HeadwayError, kept: SpoolLine | None, took: float) -> float | None:
        """Notes a failure of a try that ``took`` some seconds; returns seconds to wait, or None to go on at once with less."""
        if isinstance(error, InvalidError):
            return self._refused(error, kept)
        self.route.lost()
        if isinstance(error, ForbiddenError):
            hint = "the token does not open this job"
        elif isinstance(error, NotFoundError):
            hint = "the server does not know this job"
        else:
            hint = "training goes on, and reports are kept"
        where = f"{self.route.job.namespace}/{self.route.job.name}"
        if self.route.local:
            log.debug("the local server did not answer (%s)", error)
        else:
            self._notices.warn(f"reporting {where} failed ({error}); {hint}")
        if self.route.local or (self.outbox.full and not self.route.plain):
            self._keep()
        self.outbox.thin()
        retry_after = error.retry_after if isinstance(error, RetryableError) else None
        return self._backoff.next(took, min(retry_after or 0.0, _LONGEST_RETRY_AFTER))

    def _refused(self, error: InvalidError, kept: SpoolLine | None) -> float | None:
        if kept is not None and self.route.spool is not None:
            self.route.spool.drop()
            self._notices.warn(f"the server refused a kept report ({error}); it was left out")
            return None
        if isinstance(error, TooLargeError):
            self._most_bytes = max(_LEAST_BYTES, self._most_bytes // 2)
        lost = self.outbox.shrink()
        if lost is None:
            return None
        self._notices.warn(f"the server refused {lost} ({error}); it was left out")
        return self._settings.last_backoff if self.outbox.batch is None else self._settings.first_backoff
