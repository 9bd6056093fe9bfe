"""When reports are compacted: under load too, once enough wait, and after a while even the few of a job that went quiet."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey
from headway.store.sqlite import SqliteSettings, SqliteStore
from headway.testing.store_driver import JOB, Opened, at, reported, steps
from headway.testing.waiting import wait_until

NEVER = 3600.0


@pytest.mark.parametrize(
    ("compact_rows_at_most", "waiting_at_most"), [(8, 10**6), (10**6, 16)], ids=["of one job", "of all jobs"]
)
def test_a_store_that_is_never_idle_compacts_what_is_too_much(
    tmp_path: Path, compact_rows_at_most: int, waiting_at_most: int
) -> None:
    settings = SqliteSettings(
        compact_rows=4,
        compact_rows_at_most=compact_rows_at_most,
        waiting_at_most=waiting_at_most,
        idle_seconds=NEVER,
    )
    store = SqliteStore(tmp_path, settings=settings)
    opened = Opened(store)
    seq = 0

    def another() -> bool:
        nonlocal seq
        seq += 1
        opened.keep(reported(seq, at(seq, loss=seq)))
        return seq > 20 and store.waiting_reports() < 16

    wait_until(another)
    (series,) = store.series(JOB, SeriesQuery(points=10**6))
    assert steps(series) == list(range(1, seq + 1))
    store.close()


def test_reports_wait_for_company(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, settings=SqliteSettings(compact_rows=5, idle_seconds=0.001))
    opened = Opened(store)
    opened.keep(*(reported(seq, at(seq, loss=seq)) for seq in range(4)))
    time.sleep(0.05)
    assert store.waiting_reports() == 4
    opened.keep(reported(4, at(4, loss=4)))
    wait_until(lambda: store.waiting_reports() == 0)
    store.close()


def test_the_few_reports_of_a_quiet_job_are_compacted_at_last(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, settings=SqliteSettings(retention_seconds=0.05, idle_seconds=0.001))
    opened = Opened(store)
    opened.keep(*(reported(1, at(1, loss=1), key=JobKey("local", f"job-{number}")) for number in range(10)))
    assert store.waiting_reports() > 0
    wait_until(lambda: store.waiting_reports() == 0)
    assert [steps(series) for series in store.series(JobKey("local", "job-3"), SeriesQuery())] == [[1]]
    store.close()


def test_a_backlog_is_found_again_and_compacted_after_a_restart(tmp_path: Path) -> None:
    late = SqliteSettings(compact_rows=10**6, compact_rows_at_most=10**6)
    opened = Opened(SqliteStore(tmp_path, settings=late))
    opened.keep(*(reported(seq, at(seq, loss=seq)) for seq in range(300)))
    opened.store.close()
    store = SqliteStore(tmp_path, settings=SqliteSettings(idle_seconds=0.001))
    opened = Opened(store)
    wait_until(lambda: store.waiting_reports() < 64)
    opened.keep(reported(7, at(7, loss=7)), reported(300, at(300, loss=300)))
    (series,) = store.series(JOB, SeriesQuery())
    assert steps(series) == list(range(301))
    store.close()
