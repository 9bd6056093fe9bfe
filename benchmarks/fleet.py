"""A server with many jobs: how soon it is back after a restart, what it holds in memory, how fast it answers.

    python benchmarks/fleet.py [--jobs 10000] [--running 1000] [--points 1000] [--series 1000000] [--quick]

A fleet is written by a hub of its own: most jobs have ended, some run and have a history of so many points of three metrics, one
has a long series. Then a server process is started on it, three times; the last one is asked for pages and for the series over
HTTP, first as it is, then while every running job reports once a second, so that all of them are judged again from
their history. Its memory is read at each stage. There are no peers: none of them lists jobs with a state.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import math
import multiprocessing
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Self

from ingest_peers import cpu_seconds, process
from turns import keep, table

from headway.errors import HeadwayError
from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import JobKey
from headway.protocol.limits import STATUS_PATH
from headway.protocol.report import Cell, Ending, EndingKind, Point, Progress, Report, RunReport, TrainerStatus, Unit
from headway.protocol.wire import encode_report
from headway.reporter.discovery import ServerRecord, find_server
from headway.reporter.folders import Folders
from headway.store.sqlite import SqliteStore

METRICS = ("loss", "grad_norm", "learning_rate")
AT_ONCE = 200
NOISE = [random.gauss(0, 0.02) for _ in range(997)]


def report(
    name: str, seq: int, steps: range, metrics: tuple[str, ...] = METRICS, *, ending: Ending | None = None
) -> Report:
    """One report with the points of some steps: a loss that falls, with noise."""
    noise, shift = NOISE, hash((name, seq))
    points = tuple(
        Point(step, step * 0.5, {metric: Cell(2 / math.sqrt(step) + noise[(shift + step) % 997]) for metric in metrics})
        for step in steps
    )
    last = steps[-1]
    progress = Progress(step=last, total_steps=2 * 10**6, unit=Unit.OPTIMIZER_STEP, last_step_age=0.1, step_seconds=0.5)
    run = RunReport(
        run=f"run-{name}",
        seq=seq,
        attempt="attempt-1",
        sent_after=last * 0.5,
        progress=progress,
        points=points,
        ending=ending,
    )
    return Report(status=TrainerStatus(), headway=run)


def fill(folder: str, jobs: int, running: int, points: int, long: int) -> None:
    """Writes the fleet; runs in a process of its own."""

    async def job(hub: Hub, name: str, count: int, chunk: int, metrics: tuple[str, ...], *, ends: bool) -> None:
        ending = Ending(kind=EndingKind.COMPLETED, step=count) if ends else None
        for seq, first in enumerate(range(1, count + 1, chunk), 1):
            last = ending if first + chunk > count else None
            steps = range(first, min(first + chunk, count + 1))
            await hub.ingest(JobKey("local", name), report(name, seq, steps, metrics, ending=last), create=True)

    async def run() -> None:
        hub = Hub(SqliteStore(Path(folder)), settings=HubSettings(tick=3600.0))
        await hub.start()
        for start in range(0, jobs - running, AT_ONCE):
            names = range(start, min(start + AT_ONCE, jobs - running))
            await asyncio.gather(*(job(hub, f"ended-{n}", 10, 10, METRICS, ends=True) for n in names))
        await job(hub, "long", long, 1000, ("loss",), ends=True)
        for start in range(0, running, AT_ONCE):
            names = range(start, min(start + AT_ONCE, running))
            await asyncio.gather(*(job(hub, f"running-{n}", points, 100, METRICS, ends=False) for n in names))
        await hub.stop()

    asyncio.run(run())


@contextmanager
def server(home: Path) -> Generator[tuple[ServerRecord, subprocess.Popen[bytes], float], None, None]:
    """A server process on the fleet: its address, and the seconds from its start until it answered that it is ready."""
    env = {"HEADWAY_HOME": str(home)}
    began = time.perf_counter()
    with process([sys.executable, "-m", "headway.app", "--port", "0"], home, env) as started:
        path = Folders.from_env(env).server_record
        while True:
            record = find_server(path)
            if record is not None:
                break
            if started.poll() is not None or time.perf_counter() - began > 120:
                raise SystemExit("the server did not come up: " + (home / "output.txt").read_text()[-2000:])
            time.sleep(0.01)
        with Client(record) as client:
            client.get("/readyz")
        yield record, started, time.perf_counter() - began


class Client:
    """One keep-alive connection."""

    def __init__(self, record: ServerRecord) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", int(record.url.rpartition(":")[2]), timeout=60)
        self._headers = {"Authorization": f"Bearer {record.token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        return self._read(path)

    def post(self, path: str, body: Any) -> bytes:
        self._connection.request("POST", path, json.dumps(body), headers=self._headers)
        return self._read(path)

    def _read(self, path: str) -> bytes:
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
        return content


def timed(client: Client, pid: int, path: str, times: int, *, seconds: float = 60.0) -> dict[str, Any]:
    """Asks for a path so many times, or for so many seconds: milliseconds."""
    spent: list[float] = []
    used = cpu_seconds(pid)
    until = time.perf_counter() + seconds
    while len(spent) < times and time.perf_counter() < until:
        began = time.perf_counter()
        content = client.get(path)
        spent.append((time.perf_counter() - began) * 1e3)
        time.sleep(0.05)
    ordered = sorted(spent)
    return {
        "first_ms": spent[0],
        "median_ms": median(spent),
        "p95_ms": ordered[len(ordered) * 95 // 100],
        "cpu_ms": (cpu_seconds(pid) - used) / len(spent) * 1e3,
        "bytes": len(content),
        "content": content,
    }


def memory(pid: int) -> dict[str, float]:
    """Resident memory in MB: now, and at its most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    values = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return {"now_mb": values["VmRSS"], "most_mb": values["VmHWM"]}


