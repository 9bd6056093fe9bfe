"""A database of the first schema, with data, opens with this version; steps are applied in order, whole or not at all."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from headway.errors import StoreCorruptError, StoreError
from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey
from headway.store.migrations import Migration, migrations
from headway.store.sqlite import SqliteStore
from headway.testing.store_driver import JOB, Opened, at, reported, steps

FIRST = Path(__file__).parent / "data" / "schema-0001.sql"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with a database as the first version left it."""
    connection = sqlite3.connect(tmp_path / "headway.db")
    connection.executescript(FIRST.read_text(encoding="utf-8"))
    connection.close()
    return tmp_path


def version(folder: Path) -> int:
    connection = sqlite3.connect(folder / "headway.db")
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(number)


def open_with(folder: Path, more: Sequence[Migration]) -> None:
    store = SqliteStore(folder, steps=(*migrations(), *more))
    store.open(lambda _: None)
    store.close()


def test_the_first_schema_opens_with_all_its_data_and_goes_on(old: Path) -> None:
    opened = Opened(SqliteStore(old))
    other = JobKey("team a", "größe/1")
    assert sorted(opened.store.load()) == [(JOB, b'{"state":"Failed"}'), (other, b'{"state":"Complete"}')]
    (loss,) = opened.store.series(JOB, SeriesQuery(points=10_000))
    assert [(point.step, point.mean) for point in loss.points] == [
        (step, round(math.sin(step / 50), 4)) for step in range(1100)
    ]
    (thin,) = opened.store.series(JOB, SeriesQuery(points=50))
    assert 25 < len(thin.points) <= 50
    assert min(point.low for point in thin.points) == min(point.mean for point in loss.points)
    (series,) = opened.store.series(other, SeriesQuery())
    assert (series.attempt, series.points[0]) == ("a-2", (3, 0.3, 2.5, 2.5, 2.5, 4, 1))
    assert math.isnan(series.points[1].mean)
    opened.keep(reported(3, at(60, loss=0)), reported(52, at(1040, loss=0)), reported(55, at(1100, loss=0)))
    (loss,) = opened.store.series(JOB, SeriesQuery(points=10_000))
    assert steps(loss) == list(range(1101))
    opened.store.close()
    assert version(old) == migrations()[-1].number


def test_migrations_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))
    assert all(list(migration.statements()) for migration in migrations())


def test_steps_not_seen_are_applied_in_order_once(old: Path) -> None:
    first, second = version(old) + 1, version(old) + 2
    more = [
        Migration(first, "more", "-- a word; with a semicolon\nCREATE TABLE more (a);\nINSERT INTO more VALUES (1);\n"),
        Migration(second, "most", "ALTER TABLE more ADD COLUMN b DEFAULT 'x;y';\n"),
    ]
    open_with(old, more[:1])
    assert version(old) == first
    open_with(old, more)
    open_with(old, more)
    assert version(old) == second
    connection = sqlite3.connect(old / "headway.db")
    assert connection.execute("SELECT * FROM more").fetchall() == [(1, "x;y")]
    connection.close()


def test_a_step_that_fails_leaves_the_database_as_it_was(old: Path) -> None:
    before = version(old)
    wrong = Migration(before + 1, "wrong", "CREATE TABLE more (a);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(StoreError, match="nowhere"):
        open_with(old, [wrong])
    assert version(old) == before
    connection = sqlite3.connect(old / "headway.db")
    assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'more'").fetchall()
    connection.close()
    open_with(old, [])


def test_a_newer_schema_is_refused_and_left_alone(old: Path) -> None:
    newest = migrations()[-1].number
    open_with(old, [Migration(newest + 1, "future", "CREATE TABLE future (a);\n")])
    with pytest.raises(StoreCorruptError, match=r"newer version of Headway.*install that version again"):
        SqliteStore(old).open(lambda _: None)
    assert version(old) == newest + 1
