"""The synchronous client: lists, follows and steers jobs over HTTP.

::

    from headway import Client

    with Client() as client:
        print(client.job("fraud-ft").progress.percent)
        for changes in client.watch(timeout=60):
            ...
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

import httpx2

from headway.client import operations
from headway.client.lines import LineSplitter
from headway.client.operations import Attempts, Health
from headway.client.sender import Sender
from headway.client.until import Until, finished
from headway.client.waiting import Waiting
from headway.client.watching import Watch
from headway.errors import RetryableError, UnavailableError
from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.directive import Answer
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import Changes, Job, JobKey, JobPage, JobQuery
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer, Registered, Registration
from headway.protocol.limits import LOCAL_NAMESPACE
from headway.protocol.report import Envelope
from headway.reporter.folders import Folders

FINISHED: Final = finished()


class Client(Sender):
    """Talks to one server. Safe to share between threads.

    Every method may raise :class:`~headway.errors.UnavailableError` (not reachable, not ready),
    :class:`~headway.errors.ForbiddenError` (the token does not open it) and, where it names a job,
    :class:`~headway.errors.NotFoundError`.

    Args:
        url: base URL; None: HEADWAY_URL, else the server on this machine.
        token: bearer token; None: HEADWAY_TOKEN or HEADWAY_TOKEN_FILE, or the local server's own.
        folders: look for the server on this machine, by the record in these folders, whatever the environment says.
        timeout: seconds for one exchange.
        environ: the environment that is meant.

    Raises:
        SettingsError: an address, token file or certificate file cannot be used.
        UnavailableError: no server was named and none answers on this machine.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        folders: Folders | None = None,
        timeout: float = 10.0,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(url, token, folders, timeout, environ)
        self._http = httpx2.Client(**self._options())

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def jobs(self, query: JobQuery | None = None) -> JobPage:
        """One page of the jobs that match."""
        return self._call(operations.jobs(query or JobQuery()))

    def iter_jobs(self, query: JobQuery | None = None) -> Iterator[Job]:
        """All jobs that match, page by page."""
        query = query or JobQuery()
        while True:
            page = self.jobs(query)
            yield from page.items
            if page.next is None:
                return
            query = replace(query, cursor=page.next)

    def job(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> Job:
        """One job."""
        return self._call(operations.job(JobKey(namespace, name)))

    def series(
        self,
        name: str,
        *metrics: str,
        namespace: str = LOCAL_NAMESPACE,
        attempt: str | None = None,
        points: int = 1000,
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> list[Series]:
        """Metric history, one series per metric and attempt.

        Args:
            name: of the job.
            metrics: which; none: all.
            namespace: of the job.
            attempt: id of one attempt; None: all.
            points: the most to give per series; a longer history comes merged, with its extremes.
            first_step: leave out what came before it.
            last_step: leave out what came after it.
        """
        query = SeriesQuery(metrics=metrics, attempt=attempt, points=points, first_step=first_step, last_step=last_step)
        return self._call(operations.series(JobKey(namespace, name), query))

    def metrics(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> list[str]:
        """Names of the metrics that the job has history of."""
        return self._call(operations.metrics(JobKey(namespace, name)))

    def attempts(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> Attempts:
        """The job's attempts and the processes of the current one."""
        return self._call(operations.attempts(JobKey(namespace, name)))

    def log(
        self, name: str, *, namespace: str = LOCAL_NAMESPACE, tail: int = 100, follow: bool = False
    ) -> Iterator[str]:
        """The last ``tail`` lines of the job's log, without their line ends; with ``follow`` also what comes, until it ends.

        Raises:
            NotFoundError: no such job, or its log is not on the server's machine.
        """
        splitter = LineSplitter()
        with self._stream(
            operations.log(JobKey(namespace, name), tail=tail, follow=follow), silence=None if follow else self._timeout
        ) as chunks:
            for chunk in chunks:
                yield from splitter.feed(chunk)
        yield from splitter.end()

    def watch(
        self, *, namespace: str | None = None, name: str | None = None, timeout: float | None = None
    ) -> Iterator[Changes]:
        """The jobs as they are now, then every change, at most once a second, across restarts of the server.

        A message with ``snapshot`` set holds all jobs and replaces what was known. A server that goes away is waited for;
        only one that cannot be reached at the very start is an error.

        Args:
            namespace: only jobs of this namespace.
            name: only this job.
            timeout: seconds after which the iteration ends; None: never.

        Raises:
            UnavailableError: the server cannot be reached at the start.
        """
        watch = Watch(namespace, name, timeout, time.monotonic())
        while not watch.over(time.monotonic()):
            problem: RetryableError | None = None
            try:
                now = time.monotonic()
                with self._stream(watch.connect(now), silence=watch.silence(now)) as chunks:
                    for chunk in chunks:
                        yield from watch.feed(chunk)
                        if watch.over(time.monotonic()):
                            return
            except RetryableError as error:
                problem = error
            time.sleep(watch.pause(problem, time.monotonic()))

    def wait(
        self,
        name: str,
        until: Until = FINISHED,
        *,
        namespace: str = LOCAL_NAMESPACE,
        timeout: float | None = None,
        on_update: Callable[[Job], object] | None = None,
    ) -> Job:
        """Returns the job once it is as it is waited for; a server that goes away meanwhile is waited for, too.

        Args:
            name: of the job.
            until: what to wait for, see :mod:`headway.client.until`; left out: its end.
            namespace: of the job.
            timeout: seconds to wait at most; None: for ever.
            on_update: hears the job as it is at first, and whenever it changes, at most once a second.

        Raises:
            WaitTimeoutError: it did not come in time.
            JobEndedError: the job ended, and it had not come.
        """
        waiting = Waiting(JobKey(namespace, name), until, timeout, time.monotonic())
        while True:
            problem: RetryableError | None = None
            try:
                span = waiting.span(time.monotonic())
                for changes in self.watch(namespace=namespace, name=name, timeout=span):
                    if (job := waiting.take(changes)) is not None and on_update is not None:
                        on_update(job)
                    if waiting.job is not None and waiting.over:
                        return waiting.job
            except RetryableError as error:
                problem = error
            time.sleep(waiting.pause(problem))

    def stop(
        self,
        name: str,
        *,
        namespace: str = LOCAL_NAMESPACE,
        save: bool = False,
        notice: float | None = None,
        grace: float = 30.0,
        reason: str = "",
        by: str = "",
    ) -> Job:
        """Asks for the job to be stopped, for good, and returns at once with the job, whose last action this is.

        Args:
            name: of the job.
            namespace: of the job.
            save: ask the run for a checkpoint first.
            notice: seconds that the run gets to save and to end by itself before SIGTERM; None: 60 with ``save``, else 0.
            grace: seconds between SIGTERM and SIGKILL.
            reason: for the record.
            by: who asks, for the record.

        Raises:
            ConflictError: the job has ended, or nobody can carry it out.
        """
        request = ActionRequest(by=by, reason=reason, save=save, notice=notice, grace=grace)
        return self._call(operations.act(JobKey(namespace, name), ActionKind.STOP, request))

    def checkpoint(
        self,
        name: str,
        *,
        namespace: str = LOCAL_NAMESPACE,
        notice: float | None = None,
        reason: str = "",
        by: str = "",
    ) -> Job:
        """Asks the run to save, and returns at once with the job, whose last action this is.

        Args:
            name: of the job.
            namespace: of the job.
            notice: seconds after which a run that did not save has refused; None: 300.
            reason: for the record.
            by: who asks, for the record.

        Raises:
            ConflictError: the job is not Running.
        """
        request = ActionRequest(by=by, reason=reason, notice=notice)
        return self._call(operations.act(JobKey(namespace, name), ActionKind.CHECKPOINT, request))

    def pause(
        self,
        name: str,
        *,
        namespace: str = LOCAL_NAMESPACE,
        notice: float | None = None,
        grace: float = 30.0,
        reason: str = "",
        by: str = "",
    ) -> Job:
        """Asks the run to save and end, and keeps the job for :meth:`resume`; returns at once, as :meth:`stop` does.

        Args:
            name: of the job.
            namespace: of the job.
            notice: seconds that the run gets to save and to end by itself before SIGTERM; None: 60.
            grace: seconds between SIGTERM and SIGKILL.
            reason: for the record.
            by: who asks, for the record.

        Raises:
            ConflictError: the job is not Running, or has no runner that could start it again.
        """
        request = ActionRequest(by=by, reason=reason, notice=notice, grace=grace)
        return self._call(operations.act(JobKey(namespace, name), ActionKind.PAUSE, request))

    def resume(self, name: str, *, namespace: str = LOCAL_NAMESPACE, reason: str = "", by: str = "") -> Job:
        """Has the runner of a paused job start its next attempt; returns at once, as :meth:`stop` does.

        Raises:
            ConflictError: the job is not Paused.
        """
        request = ActionRequest(by=by, reason=reason)
        return self._call(operations.act(JobKey(namespace, name), ActionKind.RESUME, request))

    def delete(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> None:
        """Forgets a job that has ended, and its history.

        Raises:
            ConflictError: it has not ended.
        """
        self._call(operations.delete(JobKey(namespace, name)))

    def register(self, key: JobKey, registration: Registration) -> Registered:
        """Makes a job known, or begins its next attempt: for runners.

        Raises:
            ConflictError: another runner that is alive has the job.
        """
        return self._call(operations.register(key, registration))

    def lifecycle(self, key: JobKey, event: Lifecycle) -> LifecycleAnswer:
        """Tells what happened to a job's processes: for runners."""
        return self._call(operations.lifecycle(key, event))

    def report(self, key: JobKey, body: bytes, envelope: Envelope, *, token: str | None = None) -> Answer | None:
        """Hands on a report as it came; None from a stock server.

        Raises:
            InvalidError: the server cannot read it.
        """
        return self._call(operations.report(key, body, envelope), token=token)

    def token(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> str:
        """The job's own token, for who starts its processes without a runner; makes the job known."""
        return self._call(operations.token(JobKey(namespace, name)))

    def login_url(self) -> str:
        """An address that logs a browser in, once."""
        return self._call(operations.code())

    def health(self) -> Health:
        """Whether the server is ready; one that answers that it is not is no error."""
        try:
            return self._call(operations.ready())
        except UnavailableError as error:
            if error.__cause__ is not None:
                raise
            return Health(False, str(error))
