"""Runners as processes of their own, against a real server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.client.local_server import stop_server
from headway.protocol.job import Job
from headway.reporter.folders import Folders
from headway.testing.live import LiveServer, live_server
from headway.testing.waiting import wait_until

START = Path(__file__).with_name("start_run.py")

REPORT = """
import json, os, sys, time, urllib.request

def report(step, total, loss=0.5):
    status = {"lastUpdatedTime": "2026-01-01T00:00:00Z", "progressPercentage": int(100 * step / total), "metrics": [
        {"name": "current_step", "value": str(step)}, {"name": "total_steps", "value": str(total)},
        {"name": "loss", "value": str(loss)}]}
    token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
    request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps({"trainerStatus": status}).encode(),
        {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)
"""
"""A stock client in a few lines: what a script posts that has never heard of Headway."""


class Launcher:
    """Starts runners, and ends those that a test leaves behind."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self._started: list[subprocess.Popen[str]] = []

    def start(
        self, command: list[str], *, environ: dict[str, str] | None = None, **request: Any
    ) -> subprocess.Popen[str]:
        """A runner in the background; its output comes through pipes unless the test asks for something else."""
        streams = {name: request.pop(name) for name in ("stdin", "stdout", "stderr") if name in request}
        process = subprocess.Popen(
            self.itself(command, **request),
            env={**self.environ, **(environ or {})},
            text=True,
            errors="surrogateescape",
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
        )
        self._started.append(process)
        return process

    def itself(self, command: list[str], **request: Any) -> list[str]:
        """The command that runs a runner."""
        return [sys.executable, str(START), json.dumps({"command": command, **request})]

    def run(self, command: list[str], *, timeout: float = 60, **request: Any) -> subprocess.CompletedProcess[str]:
        """A runner to its end."""
        process = self.start(command, **request)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def python(self, code: str, *arguments: str) -> list[str]:
        """A command that runs ``code``."""
        return [sys.executable, "-c", code, *arguments]

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()


@pytest.fixture
def environ(headway_home: Path) -> dict[str, str]:
    """The environment of a user who has set nothing but where Headway keeps its files."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    return {**keep, "HEADWAY_HOME": str(headway_home), "HEADWAY_SERVER_PORT": "0", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A server that the environment names."""
    with live_server(tmp_path / "server") as running:
        yield running


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    """A client of that server."""
    with Client(server.url, server.token) as connected:
        yield connected


@pytest.fixture
def launcher(environ: dict[str, str], server: LiveServer) -> Iterator[Launcher]:
    """Starts runners that talk to that server."""
    started = Launcher({**environ, "HEADWAY_URL": server.url, "HEADWAY_TOKEN": server.token})
    yield started
    started.close()


@pytest.fixture
def folders(headway_home: Path) -> Folders:
    """Where this test's Headway keeps its files."""
    return Folders.from_env({"HEADWAY_HOME": str(headway_home)})


@pytest.fixture
def alone(environ: dict[str, str], folders: Folders) -> Iterator[Launcher]:
    """Starts runners whom nobody told of a server; one that they start is ended with the test."""
    started = Launcher(environ)
    yield started
    started.close()
    stop_server(folders)


@pytest.fixture
def until() -> Callable[..., Any]:
    """Waits for what a condition gives to be true, and returns it."""
    return wait_until


@pytest.fixture
def report() -> str:
    """Code that defines ``report(step, total, loss)``, which posts as a stock client does."""
    return REPORT


@pytest.fixture
def job_of(client: Client) -> Callable[[str], Job]:
    """Reads a job of the server that the environment names."""
    return client.job
