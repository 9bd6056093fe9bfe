"""Takes in what waited for a server: the spool files of reporters and relays that found none.

A file is taken only when nobody writes it any more (its lock is free), in order, and deleted once every line is persisted; so
what is interrupted is begun again, and (run, sequence number) keeps anything from counting twice.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from headway.errors import InvalidError, StoreCorruptError
from headway.protocol.directive import Answer
from headway.protocol.job import JobKey
from headway.protocol.report import Envelope, Report
from headway.protocol.wire import decode_report
from headway.reporter.transports.spool import SpoolLine, read_spool

logger = logging.getLogger(__name__)


class Ingest(Protocol):
    """As :meth:`headway.hub.hub.Hub.ingest`."""

    def __call__(
        self, key: JobKey, report: Report, envelope: Envelope = ..., *, create: bool = ...
    ) -> Coroutine[Any, Any, Answer]:
        """Takes in one report; returns once it is persisted."""


async def take_in(folder: Path, ingest: Ingest, clock: Callable[[], float]) -> int:
    """Takes in all files that nobody writes; answers how many reports that were.

    Raises:
        UnavailableError: the store cannot take them now; what is left waits for the next time.
    """
    count = 0
    for path in _files(folder):
        with _held(path) as held:
            if held:
                count += await _take_file(path, ingest, clock)
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


async def _take_file(path: Path, ingest: Ingest, clock: Callable[[], float]) -> int:
    count = 0
    try:
        header, lines = read_spool(path)
        key = JobKey(header.namespace, header.name)
        for line in lines:
            count += await _take_line(path, key, line, ingest, clock)
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


async def _take_line(path: Path, key: JobKey, line: SpoolLine, ingest: Ingest, clock: Callable[[], float]) -> int:
    envelope = Envelope(age=max(0.0, clock() - line.at), attempt=line.attempt, run=line.run, seq=line.seq)
    try:
        await ingest(key, decode_report(line.body), envelope, create=True)
    except InvalidError as error:
        logger.warning("%s: a report was left out: %s", path, error)
        return 0
    return 1
