"""Opening the database: its connections, and its schema brought up to date."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headway.errors import StoreCorruptError, UnavailableError
from headway.store.migrations import Migration
from headway.store.sqlite.failures import corrupt
from headway.store.sqlite.settings import SqliteSettings

APPLICATION_ID: Final = 0x48647779
"""``Hdwy``: marks a database as Headway's, so that another program's is never migrated."""

_MAGIC: Final = b"SQLite format 3\x00"


def connect_writer(path: Path, settings: SqliteSettings) -> sqlite3.Connection:
    """The one connection that writes; made here, used by the writer's thread. The database is created if it is not there."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        head = os.pread(descriptor, len(_MAGIC), 0)
        os.close(descriptor)
    except OSError as error:
        raise UnavailableError(f"the database {path} cannot be written: {error.strerror}") from error
    if head and head != _MAGIC:
        raise corrupt(path, "it is not a SQLite database")
    connection = sqlite3.connect(
        path, timeout=settings.busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {settings.checkpoint_pages}")
        connection.execute(f"PRAGMA journal_size_limit = {64 * 2**20}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, settings: SqliteSettings) -> sqlite3.Connection:
    """A connection that only reads. Any thread may use it, one at a time."""
    connection = sqlite3.connect(
        path, timeout=settings.busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    connection.execute("PRAGMA query_only = ON")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing of what its body writes."""
    if connection.in_transaction:  # an earlier one that could not even be rolled back
        connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    """Applies the migrations that the database has not seen, each in a transaction of its own.

    Raises:
        StoreCorruptError: the database is not Headway's, or is newer than this version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (tables or version):
        raise corrupt(path, "it belongs to another program")
    newest = migrations[-1].number
    if version > newest:
        raise StoreCorruptError(
            f"the database {path} was written by a newer version of Headway (its schema is {version}, this version knows up "
            f"to {newest}): install that version again, or start with another folder"
        )
    for migration in migrations:
        if migration.number > version:
            with transaction(connection):
                for statement in migration.statements():
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {migration.number}")
