"""Servers as processes and in this one, training scripts as processes, and programs that are no servers of ours."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.reporter.discovery import ServerRecord, find_server
from headway.reporter.folders import Folders
from headway.testing.sockets import Listener
from headway.testing.waiting import wait_until


class Stranger(Listener):
    """A program that took a port over, and answers whatever it is asked with 200 and ``answer``. Keeps every byte it gets."""

    def __init__(self, port: int = 0, answer: bytes = b"{}") -> None:
        self._answer = answer
        self._heard: list[bytes] = []
        super().__init__(self._respond, port)

    @property
    def heard(self) -> bytes:
        """All that it got, on all connections."""
        return b"".join(self._heard)

    @property
    def requests(self) -> int:
        """How many requests it got."""
        return self.heard.count(b" HTTP/1.1\r\n")

    def _respond(self, connection: socket.socket) -> None:
        try:
            while received := connection.recv(65536):
                self._heard.append(received)
                if b"\r\n\r\n" in received:
                    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(self._answer)}\r\n\r\n"
                    connection.sendall(head.encode() + self._answer)
        except OSError:
            return


class Home:
    """One HEADWAY_HOME with a server process and training scripts in it. Ends what it started."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folders = Folders.from_env({"HEADWAY_HOME": str(path)})
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("KUBEFLOW_", "SLURM_"))},
            "HEADWAY_HOME": str(path),
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        self._processes: list[subprocess.Popen[str]] = []

    def server(self, port: int = 0) -> tuple[subprocess.Popen[str], ServerRecord]:
        """A server process of this home, once it answers."""
        process = self._start([sys.executable, "-m", "headway.app", "--port", str(port)])
        record = wait_until(lambda: process.poll() is not None or find_server(self.folders.server_record))
        assert process.poll() is None, "the server ended at once"
        return process, record

    def script(self, code: str, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        """A training script."""
        return self._start([sys.executable, "-c", textwrap.dedent(code), *arguments], **environ)

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()

    def _start(self, command: list[str], **environ: str) -> subprocess.Popen[str]:
        log = self.path / "output.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                env={**self.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                text=True,
            )
        self._processes.append(process)
        return process


@pytest.fixture
def until() -> Callable[..., Any]:
    """Waits for what a condition gives to be true, and returns it."""
    return wait_until


@pytest.fixture
def make_home(tmp_path: Path) -> Iterator[Callable[[str], Home]]:
    """Makes homes."""
    homes: list[Home] = []

    def make(name: str = "home") -> Home:
        homes.append(Home(tmp_path / name))
        return homes[-1]

    yield make
    for home in homes:
        home.close()


@pytest.fixture
def make_stranger() -> Iterator[Callable[..., Stranger]]:
    """Starts programs that are no servers of ours."""
    started: list[Stranger] = []

    def make(port: int = 0, answer: bytes = b"{}") -> Stranger:
        started.append(Stranger(port, answer))
        return started[-1]

    yield make
    for each in started:
        each.close()
