"""SQLite's errors as Headway's: the boundary that no ``sqlite3`` exception crosses."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headway.errors import HeadwayError, StoreCorruptError, StoreError, UnavailableError

_FULL: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
_SHUT: Final = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_HELD: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}


def corrupt(path: Path, what: str) -> StoreCorruptError:
    """An error that says what is wrong with the database, where, and how to go on."""
    return StoreCorruptError(
        f"the database {path} cannot be understood: {what}. Put a copy of it back if there is one; to save what can be "
        f"read, run `sqlite3 {path} .recover | sqlite3 recovered.db` and put recovered.db in its place; to begin anew, "
        f"move {path.name}, {path.name}-wal and {path.name}-shm out of {path.parent}."
    )


def translate(error: sqlite3.Error, path: Path) -> HeadwayError:
    """The error of this package that says the same."""
    extended = getattr(error, "sqlite_errorcode", None)
    code = None if extended is None else extended & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return UnavailableError(
            f"no space is left for the database {path} ({error}); reads go on, writes wait for space"
        )
    if code in _FULL:
        return UnavailableError(f"the database {path} could not be read or written ({error})")
    if code in _SHUT:
        return UnavailableError(
            f"the database {path} cannot be opened for writing ({error}); check the owner and mode of {path.parent}"
        )
    if code in _HELD:
        return UnavailableError(f"another program holds a lock on the database {path} ({error})")
    if code in _DAMAGED:
        return corrupt(path, str(error))
    return StoreError(f"the database {path} failed: {error}")


@contextmanager
def wrapped(path: Path) -> Iterator[None]:
    """Turns what ``sqlite3`` raises in its body into this package's errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error