class Fleet:
    """Every running job reports once a second, over some connections."""

    def __init__(self, record: ServerRecord, running: int, points: int, connections: int = 16) -> None:
        self._record, self._points = record, points
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(range(first, running, connections),), daemon=True)
            for first in range(connections)
        ]
        self.reported: set[int] = set()
        self.sent = 0
        self.error = ""
        for thread in self._threads:
            thread.start()

    def _run(self, mine: range) -> None:
        seq, began = self._points // 100, time.perf_counter()
        try:
            with Client(self._record) as client:
                while not self._ended.is_set():
                    seq += 1
                    for place, number in enumerate(mine):
                        name, first = f"running-{number}", self._points + 2 * seq
                        body = encode_report(report(name, seq, range(first, first + 2)))
                        client.post(STATUS_PATH.format(namespace="local", name=name), body)
                        self.sent += 1
                        self.reported.add(number)
                        due = seq - self._points // 100 - 1 + place / len(mine)
                        if self._ended.wait(max(0.0, began + due - time.perf_counter())):
                            return
        except (SystemExit, OSError, HeadwayError) as error:
            self.error = str(error)

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def reporting(record: ServerRecord, running: int, points: int, pipe: Any) -> None:
    """The process in which a fleet reports: tells how far it is whenever it is asked, until it is asked to end."""
    fleet = Fleet(record, running, points)
    going = True
    while going:
        going = pipe.recv()
        if not going:
            fleet.end()
        pipe.send((len(fleet.reported), fleet.sent, fleet.error))


PAGES = {
    "first page of /api/v1/jobs (100 jobs)": "/api/v1/jobs",
    "its running jobs, by eta": "/api/v1/jobs?state=Running&sort=eta",
    "1,000 jobs on one page": "/api/v1/jobs?limit=1000",
}


