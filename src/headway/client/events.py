"""Server-sent events without I/O: bytes in, changes out; and how long to wait before the next try."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from headway.protocol.codec import decode, loads
from headway.protocol.job import Changes


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it came: its id, type and data."""

    id: str | None
    type: str
    data: str


class EventParser:
    """Cuts a byte stream into events. Comments and unknown fields are skipped; an unfinished event is never given."""

    __slots__ = ("_data", "_id", "_rest", "_type")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._type = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that ``chunk`` completes."""
        *lines, self._rest = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            event = self._line(line.decode("utf-8", "replace"))
            if event is not None:
                yield event

    def _line(self, line: str) -> Event | None:
        if not line:
            data, kind = self._data, self._type
            self._data, self._type = [], ""
            return Event(self._id, kind or "message", "\n".join(data)) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None


def changes_of(event: Event) -> Changes | None:
    """The changes that an event tells; None for an event of another kind.

    Raises:
        InvalidError: the data is not what the kind promises.
    """
    if event.type not in {"snapshot", "changes"}:
        return None
    return decode(Changes, loads(event.data))


@dataclass(slots=True)
class Backoff:
    """Doubling waits with full jitter, so that many clients of one server do not come back at the same moment."""

    first: float = 0.5
    """Longest first wait, in seconds."""
    most: float = 15.0
    """Longest wait, in seconds."""
    random: random.Random = field(default_factory=random.Random)
    tries: int = 0

    def next(self) -> float:
        """Seconds to wait before the next try: anything up to the present step, and nearly the whole of it once it grows no more.

        So each client comes to a place of its own within the longest wait, and keeps it.
        """
        step = self.first * 2.0 ** min(self.tries, 30)
        self.tries += 1
        return min(step, self.most) * self.random.uniform(0.1 if step < 2 * self.most else 0.9, 1.0)

    def reset(self) -> None:
        """Starts over, after a success."""
        self.tries = 0
