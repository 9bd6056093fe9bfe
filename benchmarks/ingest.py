"""How many reports a second one server takes in, and how long each waits: real HTTP, real tokens, real commits.

A server process (SQLite, ``synchronous=FULL``: an answer means that the report is folded, judged and on disk), and a load
generator in a process of its own on the same machine: keep-alive connections that each send the next report when the last is
answered. A report holds 10 points of 3 metrics, about 1.3 kB, and every job sends with a token of its own. With as many jobs as
connections each job has one of its own, as runs have; with more, a connection sends for several in turn.

Beside it, in the same rounds, MLflow's and trackio's servers take the same points (``ingest_peers.py``), where they are
installed; the least that a server could do with the same requests (``ingest_bare.py``); and how often this machine's disk
commits one report at a time, with no HTTP at all. On a machine that others use too, only the ratios mean anything: each row says
how much of the machine's processors others used meanwhile, and what the server's event loop used of its own, for all else in
Headway stands back for it.

    python benchmarks/ingest.py [--seconds 5] [--rounds 3] [--connections 16 64 256] [--jobs 64 400] [--no-peers] [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
import uvloop
from ingest_peers import POINTS, Sender, Target, cpu_seconds, free_port, installed, process, wait_for
from turns import keep, table

from headway.protocol.limits import STATUS_PATH
from headway.reporter.discovery import ServerRecord, find_server
from headway.reporter.folders import Folders

WARM_SECONDS = 2.0
FIGURES = ("rate", "p50", "p99", "max", "server_cpu", "loop_cpu", "others")


class Job:
    """One job: makes its next request."""

    def __init__(self, name: str, token: str) -> None:
        path = STATUS_PATH.format(namespace="bench", name=name)
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: ".encode()
        )
        self._name = name
        self._seq = 0
        self._template = self._make()

    def _make(self) -> bytes:
        """The body, with a ``%d`` for all that changes: sequence number, step, and the step of each point."""
        values = {"loss": [0.2391, 9, 0.0031], "grad_norm": [1.5, 9, 0.02], "learning_rate": 1.1e-5}
        metrics = [{"name": "loss", "value": "0.2347"}, {"name": "current_step", "value": "450"}]
        body = {
            "trainerStatus": {"progressPercentage": 4, "metrics": metrics, "lastUpdatedTime": "2026-11-30T08:00:00Z"},
            "headway": {
                "version": 1,
                "run": f"run-{self._name}",
                "attempt": "attempt-1",
                "seq": "%d",
                "rank": 0,
                "worldSize": 8,
                "sentAfter": 820.4,
                "progress": {
                    "step": "%d",
                    "totalSteps": 10**9,
                    "unit": "optimizer_step",
                    "phase": "train",
                    "stepSeconds": 0.1,
                },
                "points": [["%d", 812.4 + index, values] for index in range(POINTS)],
            },
        }
        return json.dumps(body, separators=(",", ":")).replace('"%d"', "%d").encode()

    def next_request(self) -> bytes:
        """The bytes of the job's next report."""
        self._seq += 1
        step = self._seq * POINTS
        body = self._template % (self._seq, step, *range(step - POINTS + 1, step + 1))
        return b"%b%d\r\n\r\n%b" % (self._head, len(body), body)

    def acknowledged(self, head: bytes, body: bytes) -> bool:
        """Whether an answer says that the report is kept."""
        return head.startswith(b"HTTP/1.1 200") and b'"ack":' in body


class Connection(asyncio.Protocol):
    """One keep-alive connection, never idle."""

    def __init__(self, jobs: list[Sender], times: list[tuple[float, float]], failures: list[bytes]) -> None:
        self._jobs, self._times, self._failures = jobs, times, failures
        self._turn = 0
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._job = self._jobs[self._turn % len(self._jobs)]
        self._turn += 1
        request = self._job.next_request()
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        now = time.perf_counter()
        self._times.append((now, now - self._sent))
        if not self._job.acknowledged(head, rest):
            self._failures.append(head[:40] + rest[:200])
        self._buffer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self._failures.append(f"connection lost: {error}".encode())


