"""What is forgotten, and when: the oldest of the finest tier first, the coarsest tier last.

Only full chunks go, so what stands in for them is there already: a chunk's points were summarised before it was full.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Final

from headway.store.sqlite.compaction import CHUNK
from headway.store.sqlite.schema import transaction
from headway.store.sqlite.settings import SqliteSettings

PORTION: Final = 256
"""Most chunks removed in one transaction."""

PAGES: Final = 1024
"""Most pages given back at a time."""

_DAY: Final = 86400.0


def forget(connection: sqlite3.Connection, settings: SqliteSettings, now: float) -> bool:
    """Removes one portion of what is too old or too much; answers whether there is more to do."""
    for tier, days in enumerate(settings.max_age_days):
        if _remove(connection, tier, now - days * _DAY, 2**62):
            return True
    used, free = size(connection)
    if used > settings.max_bytes:
        (top,) = connection.execute("SELECT max(tier) FROM chunk").fetchone()
        for tier in range(top or 0):
            if _remove(connection, tier, float("inf"), used - settings.max_bytes):
                return True
    if free > used or (free and used + free > settings.max_bytes):
        return _give_back(connection)
    return False


def size(connection: sqlite3.Connection) -> tuple[int, int]:
    """Bytes of the database that are filled, and that wait to be filled again."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    return (pages - free) * page, free * page


def _remove(connection: sqlite3.Connection, tier: int, before: float, enough: int) -> bool:
    """Removes the oldest chunks of a tier, up to about ``enough`` bytes; answers whether there were any."""
    found = connection.execute(
        "SELECT id, length(points) FROM chunk WHERE tier = ? AND written < ? AND count = ? ORDER BY written, number LIMIT ?",
        (tier, before, CHUNK, PORTION),
    ).fetchall()
    chosen, freed = [], 0
    for number, length in found:
        if freed >= enough:
            break
        chosen.append(number)
        freed += length
    if chosen:
        with transaction(connection):
            connection.execute("DELETE FROM chunk WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(chosen),))
    return bool(chosen)


def _give_back(connection: sqlite3.Connection) -> bool:
    """Returns free pages to the file system; answers whether the database shrank."""
    (before,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()  # only now does the file shrink
    (after,) = connection.execute("PRAGMA page_count").fetchone()
    return bool(after < before)
