"""Which jobs there are: those in the hub's hands, which of them time can change, and those whose document cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headway.errors import NotFoundError, StoreCorruptError
from headway.hub.entry import Entry
from headway.hub.loading import new_entry
from headway.protocol.job import JobKey


class Roster:
    """All jobs, by name. One that is being deleted is no longer found, and its name is free for another."""

    def __init__(self) -> None:
        self.live: set[JobKey] = set()
        """Jobs that time can change."""
        self.unreadable: dict[JobKey, StoreCorruptError] = {}
        """Jobs whose document cannot be understood: they are left alone until they are deleted."""
        self._entries: dict[JobKey, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """All that are there, in the order in which they became known."""
        return (entry for entry in self._entries.values() if not entry.deleting)

    def fill(self, entries: Iterable[Entry], unreadable: dict[JobKey, StoreCorruptError]) -> None:
        """Takes in what was loaded; time can change any of it."""
        self._entries.update((entry.job.key, entry) for entry in entries)
        self.live = set(self._entries)
        self.unreadable = unreadable

    def find(self, key: JobKey) -> Entry | None:
        """The job of a name, if there is one."""
        entry = self._entries.get(key)
        return None if entry is None or entry.deleting else entry

    def entry(self, key: JobKey) -> Entry:
        """The job of a name.

        Raises:
            NotFoundError: there is none.
        """
        entry = self.find(key)
        if entry is None:
            raise NotFoundError(f"there is no job {key}; `headway ls -A` lists those that there are")
        return entry

    def add(self, key: JobKey, now: float) -> Entry:
        """A job that nothing is known of yet, under a name that is free.

        Raises:
            StoreCorruptError: a job of this name is stored, and cannot be read.
            InvalidError: it cannot be called so.
        """
        if key in self.unreadable:
            raise self.unreadable[key]
        entry = self._entries[key] = new_entry(key, now)
        return entry

    def find_or_add(self, key: JobKey, now: float) -> Entry:
        """The job of a name, be it a new one. Raises as :meth:`add`."""
        return self.find(key) or self.add(key, now)

    def remove(self, entry: Entry) -> None:
        """Forgets a job, unless its name is another's by now."""
        key = entry.job.key
        if self._entries.get(key) is entry:
            del self._entries[key]
            self.live.discard(key)
