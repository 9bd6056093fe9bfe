"""Old history is thinned, finest tier first; its shape, its samples and the jobs themselves stay."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from headway.errors import SettingsError
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import JobKey
from headway.store.sqlite import SqliteSettings, SqliteStore
from headway.testing.store_driver import JOB, Opened, at, document, reported, steps
from headway.testing.waiting import wait_until

DAY = 86400.0
ALL = SeriesQuery(points=10**6)


class Clock:
    """Unix seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


def settings(**changes: object) -> SqliteSettings:
    quick = {"compact_rows": 1, "compact_rows_at_most": 1, "idle_seconds": 0.001, "retention_seconds": 0.01}
    return SqliteSettings(**{**quick, **changes})  # type: ignore[arg-type]


def fill(opened: Opened, points: int, key: JobKey = JOB) -> None:
    rng = random.Random(points)

    def value(step: int) -> float:
        return -1e3 if step == 777 else 1e3 if step == points // 2 else rng.gauss(0, 1)

    writes = [
        reported(seq, *(at(step, loss=value(step)) for step in range(seq * 500, (seq + 1) * 500)), key=key)
        for seq in range(points // 500)
    ]
    opened.keep(document("d", key), *writes)
    assert isinstance(opened.store, SqliteStore)
    wait_until(lambda: not opened.store.waiting_reports())  # type: ignore[attr-defined]


def all_of(opened: Opened, key: JobKey = JOB) -> Series:
    (series,) = opened.store.series(key, ALL)
    assert sum(point.n for point in series.points) == series.points[-1].step + 1
    assert steps(series) == sorted(steps(series))
    assert min(point.low for point in series.points) == -1e3
    assert max(point.high for point in series.points) == 1e3
    return series


def test_the_finest_tier_is_forgotten_first_and_the_shape_stays(tmp_path: Path) -> None:
    clock = Clock()
    store = SqliteStore(tmp_path, settings=settings(max_age_days=(1.0, 10.0)), clock=clock)
    opened = Opened(store)
    fill(opened, 20_000)
    assert len(all_of(opened).points) == 20_000
    clock.now += 2 * DAY
    full_chunks, rest = divmod(20_000, 512)
    by_eights = full_chunks * 64 + rest
    wait_until(lambda: len(store.series(JOB, ALL)[0].points) == by_eights)
    assert all_of(opened).tier == 8
    clock.now += 10 * DAY
    # of 2,500 points of eight, four chunks of 512 are full: they become points of 64
    wait_until(lambda: len(store.series(JOB, ALL)[0].points) == 4 * 64 + (by_eights - 4 * 512))
    assert all_of(opened).tier == 64
    assert [job.key for job in store.load()] == [JOB]
    store.close()

    opened = Opened(SqliteStore(tmp_path, settings=settings(), clock=clock))
    assert all_of(opened).tier == 64
    opened.keep(reported(40, *(at(step, loss=0) for step in range(20_000, 20_500))))
    assert all_of(opened).points[-1].step == 20_499
    (series,) = opened.store.series(JOB, SeriesQuery(points=10))
    assert 5 <= len(series.points) <= 10
    assert (min(point.low for point in series.points), max(point.high for point in series.points)) == (-1e3, 1e3)
    opened.store.close()


def test_young_history_stays(tmp_path: Path) -> None:
    clock = Clock()
    opened = Opened(SqliteStore(tmp_path, settings=settings(max_age_days=(1.0,)), clock=clock))
    fill(opened, 5_000)
    clock.now += 0.9 * DAY
    time.sleep(0.1)
    assert len(all_of(opened).points) == 5_000
    opened.store.close()


def test_a_clock_set_back_makes_no_holes(tmp_path: Path) -> None:
    clock = Clock()
    opened = Opened(SqliteStore(tmp_path, settings=settings(max_age_days=(1.0,)), clock=clock))
    fill(opened, 5_000)
    clock.now -= 5 * DAY
    opened.keep(*(reported(10 + i, *(at(5_000 + i * 500 + j, loss=0) for j in range(500))) for i in range(10)))
    wait_until(lambda: not opened.store.waiting_reports())  # type: ignore[attr-defined]
    clock.now += 5.5 * DAY
    time.sleep(0.1)
    assert len(all_of(opened).points) == 10_000
    opened.store.close()


def test_too_much_history_loses_the_oldest_of_the_finest_tier(tmp_path: Path) -> None:
    clock = Clock()
    old, new = JobKey("local", "old"), JobKey("local", "new")
    opened = Opened(SqliteStore(tmp_path, settings=settings(), clock=clock))
    fill(opened, 60_000, old)
    clock.now += DAY
    fill(opened, 40_000, new)
    whole = opened.store.stats().bytes_on_disk
    opened.store.close()
    assert whole is not None
    limit = 2**20
    assert whole > limit

    opened = Opened(SqliteStore(tmp_path, settings=settings(max_bytes=limit), clock=clock))
    wait_until(lambda: (tmp_path / "headway.db").stat().st_size <= limit)
    assert len(all_of(opened, new).points) == 40_000
    thinned = all_of(opened, old)
    assert 60_000 // 8 <= len(thinned.points) < 60_000
    assert thinned.points[0].n == 8
    assert thinned.points[-1].n == 1
    assert len(list(opened.store.load())) == 2
    opened.store.close()


@pytest.mark.parametrize(
    "changes", [{"max_bytes": 5}, {"max_age_days": (10.0, 1.0)}, {"max_age_days": (0.0,)}, {"compact_rows": 5}]
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        settings(**changes)
