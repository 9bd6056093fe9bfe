"""How jobs come into the hub's hands: all of them at a start, quickly; one that is new; one whose write failed."""

from __future__ import annotations

import gc
import logging
import secrets
from typing import Final

from headway.errors import InvalidError, StoreCorruptError
from headway.hub.entry import Entry
from headway.protocol.job import JobKey
from headway.store.base import Store
from headway.tracking.document import load
from headway.tracking.fold import keep_signs_of_life
from headway.tracking.merging import Unread
from headway.tracking.tracked import TrackedJob

logger = logging.getLogger(__name__)

_MANY: Final = 1000


def load_jobs(store: Store) -> tuple[list[Entry], dict[JobKey, StoreCorruptError]]:
    """The jobs of a store, and those whose document cannot be understood."""
    collecting = gc.isenabled()
    gc.disable()  # nothing that is loaded is garbage, and looking for some would take most of the time
    try:
        entries, unreadable = _load_jobs(store)
        if len(entries) > _MANY:
            gc.freeze()  # they live as long as the server: no collection need look at them again
        return entries, unreadable
    finally:
        if collecting:
            gc.enable()


def _load_jobs(store: Store) -> tuple[list[Entry], dict[JobKey, StoreCorruptError]]:
    entries: list[Entry] = []
    unreadable: dict[JobKey, StoreCorruptError] = {}
    for key, document in store.load():
        try:
            entries.append(Entry(load(document), persisted=document))
        except StoreCorruptError as error:
            logger.error("job %s is left alone: %s", key, error)  # noqa: TRY400 - the message says it all
            unreadable[key] = error
    return entries, unreadable


def new_entry(key: JobKey, now: float) -> Entry:
    """An entry for a job that nothing is known of.

    Raises:
        InvalidError: it cannot be called so.
    """
    if "\0" in key.namespace or "\0" in key.name or not key.namespace or not key.name:
        raise InvalidError("a name must not be empty, nor hold a NUL", field="name")
    return Entry(TrackedJob(key=key, uid=secrets.token_hex(16), created_at=now, updated_at=now))


def put_back(entry: Entry, document: bytes) -> None:
    """Puts a job back to what is persisted, but for who was heard and when: that needs no storing."""
    known, entry.job, entry.unread = entry.job, load(document), Unread()
    keep_signs_of_life(known, entry.job)
    entry.changed()
