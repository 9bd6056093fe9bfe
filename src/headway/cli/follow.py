"""Follows the server's event stream in a thread, so that a live view can go on drawing while nothing arrives."""

from __future__ import annotations

import queue
import threading
import time
from types import TracebackType
from typing import Self

from headway.cli.render.view import Seen, metric_name
from headway.client.client import Client
from headway.protocol.job import Changes, Job, JobKey

_CURVE_POINTS = 400


class Follower:
    """The newest document of every job followed, and the curve of each metric of one of them.

    Args:
        client: of the server.
        namespace: follow only this namespace.
        name: follow only this job.
    """

    def __init__(self, client: Client, *, namespace: str | None = None, name: str | None = None) -> None:
        self.jobs: dict[JobKey, Seen] = {}
        self.history: dict[str, list[float]] = {}
        self._client = client
        self._namespace, self._name = namespace, name
        self._arrived: queue.SimpleQueue[Changes | BaseException | None] = queue.SimpleQueue()
        self._ahead = 0.0
        self._attempt: str | None = None
        self._step: int | None = None
        self._thread = threading.Thread(target=self._read, name="headway-follow", daemon=True)

    def __enter__(self) -> Self:
        if self._name is not None and self._namespace is not None:
            self._recall(self._client.job(self._name, namespace=self._namespace))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass  # the thread waits for the server and ends with the process

    @property
    def now(self) -> float:
        """The server's clock."""
        return time.time() + self._ahead

    def wait(self, seconds: float) -> bool:
        """Takes in what arrives within ``seconds``; returns at once after a message. Whether there was one.

        Raises:
            HeadwayError: the stream cannot go on.
        """
        try:
            message = self._arrived.get(timeout=seconds)
        except queue.Empty:
            return False
        if isinstance(message, BaseException):
            raise message
        if message is not None:
            self._take(message)
        return True

    def _read(self) -> None:
        try:
            for changes in self._client.watch(namespace=self._namespace, name=self._name):
                self._arrived.put(changes)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            self._arrived.put(error)

    def _take(self, changes: Changes) -> None:
        self._ahead = changes.server_time - time.time()
        if changes.snapshot:
            self.jobs.clear()
        for job in changes.jobs:
            self.jobs[JobKey(job.namespace, job.name)] = Seen(job, changes.server_time)
            if self._name is not None:
                self._extend(job)
        for key in changes.deleted:
            self.jobs.pop(key, None)

    def _recall(self, job: Job) -> None:
        """The curves as far as they are stored, so that a watch that begins late has them from the start."""
        loss = metric_name(job, "loss")
        if loss is None or not job.attempts:
            return
        self._attempt, self._step = job.attempts[-1].id, job.progress.step
        for series in self._client.series(
            job.name, loss, namespace=job.namespace, attempt=self._attempt, points=_CURVE_POINTS
        ):
            self.history[series.metric] = [point.mean for point in series.points]

    def _extend(self, job: Job) -> None:
        attempt = job.attempts[-1].id if job.attempts else None
        if attempt != self._attempt:
            self._attempt, self._step = attempt, None
            self.history.clear()
        if job.progress.step == self._step:
            return
        self._step = job.progress.step
        for name, value in job.metrics.items():
            curve = self.history.setdefault(name, [])
            curve.append(value)
            if len(curve) > 4 * _CURVE_POINTS:
                del curve[1::2]