def measure(home: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {"ready_s": [], "ready_cpu_s": []}
    for _ in range(arguments.restarts - 1):
        with server(home) as (_, started, ready):
            figures["ready_s"].append(ready)
            figures["ready_cpu_s"].append(cpu_seconds(started.pid))
    with server(home) as (record, started, ready), Client(record) as client:
        figures["ready_s"].append(ready)
        figures["ready_cpu_s"].append(cpu_seconds(started.pid))
        figures["memory after the start"] = memory(started.pid)
        for name, path in PAGES.items():
            figures[name] = timed(client, started.pid, path, arguments.times)
        total = json.loads(figures["first page of /api/v1/jobs (100 jobs)"]["content"])["total"]
        if total != arguments.jobs + 1:
            raise SystemExit(f"expected {arguments.jobs + 1} jobs, got {total}")
        long = f"{arguments.series:,} points as 1,000"
        figures[long] = timed(
            client, started.pid, "/api/v1/jobs/local/long/series?metric=loss&points=1000", arguments.times
        )
        drawn = len(json.loads(figures[long]["content"])["series"][0]["points"])
        if not 500 <= drawn <= 1000:
            raise SystemExit(f"expected at most 1,000 points, and not many less; got {drawn}")
        figures[long]["points"] = drawn
        pipe, theirs = multiprocessing.Pipe()
        fleet = multiprocessing.get_context("spawn").Process(
            target=reporting, args=(record, arguments.running, arguments.points, theirs)
        )
        fleet.start()

        def ask(*, going: bool = True) -> tuple[int, int]:
            pipe.send(going)
            reported, sent, error = pipe.recv()
            if error:
                raise SystemExit(f"a report failed: {error}")
            return reported, sent

        ask()
        began = time.perf_counter()
        loaded = f"first page while {arguments.running:,} jobs report"
        figures[loaded] = timed(client, started.pid, "/api/v1/jobs", 10**6, seconds=arguments.seconds)
        figures["reports a second meanwhile"] = ask()[1] / (time.perf_counter() - began)
        while ask()[0] < arguments.running and time.perf_counter() - began < 6 * arguments.seconds:
            time.sleep(0.1)
        figures["all running jobs had reported after_s"] = time.perf_counter() - began
        ask(going=False)
        fleet.join()
        figures["memory after all running jobs reported"] = memory(started.pid)
    for each in figures.values():
        if isinstance(each, dict):
            each.pop("content", None)
    return figures


def show(figures: dict[str, Any]) -> str:
    ready, used = figures["ready_s"], figures["ready_cpu_s"]
    rows = [
        ["restart to ready", f"{median(ready):.2f} s", f"{max(ready):.2f} s (most)", f"{median(used):.2f} s", "3 s"]
    ]
    for name, each in figures.items():
        if name.startswith("memory"):
            rows.append([name, f"{each['now_mb']:.0f} MB", f"{each['most_mb']:.0f} MB (most)", "", "400 MB"])
        elif isinstance(each, dict):
            goal = "50 ms" if name.startswith("first page of") or "points as" in name else ""
            cpu = f"{each['cpu_ms']:.1f} ms" if "while" not in name else ""
            rows.append([name, f"{each['median_ms']:.1f} ms", f"{each['p95_ms']:.1f} ms (p95)", cpu, goal])
    return table(["", "median", "", "processor time", "goal: below"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000, help="in all")
    parser.add_argument("--running", type=int, default=1_000)
    parser.add_argument("--points", type=int, default=1_000, help="of each running job")
    parser.add_argument("--series", type=int, default=1_000_000, help="points of the long one")
    parser.add_argument("--times", type=int, default=30, help="requests of each kind")
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20, help="of reports")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.jobs, arguments.running, arguments.series = 1_000, 100, 100_000
        arguments.times, arguments.restarts, arguments.seconds = 10, 2, 5
    with tempfile.TemporaryDirectory(prefix="headway-fleet-") as name:
        home = Path(name)
        store = Folders.from_env({"HEADWAY_HOME": name}).store
        store.mkdir(parents=True, mode=0o700)
        began = time.perf_counter()
        writing = multiprocessing.get_context("spawn").Process(
            target=fill, args=(str(store), arguments.jobs, arguments.running, arguments.points, arguments.series)
        )
        writing.start()
        writing.join()
        if writing.exitcode:
            return 1
        filled = time.perf_counter() - began
        size = sum(path.stat().st_size for path in store.glob("*")) / 1e6
        print(
            f"{arguments.jobs:,} jobs, {arguments.running:,} of them running with {arguments.points:,} points of 3 metrics, "
            f"one more with {arguments.series:,}; {size:,.0f} MB on disk, written in {filled:.0f} s\n",
            flush=True,
        )
        figures = measure(home, arguments)
    print(show(figures))
    print(
        f"\nreports a second meanwhile: {figures['reports a second meanwhile']:,.0f}; every running job had reported after "
        f"{figures['all running jobs had reported after_s']:.0f} s"
    )
    keep("fleet", {**figures, "disk_mb": size}, vars(arguments))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