def generate(port: int, senders: list[Sender], connections: int, seconds: float, pipe: Any) -> None:
    """The load generator's process: sends its figures through the pipe, and the senders as they are then."""

    async def run() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        times: list[tuple[float, float]] = []
        failures: list[bytes] = []
        transports = []
        for index in range(min(connections, len(senders))):
            mine = senders[index::connections]
            transport, _ = await loop.create_connection(
                lambda mine=mine: Connection(mine, times, failures), "127.0.0.1", port
            )
            transports.append(transport)
        await asyncio.sleep(WARM_SECONDS)
        pipe.send("warm")
        began, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        ended = time.perf_counter()
        found = sorted(took for at, took in times if began <= at <= ended)
        lost = list(failures)
        for transport in transports:
            transport.abort()
        return {
            "rate": len(found) / (ended - began),
            "p50": found[len(found) // 2] * 1e3,
            "p99": found[int(len(found) * 0.99)] * 1e3,
            "max": found[-1] * 1e3,
            "count": len(found),
            "failures": lost,
            "client_cpu": time.process_time() - used,
        }

    pipe.send((uvloop.run(run()), senders))


def register(record: ServerRecord, group: str, count: int) -> list[tuple[str, str]]:
    """Registers jobs; answers their names and tokens."""
    tokens = []
    with httpx2.Client(base_url=record.url, headers={"authorization": f"Bearer {record.token}"}, timeout=30) as client:
        for number in range(count):
            # Another attempt than the reports': one that a runner watches would be Lost without its signs of life.
            body = {"runner": f"runner-{number}", "attempt": "attempt-0"}
            answer = client.put(f"/api/v1/jobs/bench/{group}-{number}", json=body).raise_for_status()
            tokens.append((f"{group}-{number}", answer.json()["token"]))
    return tokens


@contextmanager
def headway_server(folder: Path, arguments: argparse.Namespace) -> Generator[list[Target], None, None]:
    """Headway's server, once for each number of jobs that report to it."""
    profile = ["-m", "cProfile", "-o", arguments.profile] if arguments.profile else []
    script = str(Path(__file__).parent / "ingest_server.py")
    command = [sys.executable, *profile, script, "--port", "0", "--store", arguments.store]
    env = {"HEADWAY_HOME": str(folder)}
    with process(command, folder, env) as started:
        record = find(env, started)
        port = int(record.url.rpartition(":")[2])
        yield [
            Target(
                f"Headway, {count} jobs",
                port,
                [Job(*each) for each in register(record, f"one-of-{count}", count)],
                started.pid,
            )
            for count in arguments.jobs
        ]


@contextmanager
def bare_server(folder: Path, arguments: argparse.Namespace) -> Generator[Target, None, None]:
    """The least that a server could do (``ingest_bare.py``), under Headway's own requests."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).parent / "ingest_bare.py"), str(port), str(folder / "bare.db")]
    with process(command, folder, {}) as started:
        wait_for(f"http://127.0.0.1:{port}/", started, folder)
        yield Target(
            "bare ASGI and group commit", port, [Job(f"job-{n}", "-") for n in range(max(arguments.jobs))], started.pid
        )


def find(env: dict[str, str], started: subprocess.Popen[bytes]) -> ServerRecord:
    """The server's address, once it has one."""
    deadline = time.monotonic() + 30
    while (record := find_server(Folders.from_env(env).server_record)) is None:
        if time.monotonic() > deadline or started.poll() is not None:
            raise SystemExit("the server did not come up")
        time.sleep(0.05)
    return record


def measure(target: Target, connections: int, seconds: float) -> dict[str, Any]:
    """Sends reports to a server for so many seconds."""
    ours, theirs = multiprocessing.Pipe()
    load = multiprocessing.get_context("spawn").Process(
        target=generate, args=(target.port, target.senders, connections, seconds, theirs)
    )
    load.start()
    ours.recv()
    before, loop, busy, began = cpu_seconds(target.pid), loop_seconds(target.pid), busy_seconds(), time.perf_counter()
    figures: dict[str, Any]
    figures, target.senders = ours.recv()
    took, server = time.perf_counter() - began, cpu_seconds(target.pid) - before
    figures["server_cpu"] = server / figures["count"] * 1e6
    figures["loop_cpu"] = (loop_seconds(target.pid) - loop) / figures["count"] * 1e6
    figures["others"] = max(0.0, busy_seconds() - busy - server - figures["client_cpu"]) / took
    load.join()
    return figures


def loop_seconds(pid: int) -> float:
    """Processor time of a process's first thread: of Headway's server, its event loop."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def busy_seconds() -> float:
    """Processor time of everything on this machine, waiting for disks left out."""
    user, nice, system, _, _, irq, softirq, steal, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def commits_alone(folder: str | None, seconds: float = 3.0) -> float:
    """Reports a second that SQLite makes durable one at a time, with nothing else to do."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        connection = sqlite3.connect(f"{home}/alone.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE report (id INTEGER PRIMARY KEY, body BLOB)")
        body, count, began = b"x" * 700, 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            connection.execute("INSERT INTO report (body) VALUES (?)", (body,))
            count += 1
        connection.close()
        return count / seconds


def rounds_of(arguments: argparse.Namespace) -> tuple[dict[str, list[dict[str, Any]]], list[float]]:
    """The figures of every round by row, and the disk's own commits a second in each."""
    found: dict[str, list[dict[str, Any]]] = {}
    commits = []
    with tempfile.TemporaryDirectory(prefix="headway-ingest-", dir=arguments.folder) as name, ExitStack() as stack:
        folder = Path(name)
        turns = [
            (f"{headway.name}, {connections} connections", headway, connections)
            for headway in stack.enter_context(headway_server(folder / "headway", arguments))
            for connections in arguments.connections
            if connections <= len(headway.senders)
        ]
        bare = stack.enter_context(bare_server(folder / "bare", arguments))
        turns.append((f"{bare.name}, {arguments.peer_connections} connections", bare, arguments.peer_connections))
        for peer, make in ({} if arguments.no_peers else installed()).items():
            target = stack.enter_context(make(folder / peer, arguments.peer_connections))
            turns.append(
                (f"{target.name}, {arguments.peer_connections} connections", target, arguments.peer_connections)
            )
        for _ in range(arguments.rounds):
            for row, target, connections in turns:
                found.setdefault(row, []).append(measure(target, connections, arguments.seconds))
            commits.append(commits_alone(arguments.folder))
    return found, commits


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--peer-connections", type=int, default=64)
    parser.add_argument("--no-peers", action="store_true", help="leave out MLflow and trackio")
    parser.add_argument("--jobs", type=int, nargs="+", default=[64, 400])
    parser.add_argument("--store", choices=("sqlite", "memory"), default="sqlite")
    parser.add_argument("--folder", help="where the databases lie: its disk is what is measured")
    parser.add_argument("--profile", metavar="FILE", help="run the server under cProfile")
    parser.add_argument("--quick", action="store_true", help="one round of 3 s, 64 connections")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds, arguments.connections = 1, 3.0, [64]
    found, commits = rounds_of(arguments)
    summary: dict[str, dict[str, Any]] = {}
    for row, rounds in found.items():
        summary[row] = {figure: median(each[figure] for each in rounds) for figure in FIGURES}
        summary[row]["rates"] = [each["rate"] for each in rounds]
        summary[row]["failures"] = sum(len(each["failures"]) for each in rounds)
        for each in rounds:
            if each["failures"]:
                print(
                    f"{row}: {len(each['failures'])} not acknowledged, such as {each['failures'][0]!r}", file=sys.stderr
                )
    print(f"{POINTS} points x 3 metrics a report; median of {arguments.rounds} rounds of {arguments.seconds:g} s\n")
    rows = [
        [
            row,
            f"{each['rate']:,.0f}",
            *(f"{each[name]:,.1f}" for name in ("p50", "p99", "max")),
            f"{each['server_cpu']:,.0f}",
            f"{each['loop_cpu']:,.0f}" if row.startswith("Headway") else "",
            f"{each['others']:.2f}",
        ]
        for row, each in summary.items()
    ]
    rows.append(["one commit a report, no HTTP", f"{median(commits):,.0f}", *[""] * 6])
    heads = ["", "reports/s", "p50 ms", "p99 ms", "max ms", "server CPU us/report", "its event loop", "others, CPUs"]
    print(table(heads, rows))
    mine = f"Headway, {arguments.jobs[0]} jobs, {arguments.peer_connections} connections"
    for row, rounds in found.items():
        if mine in found and not row.startswith("Headway"):
            pairs = zip(found[mine], rounds, strict=True)
            ratio = median(ours["rate"] / theirs["rate"] for ours, theirs in pairs)
            summary[row]["headway_over_it"] = ratio
            print(f"\n{mine}, over {row}: {ratio:.2f} x")
    settings = {name: value for name, value in vars(arguments).items() if name not in ("profile", "folder")}
    keep(
        "ingest",
        {**summary, "commits_alone": commits},
        settings,
        ("mlflow", "trackio", "uvicorn", "litestar", "uvloop"),
    )


if __name__ == "__main__":
    main()
