"""Keeps reports in a file until a server takes them.

``spool/<run>.jsonl``: a header line, then one line a report with the time it was written. Whoever writes holds a lock on the
file as long as it lives; whoever takes reports in must get that lock first, so a file is never read by two. A torn last line
is what a killed writer leaves behind; it is ignored. The file goes when every line is acknowledged.

The header names the server that was to get the reports where one was named: no other takes them in.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from headway.errors import StoreCorruptError, UnavailableError
from headway.reporter.folders import private_folder
from headway.reporter.notices import log

_VERSION: Final = 1
_LINE: Final = 256 * 1024


class SpoolHeader(NamedTuple):
    """Whose reports a file holds."""

    namespace: str
    name: str
    run: str
    attempt: str
    server: str | None = None
    """Base URL of the server that they are for; None: the one of this machine that looks into this folder."""


class SpoolLine(NamedTuple):
    """One kept report. ``attempt``, ``run`` and ``seq`` stand there for posts of stock clients, kept by a relay.

    What a runner could not tell its server by the end is a line without a body: a ``registration`` or a ``lifecycle`` event.
    """

    at: float
    """Unix seconds when it was written."""
    body: Any
    attempt: str | None = None
    run: str | None = None
    seq: int | None = None
    registration: Any = None
    lifecycle: Any = None


class SpoolWriter:
    """Appends reports to a file of their own, and hands them back in order. Each line reaches the system in one write.

    Raises:
        UnavailableError: the folder cannot be written, or somebody else holds the file.
    """

    def __init__(self, path: Path, header: SpoolHeader) -> None:
        self.path = path
        self._read_at = 0
        self._descriptor: int | None = None
        self._began = time.time() - time.monotonic()
        try:
            private_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnavailableError(f"reports cannot be spooled to {path}: {error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size = os.fstat(descriptor).st_size
            if size == 0:
                self._write(descriptor, {"spool": _VERSION, **written(header)})
            elif os.pread(descriptor, 1, size - 1) != b"\n":
                os.write(descriptor, b"\n")  # a torn line ends here, and is skipped
        except OSError as error:
            os.close(descriptor)
            raise UnavailableError(f"reports cannot be spooled to {path}: {error}") from error
        self._descriptor = descriptor
        self._read_at = len(os.pread(descriptor, _LINE, 0).partition(b"\n")[0]) + 1

    def append(self, body: Any, *, attempt: str | None = None, run: str | None = None, seq: int | None = None) -> None:
        """Keeps one report: a JSON value, or its bytes.

        Raises:
            UnavailableError: it cannot be written (disk full).
        """
        if self._descriptor is None:
            raise UnavailableError(f"the spool file {self.path} is closed")
        envelope = {"attempt": attempt, "run": run, "seq": seq}
        line = {"at": self._now(), **{name: value for name, value in envelope.items() if value is not None}}
        line["body"] = json.loads(body) if isinstance(body, bytes) else body
        try:
            self._write(self._descriptor, line)
        except OSError as error:
            raise UnavailableError(f"reports cannot be spooled to {self.path}: {error}") from error

    def first(self) -> SpoolLine | None:
        """The oldest line that was not dropped yet."""
        while (raw := self._first_raw()) is not None:
            if (line := _parse(raw)) is not None:
                return line
            self.drop()
        return None

    def age(self, line: SpoolLine) -> float:
        """Seconds since a line of this writer was written, whatever the wall clock was set to meanwhile."""
        return max(0.0, self._now() - line.at)

    def drop(self) -> None:
        """The oldest line is acknowledged."""
        if (raw := self._first_raw()) is not None:
            self._read_at += len(raw)

    def close(self, *, delete: bool = False) -> None:
        """Gives the file up: to whoever takes reports in, or to nobody when every line is acknowledged."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if delete:
                self.path.unlink(missing_ok=True)
            os.close(descriptor)

    def _first_raw(self) -> bytes | None:
        if self._descriptor is None:
            return None
        size = _LINE
        while True:
            chunk = os.pread(self._descriptor, size, self._read_at)
            head, newline, _ = chunk.partition(b"\n")
            if newline:
                return head + newline
            if len(chunk) < size:
                return None
            size *= 4

    def _now(self) -> float:
        return self._began + time.monotonic()

    @staticmethod
    def _write(descriptor: int, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        written = os.write(descriptor, data)
        if written < len(data):  # the disk is full: take the torn line back
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError("no space is left")


def written(header: SpoolHeader) -> dict[str, str]:
    """A header as it stands in a file: what is not known is left out."""
    return {name: value for name, value in header._asdict().items() if value is not None}


def read_spool(path: Path) -> tuple[SpoolHeader, Iterator[SpoolLine]]:
    """The header and the lines of a spool file. The caller holds the lock.

    Raises:
        StoreCorruptError: it is not a spool file, or of a version that is not known here.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        first = file.readline()
    try:
        header = json.loads(first)
        if header["spool"] != _VERSION:
            raise StoreCorruptError(f"{path}: spool version {header['spool']!r} is not known here")
        namespace, name, run, attempt = (str(header[each]) for each in ("namespace", "name", "run", "attempt"))
        server = header.get("server")
        found = SpoolHeader(namespace, name, run, attempt, None if server is None else str(server))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorruptError(f"{path} is not a spool file: its first line is {first[:80]!r}") from error
    return found, _lines(path)


def _lines(path: Path) -> Iterator[SpoolLine]:
    with path.open("rb") as file:
        file.readline()
        for raw in file:
            if (line := _parse(raw)) is not None:
                yield line
            else:
                log.warning("%s: a torn line of %d bytes was ignored", path, len(raw))


def _parse(raw: bytes) -> SpoolLine | None:
    try:
        value = json.loads(raw)
        line = SpoolLine(
            at=float(value["at"]),
            body=value.get("body"),
            attempt=value.get("attempt"),
            run=value.get("run"),
            seq=value.get("seq"),
            registration=value.get("registration"),
            lifecycle=value.get("lifecycle"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    whole = raw.endswith(b"\n") and (line.body or line.registration or line.lifecycle)
    return line if whole else None
