"""Where the reports of one run go.

The first that fits, as docs/reference/wire.md says:

1. ``HEADWAY_URL``, said on purpose;
2. ``KUBEFLOW_TRAINER_SERVER_URL``: a stock server must never see a ``headway`` object, so it is sent only once an answer
   carried one;
3. the server of this user on this machine, looked for again and again;
4. the spool, for what nobody takes.
"""

from __future__ import annotations

import time
from typing import Final
from urllib.parse import quote

from headway.errors import SettingsError
from headway.protocol.job import JobKey
from headway.protocol.limits import LOCAL_NAMESPACE, STATUS_PATH
from headway.reporter.discovery import find_server
from headway.reporter.identity import find_job
from headway.reporter.notices import Notices
from headway.reporter.settings import Settings
from headway.reporter.transports.http import HttpTransport
from headway.reporter.transports.spool import SpoolHeader, SpoolWriter

_LOOK_EVERY: Final = 5.0
"""Seconds between two looks for a local server; also between two reports into the spool."""
_KUBEFLOW_INTERVAL: Final = 5.0


class Route:
    """The way to the server, and the file beside it. Only the reporter's thread calls :meth:`server`, which may wait."""

    def __init__(self, settings: Settings, run: str, name: str, notices: Notices) -> None:
        self._settings = settings
        self._run = run
        self._notices = notices
        self._next_look = 0.0
        self.http: HttpTransport | None = None
        self.spool: SpoolWriter | None = None
        self.plain = False
        """Only what a stock server knows may be sent."""
        self.local = settings.url is None and settings.kubeflow_url is None
        """There is no address but that of whatever server runs on this machine; without one, reports are spooled at once."""
        self.beats = settings.url is not None
        """Ranks other than 0 report too."""
        self.job = settings.job or JobKey(LOCAL_NAMESPACE, name)
        if settings.url is not None:
            self.http = self._transport(_status_url(settings.url, self.job))
        elif settings.kubeflow_url is not None:
            self.job = find_job(settings.kubeflow_url) or self.job
            self.http = self._transport(settings.kubeflow_url)
            self.plain = True
        self.interval = settings.interval or (_KUBEFLOW_INTERVAL if self.plain else 1.0)
        """Seconds between reports, until the server says otherwise."""

    def server(self) -> HttpTransport | None:
        """The way to the server; None while this machine has none. Looks for one at most every few seconds."""
        if self.http is None and self.local and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY
            try:
                record = find_server(self._settings.folders.server_record)
            except SettingsError as error:
                self._notices.once("record", str(error))
                record = None
            if record is not None:
                url = _status_url(record.url, self.job)
                self.http = HttpTransport(url, token=record.token, timeout=self._settings.request_timeout, prove=True)
        if self.http is None and self.local:
            self.interval = self._settings.interval or _LOOK_EVERY
        return self.http

    def lost(self) -> None:
        """The server did not answer. A local one may have moved, so it is looked for again."""
        if self.local and self.http is not None:
            self.http.close()
            self.http = None

    def take_interval(self, seconds: float) -> None:
        """The server asks for this interval; a setting wins over it."""
        self.interval = self._settings.interval or min(max(seconds, 0.2), 600.0)

    def open_spool(self, attempt: str) -> SpoolWriter:
        """The run's spool file.

        Raises:
            UnavailableError: it cannot be written.
        """
        if self.spool is None:
            server = self._settings.destination
            header = SpoolHeader(self.job.namespace, self.job.name, self._run, attempt, server)
            self.spool = SpoolWriter(self._settings.folders.spool / f"{self._run}.jsonl", header)
        return self.spool

    def close(self) -> None:
        """Closes the connection, at the end."""
        if self.http is not None:
            self.http.close()

    def abandon(self) -> None:
        """In a forked child: gives up its copies of open files, without a word to anybody."""
        if self.http is not None:
            self.http.abandon()
        if self.spool is not None:
            self.spool.close()

    def _transport(self, url: str) -> HttpTransport:
        settings = self._settings
        return HttpTransport(
            url,
            token=settings.token,
            token_file=settings.token_file,
            ca_file=settings.ca_file,
            timeout=settings.request_timeout,
        )


def _status_url(base: str, job: JobKey) -> str:
    path = STATUS_PATH.format(namespace=quote(job.namespace, safe=""), name=quote(job.name, safe=""))
    return base.rstrip("/") + path
