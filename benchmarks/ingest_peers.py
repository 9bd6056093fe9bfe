"""The peers of ``ingest.py``: MLflow's tracking server on SQLite, and trackio's server, with ten points of three metrics.

Each is started as its own documentation says, with its own defaults. MLflow takes them by ``log-batch`` (four worker processes,
no check of who asks); trackio by ``bulk_log``, as its own client sends them, with its write token (SQLite with
``synchronous=NORMAL``: an answer does not mean that they are on disk).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from turns import QUIET, versions

POINTS = 10
_START_SECONDS = 120.0
_TRACKIO = "import trackio; trackio.show(open_browser=False, block_thread=True, host='127.0.0.1', server_port={port})"


class Sender(Protocol):
    """Makes the requests of one run."""

    def next_request(self) -> bytes:
        """The bytes of the next report."""

    def acknowledged(self, head: bytes, body: bytes) -> bool:
        """Whether an answer says that a report was taken in."""


@dataclass
class Target:
    """A server under load."""

    name: str
    port: int
    senders: list[Any]
    pid: int
    """The leader of its own session: its processes are those of the session."""


def post(port: int, path: str, headers: Mapping[str, str], body: Any) -> bytes:
    """The bytes of a JSON request, keep-alive."""
    content = json.dumps(body, separators=(",", ":")).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class MlflowRun:
    """``POST /api/2.0/mlflow/runs/log-batch``: 30 values."""

    def __init__(self, port: int, run: str) -> None:
        self._port, self._run, self._step = port, run, 0

    def next_request(self) -> bytes:
        now, first = int(time.time() * 1000), self._step
        self._step += POINTS
        metrics = [
            {"key": key, "value": value, "timestamp": now, "step": step}
            for step in range(first, self._step)
            for key, value in (("loss", 0.2391), ("grad_norm", 1.5), ("learning_rate", 1.1e-5))
        ]
        return post(self._port, "/api/2.0/mlflow/runs/log-batch", {}, {"run_id": self._run, "metrics": metrics})

    def acknowledged(self, head: bytes, body: bytes) -> bool:
        return head.startswith(b"HTTP/1.1 200") and body == b"{}"


class TrackioRun:
    """``POST /api/bulk_log``: ten entries."""

    def __init__(self, port: int, run: str, token: str) -> None:
        self._port, self._run, self._step = port, run, 0
        self._headers = {"X-Trackio-Write-Token": token}

    def next_request(self) -> bytes:
        first = self._step
        self._step += POINTS
        values = {"loss": 0.2391, "grad_norm": 1.5, "learning_rate": 1.1e-5}
        logs = [
            {"project": "bench", "run": self._run, "run_id": self._run, "metrics": values, "step": step, "config": None}
            for step in range(first, self._step)
        ]
        return post(self._port, "/api/bulk_log", self._headers, {"logs": logs, "hf_token": None})

    def acknowledged(self, head: bytes, body: bytes) -> bool:
        return head.startswith(b"HTTP/1.1 200") and b'"error"' not in body


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def process(command: list[str], folder: Path, env: Mapping[str, str]) -> Generator[subprocess.Popen[bytes], None, None]:
    """A server process and its children, in a session of their own that ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "output.txt").open("wb") as output:
        started = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **QUIET, **env},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield started
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(started.pid, number)
                started.wait(15)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def wait_for(url: str, started: subprocess.Popen[bytes], folder: Path) -> None:
    """Waits until a URL is answered."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError as error:
            if time.monotonic() > deadline or started.poll() is not None:
                said = (folder / "output.txt").read_text(errors="replace")[-2000:]
                raise SystemExit(f"no answer from {url} ({error}): {said}") from error
            time.sleep(0.1)


@contextmanager
def mlflow_server(folder: Path, runs: int) -> Generator[Target, None, None]:
    port = free_port()
    command = [str(Path(sys.executable).parent / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    with process(command, folder, {}) as started:
        base = f"http://127.0.0.1:{port}"
        wait_for(f"{base}/health", started, folder)
        senders = []
        for _ in range(runs):
            body = json.dumps({"experiment_id": "0", "start_time": int(time.time() * 1000)}).encode()
            request = urllib.request.Request(
                f"{base}/api/2.0/mlflow/runs/create", data=body, headers={"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                senders.append(MlflowRun(port, json.load(answer)["run"]["info"]["run_id"]))
        yield Target("MLflow log-batch", port, senders, started.pid)


@contextmanager
def trackio_server(folder: Path, runs: int) -> Generator[Target, None, None]:
    port, token = free_port(), "a-token-for-this-measurement"
    env = {"TRACKIO_DIR": str(folder / "data"), "TRACKIO_WRITE_TOKEN": token}
    with process([sys.executable, "-c", _TRACKIO.format(port=port)], folder, env) as started:
        wait_for(f"http://127.0.0.1:{port}/version", started, folder)
        yield Target("trackio bulk_log", port, [TrackioRun(port, f"run-{n}", token) for n in range(runs)], started.pid)


def installed() -> dict[str, Any]:
    """How to start each peer that is installed."""
    makes = {"mlflow": mlflow_server, "trackio": trackio_server}
    return {name: makes[name] for name in versions(*makes)}


def cpu_seconds(session: int) -> float:
    """Processor time that the processes of a session have used so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
