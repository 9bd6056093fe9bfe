"""The relay's memory on disk: every report is written here before it is answered, and leaves once the server has it.

The files are spool files as every reporter writes them (:mod:`headway.reporter.transports.spool` describes the format), locked
while the runner lives. What could not be handed on by the end is left: the next server to start takes it in, if it is of this
machine; else the next runner that talks to the same server hands it on (:mod:`headway.runner.relay.leftovers`).
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.protocol.codec import dumps, encode
from headway.protocol.job import JobKey
from headway.protocol.lifecycle import Lifecycle, Registration
from headway.protocol.report import Envelope
from headway.reporter.folders import private_folder
from headway.reporter.transports.spool import SpoolHeader, written

SEGMENT_BYTES: Final = 1024 * 1024
"""Size at which a file is closed and the next begun, so that what was handed on can be deleted."""


@dataclass(frozen=True, slots=True)
class Queued:
    """One report that waits: its body as it came, and what is known of it now."""

    body: bytes
    envelope: Envelope
    source: str
    """Id of the run that it is from."""


@dataclass(slots=True)
class _Entry:
    segment: _Segment
    offset: int
    length: int
    at: float
    envelope: Envelope
    source: str


class _Segment:
    """One file, held open and locked."""

    def __init__(self, path: Path, header: bytes) -> None:
        # It gets its name only once it is locked and begun: whoever takes spools in never sees it half made.
        self.path = path.with_name(f".{path.name}")
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.size = 0
        self.waiting = 0
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
            self.append(header)
            self.path = self.path.rename(path)
        except OSError:
            self.close(delete=True)
            raise

    def append(self, line: bytes) -> int:
        """Writes a line as a whole or not at all; returns where it begins."""
        start = self.size
        view = memoryview(line)
        try:
            while view:
                written = os.pwrite(self.descriptor, view, self.size)
                self.size += written
                view = view[written:]
        except OSError:
            self.size = start
            os.ftruncate(self.descriptor, start)
            raise
        return start

    def close(self, *, delete: bool) -> None:
        """Gives up the lock; the file is deleted first where nothing in it is wanted any more."""
        if delete:
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


class ReportQueue:
    """A queue on disk, first in, first out. Any thread may put; one takes.

    Args:
        folder: where spool files lie.
        key: the job that all reports are of.
        run: names the files; also the run id of the header.
        attempt: attempt id of the header.
        server: base URL of the server that the reports are for; None: this machine's own.
        segment_bytes: size at which the next file is begun.
    """

    def __init__(
        self,
        folder: Path,
        key: JobKey,
        run: str,
        attempt: str,
        *,
        server: str | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self._segment_bytes = segment_bytes
        self._folder = folder
        self._run = run
        self._header = dumps({"spool": 1, **written(SpoolHeader(key.namespace, key.name, run, attempt, server))})
        self._changed = threading.Condition()
        self._entries: deque[_Entry] = deque()
        self._current: _Segment | None = None
        self._count = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many reports have not been handed on."""
        with self._changed:
            return len(self._entries)

    def put(self, body: bytes, envelope: Envelope, source: str) -> None:
        """Keeps a report; it outlives this process once this returns.

        Args:
            body: one JSON object, in UTF-8.
            envelope: its age when it came, and for a stock client's post the ids that it gets.
            source: id of the run that it is from.

        Raises:
            OSError: it could not be written.
        """
        body = body.replace(b"\r", b" ").replace(b"\n", b" ")  # outside strings they are only white space
        head: dict[str, object] = {"at": time.time() - envelope.age}
        for name in ("attempt", "run", "seq"):
            if (value := getattr(envelope, name)) is not None:
                head[name] = value
        line_head = dumps(head)[:-1] + b',"body":'
        with self._changed:
            segment = self._segment()
            offset = segment.append(line_head + body + b"}\n") + len(line_head)
            segment.waiting += 1
            self._entries.append(_Entry(segment, offset, len(body), time.monotonic(), envelope, source))
            self._changed.notify_all()

    def note(self, item: Registration | Lifecycle, age: float) -> None:
        """Leaves word of what the server could not be told, after all reports; only for the end.

        Raises:
            OSError: it could not be written.
        """
        name = "registration" if isinstance(item, Registration) else "lifecycle"
        with self._changed:
            segment = self._segment()
            segment.append(dumps({"at": time.time() - age, name: encode(item)}) + b"\n")
            segment.waiting += 1

    def peek(self, timeout: float) -> Queued | None:
        """The oldest report that waits; None when none came within ``timeout`` seconds.

        Raises:
            OSError: it could not be read.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._entries or self._closed, timeout) or not self._entries:
                return None
            entry = self._entries[0]
            body = os.pread(entry.segment.descriptor, entry.length, entry.offset)
        envelope = entry.envelope
        age = envelope.age + time.monotonic() - entry.at
        return Queued(
            body, Envelope(age=age, attempt=envelope.attempt, run=envelope.run, seq=envelope.seq), entry.source
        )

    def done(self) -> None:
        """The oldest report is settled."""
        with self._changed:
            if not self._entries:
                return  # closed meanwhile
            segment = self._entries.popleft().segment
            segment.waiting -= 1
            if not segment.waiting and segment is not self._current:
                segment.close(delete=True)
            self._changed.notify_all()

    def wait_empty(self, timeout: float) -> bool:
        """Whether everything was handed on within ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._entries, timeout)

    def wake(self) -> None:
        """Ends every wait, for good."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def close(self) -> int:
        """Lets go of the files, and deletes those that nothing waits in; how many reports are left."""
        with self._changed:
            segments = {id(entry.segment): entry.segment for entry in self._entries}
            if self._current is not None:
                segments[id(self._current)] = self._current
            for segment in segments.values():
                segment.close(delete=not segment.waiting)
            left = len(self._entries)
            self._entries.clear()
            self._current = None
        return left

    def _segment(self) -> _Segment:
        current = self._current
        if current is None or current.size > self._segment_bytes:
            path = private_folder(self._folder) / f"{self._run}-{self._count}.jsonl"
            fresh = _Segment(path, self._header + b"\n")
            self._count += 1
            if current is not None and not current.waiting:
                current.close(delete=True)
            self._current = current = fresh
        return current
