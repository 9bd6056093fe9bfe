"""Hands on what the relay keeps, one report after the other, for as long as it takes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from headway.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, RetryableError
from headway.protocol.directive import Answer
from headway.reporter.backoff import Backoff
from headway.runner.answers import Answers
from headway.runner.relay.queue import Queued, ReportQueue

_log = logging.getLogger("headway.runner")


class Forwarder:
    """One thread between the queue and the server.

    Args:
        queue: where reports wait.
        answers: hears what the server says to each.
        send: posts one; raises as :meth:`headway.client.client.Client.report` does.
        renew: called when the server no longer knows the job or the token.
        say: tells the user one line.
    """

    def __init__(
        self,
        queue: ReportQueue,
        answers: Answers,
        send: Callable[[Queued], Answer | None],
        renew: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._say = say
        self._queue = queue
        self._answers = answers
        self._send = send
        self._renew = renew
        self._backoff = Backoff(first=0.25, last=10.0)
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-forward", daemon=True)
        self.dropped = 0
        """Reports that the server refused for good."""

    def start(self) -> None:
        """Begins to hand on."""
        self._thread.start()

    def flush(self, timeout: float) -> bool:
        """Whether everything was handed on within ``timeout`` seconds; waits between tries are cut short."""
        self._hurry.set()
        return self._queue.wait_empty(timeout)

    def close(self, timeout: float = 1.0) -> None:
        """Ends the thread; a request under way gets ``timeout`` seconds."""
        self._stop.set()
        self._hurry.set()
        self._queue.wake()
        self._thread.join(timeout)

    def nudge(self) -> None:
        """The server is back: try now."""
        self._hurry.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                kept = self._queue.peek(timeout=1.0)
            except OSError as error:
                self._drop(f"it can no longer be read: {error}")
                continue
            if kept is None:
                continue
            wait = self._try(kept)
            if wait and self._hurry.wait(wait):
                self._hurry.clear()

    def _try(self, kept: Queued) -> float:
        """Sends one report; seconds to wait before the next try."""
        began = time.monotonic()

        def wait(asked: float | None = None) -> float:
            return self._backoff.next(time.monotonic() - began, asked or 0.0)

        try:
            answer = self._send(kept)
        except (InvalidError, ConflictError) as error:
            self._drop(str(error))
            return 0.0
        except (ForbiddenError, NotFoundError) as error:
            _log.debug("the server turned a report away, so the job is registered anew: %s", error)
            self._renew()
            return wait()
        except RetryableError as error:
            _log.debug("a report waits: %s", error)
            return wait(error.retry_after)
        except Exception as error:  # noqa: BLE001 - whatever it is, reports go on being kept and tried
            _log.debug("a report waits, for the server failed: %r", error)
            return wait()
        self._backoff.reset()
        if answer is not None:
            self._answers.heard(kept.source, answer)
        self._queue.done()
        return 0.0

    def _drop(self, why: str) -> None:
        self.dropped += 1
        if self.dropped == 1:
            self._say(f"the server refused a report, which is left out (as others may be): {why}")
        self._queue.done()
