"""The runner's line to the server: registration, life signs, endings, commands. Whatever cannot be said now is said later.

Registrations and lifecycle events go out in the order in which they happened, each with its age, so a server that was away
hears the whole story. A server of this machine that dies is started again, unless it was stopped on purpose.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from headway.client.client import Client
from headway.errors import ConflictError, NotFoundError, UnavailableError
from headway.protocol.directive import Answer
from headway.protocol.job import JobKey
from headway.protocol.lifecycle import Command, Lifecycle, LifecycleAnswer, LifecycleKind, Registration, Stuck
from headway.protocol.verdict import Condition
from headway.reporter.backoff import Backoff
from headway.runner.relay.queue import Queued

_log = logging.getLogger("headway.runner")

HEARTBEAT: Final = 2.0
"""Seconds between life signs until the server says otherwise."""


class Link:
    """One job's line to its server.

    Args:
        key: the job.
        connect: gives a client of the server; may start one. Raises as :class:`~headway.client.client.Client` does.
        on_command: hears each new command once.
        revive: called when the server is away: may start it.
        say: tells the user what cannot be mended.
        stuck: gives a process whose interpreter stands still, to be told of.
        on_conditions: hears what stands, with each answer while the processes run.
    """

    def __init__(
        self,
        key: JobKey,
        connect: Callable[[], Client],
        on_command: Callable[[Command], None],
        *,
        revive: Callable[[], None],
        say: Callable[[str], None],
        stuck: Callable[[], Stuck | None] = lambda: None,
        on_conditions: Callable[[tuple[Condition, ...]], None] = lambda _: None,
    ) -> None:
        self.key = key
        self.reachable = False
        """Whether the server answered when it was last spoken to."""
        self._connect = connect
        self._on_command = on_command
        self.on_back: Callable[[], None] = lambda: None
        """Called when the server is heard."""
        self._revive = revive
        self._say_why = say
        self._stuck, self._on_conditions = stuck, on_conditions
        self._lock = threading.Condition()
        self._client: Client | None = None
        self._token: str | None = None
        self._waiting: deque[tuple[float, Registration | Lifecycle]] = deque()
        self._newest: Registration | None = None
        self._last: Lifecycle | None = None
        self._heartbeat = HEARTBEAT
        self._commands: set[str] = set()
        self._acks: list[str] = []
        self._backoff = Backoff(first=0.5, last=10.0)
        self._alive = self._stop = self._wake = False
        self._thread = threading.Thread(target=self._run, name="headway-link", daemon=True)

    def adopt(self, client: Client, registration: Registration, token: str, heartbeat: float) -> None:
        """The job is registered already, by ``client``."""
        with self._lock:
            self._client, self._newest, self._token, self._heartbeat = client, registration, token, heartbeat
            self.reachable = True

    def start(self) -> None:
        """Begins to give life signs."""
        self._thread.start()

    def register(self, registration: Registration) -> None:
        """The next attempt is about to start; reports wait until the server knows."""
        with self._lock:
            self._newest, self._token = registration, None
            self._say(registration)

    def tell(self, event: Lifecycle) -> None:
        """Something happened to the processes."""
        with self._lock:
            self._alive = event.kind is LifecycleKind.STARTED or event.paused
            self._last = event
            self._say(event)

    def _say(self, item: Registration | Lifecycle) -> None:
        self._waiting.append((time.monotonic(), item))
        self._poke()

    def poke(self) -> None:
        """Asks the server for commands now."""
        with self._lock:
            self._poke()

    def _poke(self) -> None:
        self._wake = True
        self._lock.notify_all()

    def report(self, kept: Queued) -> Answer | None:
        """Posts a report with the job's own token.

        Raises:
            UnavailableError: the server is away, or has not heard of the attempt yet.
            HeadwayError: as :meth:`headway.client.client.Client.report`.
        """
        with self._lock:
            client, token = self._client, self._token
        if client is None or token is None:
            raise UnavailableError("the job is not registered yet")
        return client.report(self.key, kept.body, kept.envelope, token=token)

    def renew(self) -> None:
        """The server no longer knows the job, or its token: registers it again."""
        with self._lock:
            if self._newest is not None and self._token is not None:
                self._token = None
                if self._alive and self._last is not None:
                    self._waiting.appendleft((time.monotonic(), self._last))
                self._waiting.appendleft((time.monotonic(), self._newest))
                self._poke()

    def flush(self, timeout: float) -> bool:
        """Whether the server has heard everything within ``timeout`` seconds."""
        with self._lock:
            self._poke()
            return self._lock.wait_for(lambda: not self._waiting, timeout)

    def close(self, timeout: float = 1.0) -> list[tuple[float, Registration | Lifecycle]]:
        """Ends the life signs; what the server never heard, each with its age in seconds."""
        with self._lock:
            self._stop = True
            self._poke()
        self._thread.join(timeout)
        with self._lock:
            if self._client is not None and not self._thread.is_alive():
                self._client.close()
            now = time.monotonic()
            return [(now - at, item) for at, item in self._waiting]

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                answer = self._exchange()
            except Exception as error:  # noqa: BLE001 - whatever it is, the training goes on and so does this thread
                self.reachable = False
                took = time.monotonic() - began
                self._mend(error)
                wait = self._backoff.next(took, getattr(error, "retry_after", None) or 0.0)
            else:
                self._backoff.reset()
                wait = self._heartbeat
                if not self.reachable:
                    self.reachable = True
                    self.on_back()
                for command in answer.commands:
                    self._hear(command)
                if self._alive:
                    self._on_conditions(answer.conditions)
            with self._lock:
                self._lock.wait_for(lambda: self._wake or self._stop, wait)
                self._wake = False
                if self._stop:
                    return

    def _exchange(self) -> LifecycleAnswer:
        """Says everything that waits, or gives a life sign."""
        client = self._client
        if client is None:
            client = self._connect()
            with self._lock:
                self._client = client
        answer = self._say_waiting(client)
        with self._lock:
            newest, alive, acks = self._newest, self._alive, tuple(self._acks)
        if newest is not None and alive and (answer is None or acks):
            event = Lifecycle(
                kind=LifecycleKind.ALIVE,
                runner=newest.runner,
                attempt=newest.attempt,
                acks=acks,
                stuck=self._stuck(),
            )
            answer = client.lifecycle(self.key, event)
            with self._lock:
                self._acks = [each for each in self._acks if each not in acks]
        if answer is None:
            return LifecycleAnswer(heartbeat=self._heartbeat)
        self._heartbeat = min(max(answer.heartbeat, 0.1), 60.0)
        return answer

    def _say_waiting(self, client: Client) -> LifecycleAnswer | None:
        answer: LifecycleAnswer | None = None
        while True:
            with self._lock:
                if not self._waiting:
                    return answer
                at, item = self._waiting[0]
            if isinstance(item, Registration):
                registered = client.register(self.key, item)
                with self._lock:
                    if item is self._newest:
                        self._token = registered.token
            else:
                answer = client.lifecycle(self.key, replace(item, age=round(time.monotonic() - at, 3)))
            with self._lock:
                if self._waiting and self._waiting[0][1] is item:
                    self._waiting.popleft()
                self._lock.notify_all()
            self.on_back()

    def _hear(self, command: Command) -> None:
        with self._lock:
            if command.id not in self._acks:
                self._acks.append(command.id)
                self._poke()
            fresh = command.id not in self._commands
            self._commands.add(command.id)
        if fresh:
            self._on_command(command)

    def _mend(self, error: Exception) -> None:
        """Does what may help."""
        _log.debug("the server was not told: %r", error)
        if isinstance(error, NotFoundError):
            self.renew()
        elif isinstance(error, ConflictError):
            self._say_why(f"the server refuses to track this run: {error}")
        elif isinstance(error, UnavailableError):
            self._revive()
