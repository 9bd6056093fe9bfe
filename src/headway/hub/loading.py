"""Loads every job at a start, quickly."""

from __future__ import annotations

import gc
import logging
from typing import Final

from headway.errors import StoreCorruptError
from headway.hub.entry import Entry
from headway.protocol.job import JobKey
from headway.store.base import Store
from headway.tracking.document import load

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
