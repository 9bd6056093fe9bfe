"""How many reports a second one server takes in, and how long each waits: real HTTP, real tokens, real commits.

A server process (SQLite, ``synchronous=FULL``: an answer means that the report is on disk), and a load generator in a process of
its own on the same machine: keep-alive connections that each send the next report when the last is answered. A report holds 10
points of 3 metrics, about 1.4 kB, and every job sends with a token of its own.

For comparison: how often this machine's disk commits one report at a time, with no HTTP at all.

    python benchmarks/ingest.py [--seconds 10] [--connections 16 64 256] [--jobs 400] [--store memory]
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
from pathlib import Path
from typing import Any

import httpx2
import uvloop

from headway.protocol.limits import STATUS_PATH
from headway.reporter.discovery import ServerRecord, find_server
from headway.reporter.folders import Folders

POINTS = 10
WARM_SECONDS = 2.0


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


class Connection(asyncio.Protocol):
    """One keep-alive connection, never idle."""

    def __init__(self, jobs: list[Job], times: list[tuple[float, float]], failures: list[bytes]) -> None:
        self._jobs, self._times, self._failures = jobs, times, failures
        self._turn = 0
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        job = self._jobs[self._turn % len(self._jobs)]
        self._turn += 1
        self._sent = time.perf_counter()
        self._transport.write(job.next_request())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        now = time.perf_counter()
        self._times.append((now, now - self._sent))
        if not head.startswith(b"HTTP/1.1 200") or b'"ack":' not in rest:
            self._failures.append(head[:40] + rest[:200])
        self._buffer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self._failures.append(f"connection lost: {error}".encode())


def generate(port: int, tokens: list[tuple[str, str]], connections: int, seconds: float, pipe: Any) -> None:
    """The load generator's process: sends its figures through the pipe."""

    async def run() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        times: list[tuple[float, float]] = []
        failures: list[bytes] = []
        jobs = [Job(*each) for each in tokens]
        transports = []
        for index in range(connections):
            mine = jobs[index::connections]
            transport, _ = await loop.create_connection(
                lambda mine=mine: Connection(mine, times, failures), "127.0.0.1", port
            )
            transports.append(transport)
        began = time.perf_counter() + WARM_SECONDS
        await asyncio.sleep(WARM_SECONDS)
        pipe.send("warm")
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
            "client_cpu": time.process_time(),
        }

    pipe.send(uvloop.run(run()))


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def register(record: ServerRecord, count: int) -> list[tuple[str, str]]:
    """Registers jobs; answers their names and tokens."""
    tokens = []
    with httpx2.Client(base_url=record.url, headers={"authorization": f"Bearer {record.token}"}, timeout=30) as client:
        for number in range(count):
            body = {"runner": f"runner-{number}", "attempt": "attempt-1"}
            answer = client.put(f"/api/v1/jobs/bench/job-{number}", json=body).raise_for_status()
            tokens.append((f"job-{number}", answer.json()["token"]))
    return tokens


def measure(connections: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Starts a server, sends reports to it, and ends it."""
    with tempfile.TemporaryDirectory(prefix="headway-ingest-", dir=arguments.folder) as home:
        env = {**os.environ, "HEADWAY_HOME": home}
        profile = ["-m", "cProfile", "-o", arguments.profile] if arguments.profile else []
        command = [sys.executable, *profile, "-m", "headway.app", "--port", "0", "--store", arguments.store]
        process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
        try:
            path = Folders.from_env(env).server_record
            deadline = time.monotonic() + 30
            while (record := find_server(path)) is None:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise SystemExit("the server did not come up")
                time.sleep(0.05)
            tokens = register(record, arguments.jobs)
            port = int(record.url.rpartition(":")[2])
            ours, theirs = multiprocessing.Pipe()
            load = multiprocessing.get_context("spawn").Process(
                target=generate, args=(port, tokens, connections, arguments.seconds, theirs)
            )
            load.start()
            ours.recv()
            before = cpu_seconds(process.pid)
            figures: dict[str, Any] = ours.recv()
            figures["server_cpu"] = (cpu_seconds(process.pid) - before) / figures["count"] * 1e6
            load.join()
            return figures
        finally:
            process.terminate()
            process.wait(20)


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


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--store", choices=("sqlite", "memory"), default="sqlite")
    parser.add_argument("--folder", help="where the database lies: its disk is what is measured")
    parser.add_argument("--profile", metavar="FILE", help="run the server under cProfile")
    arguments = parser.parse_args()
    print(
        f"{arguments.jobs} jobs, {POINTS} points x 3 metrics a report, {os.cpu_count()} processors, store {arguments.store}\n"
    )
    print("| | reports/s | p50 ms | p99 ms | max ms | server CPU us/report |")
    print("|---|---|---|---|---|---|")
    for connections in arguments.connections:
        found = measure(connections, arguments)
        times = " | ".join(f"{found[name]:.1f}" for name in ("p50", "p99", "max", "server_cpu"))
        figures = f"{found['rate']:,.0f} | {times}"
        print(f"| {connections} connections | {figures} |", flush=True)
        if found["failures"]:
            print(f"\n{len(found['failures'])} answers were no acknowledgement, such as {found['failures'][0]!r}\n")
    print(f"| one commit a report, no HTTP | {commits_alone(arguments.folder):,.0f} | | | | |")


if __name__ == "__main__":
    main()
