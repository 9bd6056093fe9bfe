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

_DAY: Final = 86400.0


def forget(connection: sqlite3.Connection, settings: SqliteSettings, now: float) -> bool:
    """Removes one portion of what is too old or too much; answers whether there is more to do."""
    for tier, days in enumerate(settings.max_age_days):
        if _remove(connection, tier, now - days * _DAY, 2**62):
            return True
    excess = used_bytes(connection) - settings.max_bytes
    if excess > 0:
        (top,) = connection.execute("SELECT max(tier) FROM chunk").fetchone()
        for tier in range(top or 0):
            if _remove(connection, tier, float("inf"), excess):
                return True
    return False


def used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes that the database fills, without pages that wait to be used again."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def _remove(connection: sqlite3.Connection, tier: int, before: float, enough: int) -> bool:
    found = connection.execute(
        "SELECT id, length(points) FROM chunk WHERE tier = ? AND written < ? AND count = ? ORDER BY written, number LIMIT ?",
        (tier, before, CHUNK, PORTION),
    ).fetchall()
    chosen, freed = [], 0
    for number, size in found:
        if freed >= enough:
            break
        chosen.append(number)
        freed += size
    if not chosen:
        return False
    with transaction(connection):
        connection.execute("DELETE FROM chunk WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(chosen),))
    connection.execute("PRAGMA incremental_vacuum").fetchall()
    return True
