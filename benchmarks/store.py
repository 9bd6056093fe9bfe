"""What the SQLite store costs: writes per second, bytes per report, a long series, a start with many jobs.

    python benchmarks/store.py [--seconds 5] [--points 1000000] [--jobs 10000] [--json FILE]

The write path is measured bare: no HTTP, no folding. 64 submitters each send a report of 10 points x 3 metrics and a job document
of 2 kB, and the next one only once the last is durable. Beside it stand one row per commit, which is what a store without group
commit does, and the disk's own fsync. Compaction is timed by itself: the store does it when nothing else is to be done.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey
from headway.protocol.report import Cell, Point
from headway.store.base import Completion, PointBatch, Write
from headway.store.sqlite import SqliteSettings, SqliteStore

METRICS = ("loss", "grad_norm", "learning_rate")
DOCUMENT = json.dumps({"state": "Running", "filler": ["0.123456789"] * 140}).encode()


def report(job: int, seq: int, points: int = 10) -> Write:
    """One report of a job, as the hub hands it over."""
    rng = random.Random(job * 1_000_003 + seq)
    first = seq * points
    return Write(
        key=JobKey("local", f"job-{job}"),
        document=DOCUMENT,
        points=PointBatch(
            attempt="runner-1",
            run=f"run-{job}",
            seq=seq,
            points=tuple(
                Point(step, step * 0.1, {name: Cell(rng.gauss(2, 0.3), 5, 0.1) for name in METRICS})
                for step in range(first, first + points)
            ),
        ),
    )


class Submitters:
    """``count`` of them: each waits for its write before it sends the next."""

    def __init__(self, store: SqliteStore, reports: list[list[Write]], seconds: float) -> None:
        self.store, self.reports, self.until = store, [iter(each) for each in reports], time.perf_counter() + seconds
        self.latencies: list[float] = []
        self.errors: list[Exception] = []
        self.idle = threading.Semaphore(0)

    def begin(self) -> None:
        for number in range(len(self.reports)):
            self.next(number)

    def next(self, number: int) -> None:
        write = next(self.reports[number], None) if time.perf_counter() < self.until else None
        if write is None:
            self.idle.release()
        else:
            self.store.submit(write, (number, time.perf_counter()))

    def done(self, completions: Sequence[Completion]) -> None:
        now = time.perf_counter()
        for (number, sent), error in completions:  # type: ignore[misc]
            self.latencies.append(now - sent)
            if error:
                self.errors.append(error)
            self.next(number)


def write_path(folder: Path, seconds: float, submitters: int = 64) -> dict[str, Any]:
    reports = [[report(job, seq) for seq in range(1, int(seconds * 300))] for job in range(submitters)]
    store = SqliteStore(folder)
    holder: list[Submitters] = []
    store.open(lambda completions: holder[0].done(completions))  # noqa: PLW0108 - it is not there yet
    holder.append(Submitters(store, reports, seconds))
    began, cpu = time.perf_counter(), time.process_time()
    holder[0].begin()
    for _ in range(submitters):
        holder[0].idle.acquire()
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    stats = store.stats()
    store.close()
    waiting = database(folder, "SELECT avg(length(points)) FROM report")
    began = time.perf_counter()
    rows = compact(folder)
    compaction = time.perf_counter() - began
    assert not holder[0].errors, holder[0].errors[0]
    latencies = sorted(holder[0].latencies)
    return {
        "reports_per_second": len(latencies) / took,
        "p50_ms": latencies[len(latencies) // 2] * 1e3,
        "p99_ms": latencies[len(latencies) * 99 // 100] * 1e3,
        "reports_per_commit": stats.writes / stats.commits,
        "cpu_us_per_report": cpu / len(latencies) * 1e6,
        "bytes_per_report_as_it_came": waiting,
        "bytes_per_report_compacted": used(folder) / len(latencies),
        "compaction_us_per_report": compaction / rows * 1e6,
        "reports": len(latencies),
    }


def database(folder: Path, query: str) -> Any:
    connection = sqlite3.connect(folder / "headway.db")
    ((value,),) = connection.execute(query).fetchall()
    connection.close()
    return value


def used(folder: Path) -> int:
    """Bytes of the database without free pages."""
    pages, free = (database(folder, f"PRAGMA {name}") for name in ("page_count", "freelist_count"))
    return int((pages - free) * database(folder, "PRAGMA page_size"))


def compact(folder: Path) -> int:
    """Has everything compacted that waits; answers how many reports that were."""
    store = SqliteStore(folder, settings=SqliteSettings(compact_rows=1))
    store.open(lambda _: None)
    rows = store.waiting_reports()
    while store.waiting_reports():
        time.sleep(0.01)
    store.close()
    return rows


def one_commit_each(folder: Path, seconds: float) -> float:
    folder.mkdir()
    connection = sqlite3.connect(folder / "plain.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE report (id INTEGER PRIMARY KEY, points BLOB)")
    row, count = os.urandom(700), 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        connection.execute("INSERT INTO report (points) VALUES (?)", (row,))
        count += 1
    connection.close()
    return count / seconds


def fsyncs(folder: Path) -> float:
    with (folder / "fsync").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(200):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
        return (time.perf_counter() - began) / 200 * 1e3


def fill(store_folder: Path, jobs: range, reports: int, points: int) -> None:
    store = SqliteStore(store_folder)
    left = threading.Semaphore(0)
    store.open(lambda completions: [left.release() for _ in completions])  # type: ignore[func-returns-value]
    sent = 0
    for seq in range(1, reports + 1):
        for job in jobs:
            store.submit(report(job, seq, points), None)
            sent += 1
            if sent > 2000:
                left.acquire()
    for _ in range(min(sent, 2000)):
        left.acquire()
    store.close()
    compact(store_folder)


def long_series(folder: Path, points: int) -> dict[str, Any]:
    fill(folder, range(1), points // 100, 100)
    store = SqliteStore(folder)
    store.open(lambda _: None)
    key, times = JobKey("local", "job-0"), {}
    middle = points // 2
    for name, query in {
        "whole": SeriesQuery(metrics=("loss",)),
        "tenth": SeriesQuery(metrics=("loss",), first_step=middle, last_step=middle + points // 10),
        "thousandth": SeriesQuery(metrics=("loss",), first_step=middle, last_step=middle + points // 1000),
    }.items():
        taken = []
        for _ in range(9):
            began = time.perf_counter()
            (series,) = store.series(key, query)
            taken.append((time.perf_counter() - began) * 1e3)
        times[name] = {"median_ms": statistics.median(taken), "first_ms": taken[0], "points": len(series.points)}
    store.close()
    return {"points": points, "bytes_per_cell": used(folder) / points / len(METRICS), **times}


def fleet(folder: Path, jobs: int, living: int) -> dict[str, Any]:
    fill(folder, range(living), 10, 100)
    fill(folder, range(living, jobs), 1, 1)
    store = SqliteStore(folder)
    began = time.perf_counter()
    store.open(lambda _: None)
    opened = time.perf_counter() - began
    loaded = sum(1 for _ in store.load())
    took = time.perf_counter() - began
    store.close()
    return {
        "jobs": loaded,
        "with_1000_points": living,
        "open_s": opened,
        "open_and_load_s": took,
        "bytes": used(folder),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sys.setswitchinterval(0.0002)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        result = {
            "fsync_ms": fsyncs(folder),
            "one_commit_each_per_second": one_commit_each(folder / "plain", 2.0),
            "write_path": write_path(folder / "write", arguments.seconds),
            "long_series": long_series(folder / "long", arguments.points),
            "fleet": fleet(folder / "fleet", arguments.jobs, arguments.jobs // 10),
        }
    show(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


def show(result: dict[str, Any], indent: str = "") -> None:
    for name, value in result.items():
        if isinstance(value, dict):
            print(f"{indent}{name.replace('_', ' ')}")
            show(value, indent + "  ")
        else:
            shown = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
            print(f"{indent}{name.replace('_', ' '):<{34 - len(indent)}}{shown:>16}")


if __name__ == "__main__":
    main()
