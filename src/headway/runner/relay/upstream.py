"""A TrainJob's own status server goes on hearing of the run, although its processes report to the relay.

Kubeflow Trainer gives the processes of a TrainJob a URL, and shows what is posted there on the TrainJob itself. ``headway run``
puts its relay in that place; what a run says in Kubeflow's terms is then handed on to the platform from here: the newest status
alone, no more often than Kubeflow's own clients post, beside the reports and never in their way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from headway.errors import HeadwayError, InvalidError, RetryableError
from headway.protocol.codec import dumps
from headway.reporter.backoff import Backoff
from headway.reporter.transports.http import HttpTransport

_log = logging.getLogger("headway.runner")

_EVERY: Final = 5.0
"""Least seconds between two posts, as in Kubeflow's clients: its server takes five a second from all jobs together."""
_TIMEOUT: Final = 5.0


class Upstream:
    """One thread that posts the newest status.

    Args:
        transport: the way to the platform's status server.
        say: tells the user one line.
        every: least seconds between two posts.
    """

    def __init__(self, transport: HttpTransport, say: Callable[[str], None], *, every: float = _EVERY) -> None:
        self._transport, self._say, self._every = transport, say, every
        self._backoff = Backoff(first=every, last=2 * every)
        self._changed = threading.Condition()
        self._newest: dict[str, Any] | None = None
        self._closing = self._complained = False
        self._thread = threading.Thread(target=self._run, name="headway-upstream", daemon=True)

    @classmethod
    def from_env(cls, environ: Mapping[str, str], say: Callable[[str], None]) -> Self | None:
        """To where the platform said; None where it said nothing."""
        url = environ.get("KUBEFLOW_TRAINER_SERVER_URL", "")
        if not url.startswith(("http://", "https://")):
            return None
        token, ca_file = environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN"), environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT")
        transport = HttpTransport(
            url,
            token_file=Path(token) if token else None,
            ca_file=Path(ca_file) if ca_file else None,
            timeout=_TIMEOUT,
        )
        return cls(transport, say)

    def start(self) -> None:
        """Begins to hand on."""
        self._thread.start()

    def offer(self, status: dict[str, Any]) -> None:
        """The newest ``trainerStatus``, as it came; an older one that was not posted yet is forgotten. Waits for nothing."""
        with self._changed:
            self._newest = status
            self._changed.notify_all()

    def close(self, timeout: float) -> None:
        """Posts what is newest without further ado, and ends; within ``timeout`` seconds."""
        self._transport.limit(timeout)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._closing)
                status, self._newest = self._newest, None
                last = self._closing
            wait = self._every if status is None else self._post(status)
            with self._changed:
                if last:
                    self._transport.close()
                    return
                self._changed.wait_for(lambda: self._closing, wait)

    def _post(self, status: dict[str, Any]) -> float:
        """Posts one; seconds to wait before the next."""
        began = time.monotonic()
        try:
            self._transport.post(dumps({"trainerStatus": status}))
        except HeadwayError as error:
            _log.debug("the platform's status server was not told: %s", error)
            if not self._complained and not isinstance(error, RetryableError):
                self._complained = True
                self._say(f"the platform's own status server does not take what is handed on to it: {error}")
            if not isinstance(error, InvalidError):
                with self._changed:
                    self._newest = self._newest or status
            asked = error.retry_after if isinstance(error, RetryableError) else None
            return max(self._every, self._backoff.next(time.monotonic() - began, asked or 0.0))
        self._backoff.reset()
        return self._every
