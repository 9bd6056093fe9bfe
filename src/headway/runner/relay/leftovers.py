"""Hands on what earlier runs could not bring to a server on another machine: the files of theirs in the spool folder.

The server of this machine looks into that folder itself; one elsewhere cannot, so whoever next talks to it does it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from headway.client.client import Client
from headway.errors import ConflictError, InvalidError, NotFoundError, StoreCorruptError
from headway.protocol.codec import decode, dumps
from headway.protocol.job import JobKey
from headway.protocol.lifecycle import Lifecycle, Registration
from headway.protocol.report import Envelope
from headway.reporter.transports.spool import SpoolHeader, SpoolLine, read_spool

_log = logging.getLogger("headway.runner")

_AGAIN_SECONDS: Final = 60.0
"""How often files are looked for that others have left meanwhile."""


class Leftovers:
    """One thread that hands files on whenever the server is there.

    Args:
        folder: where spool files lie.
        server: base URL of the server; only files for it are touched.
        connect: gives a client with the user's token.
        say: tells the user one line.
    """

    def __init__(self, folder: Path, server: str, connect: Callable[[], Client], say: Callable[[str], None]) -> None:
        self._folder, self._server, self._connect, self._say = folder, server, connect, say
        self._go = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-leftovers", daemon=True)
        self._next = 0.0
        self._thread.start()

    def nudge(self) -> None:
        """The server is there."""
        self._go.set()

    def close(self, timeout: float) -> None:
        """Ends the thread; a request under way gets ``timeout`` seconds. A file that is half handed on is begun anew later."""
        self._stop.set()
        self._go.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._go.wait()
            self._go.clear()
            if self._stop.is_set() or time.monotonic() < self._next:
                continue
            self._next = time.monotonic() + _AGAIN_SECONDS
            try:
                if waiting(self._folder, self._server):
                    with self._connect() as client:
                        count = hand_on(self._folder, self._server, client, self._stop)
                    if count:
                        self._say(
                            f"{count} report{'' if count == 1 else 's'} of earlier runs, kept until now, went out"
                        )
            except Exception as error:  # noqa: BLE001 - the files stay, and the command runs
                _log.debug("what earlier runs left waits on: %r", error)


def waiting(folder: Path, server: str) -> list[Path]:
    """Spool files for a server that nobody writes any more."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        with _held(path) as header:
            if header is not None and header.server == server:
                found.append(path)
    return found


def hand_on(folder: Path, server: str, client: Client, stop: threading.Event) -> int:
    """Hands on all files for a server; answers how many reports that were.

    Raises:
        HeadwayError: the server is away, or refuses the user's token: what is left waits.
    """
    count = 0
    for path in waiting(folder, server):
        with _held(path) as header:
            if header is None:
                continue  # somebody else was quicker
            key = JobKey(header.namespace, header.name)
            for line in read_spool(path)[1]:
                if stop.is_set():
                    return count
                count += _hand_on_line(path, key, line, client)
            path.unlink(missing_ok=True)
    return count


@contextmanager
def _held(path: Path) -> Iterator[SpoolHeader | None]:
    """Holds a file's lock; its header, or None where its writer is alive or it is no spool file."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        _log.debug("%s cannot be opened, and is left alone: %s", path, error)
        yield None
        return
    try:
        header: SpoolHeader | None = None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            header = read_spool(path)[0]
        except (OSError, StoreCorruptError) as error:
            _log.debug("%s is left alone: %s", path, error)
        yield header
    finally:
        os.close(descriptor)


def _hand_on_line(path: Path, key: JobKey, line: SpoolLine, client: Client) -> int:
    age = max(0.0, time.time() - line.at)
    try:
        if line.registration is not None:
            client.register(key, decode(Registration, line.registration, "registration"))
        if line.lifecycle is not None:
            client.lifecycle(key, replace(decode(Lifecycle, line.lifecycle, "lifecycle"), age=age))
        if line.body is None:
            return 0
        envelope = Envelope(age=age, attempt=line.attempt, run=line.run, seq=line.seq)
        client.report(key, dumps(line.body), envelope)
    except (InvalidError, NotFoundError, ConflictError) as error:
        _log.warning("%s: a line was left out: %s", path, error)
        return 0
    return 1
