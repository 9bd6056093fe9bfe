"""Takes in what waited for a server: the spool files of reporters and relays that found none.

A file is taken only when nobody writes it any more (its lock is free), in order, and deleted once every line is persisted; so
what is interrupted is begun again, and (run, sequence number) keeps anything from counting twice. A file for another server is
left alone: it lies here because that one could not be reached from this machine.
"""

from __future__ import annotations

import asyncio
import dataclasses
import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from headway.errors import ConflictError, InvalidError, NotFoundError, StoreCorruptError, UnavailableError
from headway.protocol.codec import decode
from headway.protocol.directive import Answer
from headway.protocol.job import Job, JobKey
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer, Registration
from headway.protocol.report import Envelope, Report
from headway.protocol.wire import decode_report
from headway.reporter.transports.spool import SpoolLine, read_spool

logger = logging.getLogger(__name__)


class Door(Protocol):
    """As :class:`~headway.hub.hub.Hub`: returns from each only once it is persisted."""

    async def ingest(self, key: JobKey, report: Report, envelope: Envelope = ..., *, create: bool = ...) -> Answer:
        """Takes in one report."""

    async def register(self, key: JobKey, registration: Registration, *, age: float = ...) -> tuple[Job, float]:
        """Makes a job known, or begins its next attempt."""

    async def lifecycle(self, key: JobKey, event: Lifecycle) -> LifecycleAnswer:
        """Takes in a runner's event."""


class Intake:
    """Looks into a spool folder again and again."""

    def __init__(self, door: Door, clock: Callable[[], float]) -> None:
        self._door = door
        self._clock = clock
        self.own: Callable[[str], bool] = lambda _: False
        """Whether a base URL is this server's."""
        self.count = 0
        """Reports taken in."""

    async def watch(self, folder: Path, interval: float) -> None:
        """Goes on until it is cancelled."""
        while True:
            try:
                self.count += await take_in(folder, self._door, self._clock, self.own)
            except UnavailableError as error:
                logger.info("spooled reports wait: %s", error)
            except Exception:  # a spool file that breaks this must not end it
                logger.exception("taking in spooled reports failed")
            await asyncio.sleep(interval)


async def take_in(
    folder: Path, door: Door, clock: Callable[[], float], own: Callable[[str], bool] = lambda _: False
) -> int:
    """Takes in all files that nobody writes, but those for a server that is not ``own``; answers how many reports that were.

    Raises:
        UnavailableError: the store cannot take them now; what is left waits for the next time.
    """
    count = 0
    for path in _files(folder):
        with _held(path) as held:
            if held:
                count += await _take_file(path, door, clock, own)
    return count


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Holds the lock of a file; False when its writer is alive or it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        logger.debug("%s cannot be opened, and is left alone: %s", path, error)
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except OSError:
            held = False
        yield held
    finally:
        os.close(descriptor)


async def _take_file(path: Path, door: Door, clock: Callable[[], float], own: Callable[[str], bool]) -> int:
    count = 0
    try:
        header, lines = read_spool(path)
        if header.server is not None and not own(header.server):
            logger.debug("%s is left alone: it is for %s", path, header.server)
            return 0
        key = JobKey(header.namespace, header.name)
        for line in lines:
            count += await _take_line(path, key, line, door, clock)
    except StoreCorruptError as error:
        _put_aside(path, error)
        return count
    except OSError as error:
        logger.warning("%s cannot be read, and is left alone: %s", path, error)
        return count
    _remove(path)
    logger.info("%d reports of %s were taken in from %s", count, key, path)
    return count


def _put_aside(path: Path, error: StoreCorruptError) -> None:
    aside = path.with_suffix(".unreadable")
    logger.warning("%s; it was moved to %s", error, aside)
    path.replace(aside)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _take_line(path: Path, key: JobKey, line: SpoolLine, door: Door, clock: Callable[[], float]) -> int:
    age = max(0.0, clock() - line.at)
    try:
        if line.registration is not None:
            await door.register(key, decode(Registration, line.registration, "registration"), age=age)
        if line.lifecycle is not None:
            event = decode(Lifecycle, line.lifecycle, "lifecycle")
            await door.lifecycle(key, dataclasses.replace(event, age=age))
        if line.body is None:
            return 0
        envelope = Envelope(age=age, attempt=line.attempt, run=line.run, seq=line.seq)
        await door.ingest(key, decode_report(line.body), envelope, create=True)
    except (InvalidError, NotFoundError, ConflictError) as error:
        logger.warning("%s: a line was left out: %s", path, error)
        return 0
    return 1
