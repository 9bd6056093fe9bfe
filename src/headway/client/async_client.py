"""The asynchronous client: as :class:`~headway.client.client.Client`, which describes each method, but for the sender."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

import httpx2

from headway.client import operations
from headway.client.lines import LineSplitter
from headway.client.operations import Attempts, Health
from headway.client.sender import AsyncSender
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


class AsyncClient(AsyncSender):
    """Talks to one server; takes and raises what :class:`~headway.client.client.Client` does."""

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
        self._http = httpx2.AsyncClient(**self._options())

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def jobs(self, query: JobQuery | None = None) -> JobPage:
        """One page of the jobs that match."""
        return await self._call(operations.jobs(query or JobQuery()))

    async def iter_jobs(self, query: JobQuery | None = None) -> AsyncIterator[Job]:
        """All jobs that match, page by page."""
        query = query or JobQuery()
        while True:
            page = await self.jobs(query)
            for job in page.items:
                yield job
            if page.next is None:
                return
            query = replace(query, cursor=page.next)

    async def job(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> Job:
        """One job."""
        return await self._call(operations.job(JobKey(namespace, name)))

    async def series(
        self,
        name: str,
        *metrics: str,
        namespace: str = LOCAL_NAMESPACE,
        attempt: str | None = None,
        points: int = 1000,
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> list[Series]:
        """Metric history, one series per metric and attempt."""
        query = SeriesQuery(metrics=metrics, attempt=attempt, points=points, first_step=first_step, last_step=last_step)
        return await self._call(operations.series(JobKey(namespace, name), query))

    async def metrics(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> list[str]:
        """Names of the metrics that the job has history of."""
        return await self._call(operations.metrics(JobKey(namespace, name)))

    async def attempts(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> Attempts:
        """The job's attempts and the processes of the current one."""
        return await self._call(operations.attempts(JobKey(namespace, name)))

    async def log(
        self, name: str, *, namespace: str = LOCAL_NAMESPACE, tail: int = 100, follow: bool = False
    ) -> AsyncIterator[str]:
        """Lines of the job's log."""
        splitter = LineSplitter()
        operation = operations.log(JobKey(namespace, name), tail=tail, follow=follow)
        async with self._stream(operation, silence=None if follow else self._timeout) as chunks:
            async for chunk in chunks:
                for line in splitter.feed(chunk):
                    yield line
        for line in splitter.end():
            yield line

    async def watch(
        self,
        *,
        namespace: str | None = None,
        name: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - ends the iteration, cancels nothing
    ) -> AsyncIterator[Changes]:
        """The jobs as they are now, then every change."""
        watch = Watch(namespace, name, timeout, time.monotonic())
        while not watch.over(time.monotonic()):
            problem: RetryableError | None = None
            try:
                now = time.monotonic()
                async with self._stream(watch.connect(now), silence=watch.silence(now)) as chunks:
                    async for chunk in chunks:
                        for changes in watch.feed(chunk):
                            yield changes
                        if watch.over(time.monotonic()):
                            return
            except RetryableError as error:
                problem = error
            await asyncio.sleep(watch.pause(problem, time.monotonic()))

    async def wait(
        self,
        name: str,
        until: Until = FINISHED,
        *,
        namespace: str = LOCAL_NAMESPACE,
        timeout: float | None = None,  # noqa: ASYNC109 - as in the other client; the error says where the job is
        on_update: Callable[[Job], object] | None = None,
    ) -> Job:
        """Returns the job once it is as it is waited for; ``on_update`` may be a coroutine function."""
        waiting = Waiting(JobKey(namespace, name), until, timeout, time.monotonic())
        while True:
            problem: RetryableError | None = None
            try:
                span = waiting.span(time.monotonic())
                async for changes in self.watch(namespace=namespace, name=name, timeout=span):
                    if (job := waiting.take(changes)) is not None and on_update is not None:
                        heard = on_update(job)
                        if inspect.isawaitable(heard):
                            await heard
                    if waiting.job is not None and waiting.over:
                        return waiting.job
            except RetryableError as error:
                problem = error
            await asyncio.sleep(waiting.pause(problem))

    async def stop(
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
        """Asks for the job to be stopped, for good, and returns at once with the job, whose last action this is."""
        request = ActionRequest(by=by, reason=reason, save=save, notice=notice, grace=grace)
        return await self._call(operations.act(JobKey(namespace, name), ActionKind.STOP, request))

    async def checkpoint(
        self,
        name: str,
        *,
        namespace: str = LOCAL_NAMESPACE,
        notice: float | None = None,
        reason: str = "",
        by: str = "",
    ) -> Job:
        """Asks the run to save, and returns at once with the job, whose last action this is."""
        request = ActionRequest(by=by, reason=reason, notice=notice)
        return await self._call(operations.act(JobKey(namespace, name), ActionKind.CHECKPOINT, request))

    async def pause(
        self,
        name: str,
        *,
        namespace: str = LOCAL_NAMESPACE,
        notice: float | None = None,
        grace: float = 30.0,
        reason: str = "",
        by: str = "",
    ) -> Job:
        """Asks the run to save and end, and keeps the job for :meth:`resume`; returns at once, as :meth:`stop` does."""
        request = ActionRequest(by=by, reason=reason, notice=notice, grace=grace)
        return await self._call(operations.act(JobKey(namespace, name), ActionKind.PAUSE, request))

    async def resume(self, name: str, *, namespace: str = LOCAL_NAMESPACE, reason: str = "", by: str = "") -> Job:
        """Has the runner of a paused job start its next attempt; returns at once, as :meth:`stop` does."""
        request = ActionRequest(by=by, reason=reason)
        return await self._call(operations.act(JobKey(namespace, name), ActionKind.RESUME, request))

    async def delete(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> None:
        """Forgets a job that has ended, and its history."""
        await self._call(operations.delete(JobKey(namespace, name)))

    async def register(self, key: JobKey, registration: Registration) -> Registered:
        """Makes a job known, or begins its next attempt: for runners."""
        return await self._call(operations.register(key, registration))

    async def lifecycle(self, key: JobKey, event: Lifecycle) -> LifecycleAnswer:
        """Tells what happened to a job's processes: for runners."""
        return await self._call(operations.lifecycle(key, event))

    async def report(self, key: JobKey, body: bytes, envelope: Envelope, *, token: str | None = None) -> Answer | None:
        """Hands on a report as it came; None from a stock server."""
        return await self._call(operations.report(key, body, envelope), token=token)

    async def token(self, name: str, *, namespace: str = LOCAL_NAMESPACE) -> str:
        """The job's own token, for who starts its processes without a runner; makes the job known."""
        return await self._call(operations.token(JobKey(namespace, name)))

    async def login_url(self) -> str:
        """An address that logs a browser in, once."""
        return await self._call(operations.code())

    async def health(self) -> Health:
        """Whether the server is ready; one that answers that it is not is no error."""
        try:
            return await self._call(operations.ready())
        except UnavailableError as error:
            if error.__cause__ is not None:
                raise
            return Health(False, str(error))
