"""Real trainings under ``headway run``, against one real server for all tests of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.history import Series
from headway.protocol.job import Job
from headway.reporter.start import current_run
from headway.testing.live import LiveServer, live_server
from headway.testing.servers import ScriptedServer

SCRIPTS = Path(__file__).with_name("scripts")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server for all trainings."""
    with live_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="session")
def client(server: LiveServer) -> Iterator[Client]:
    """A client of that server."""
    with Client(server.url, server.token) as connected:
        yield connected


@dataclass(frozen=True)
class Done:
    """A training that has ended, and what Headway and the framework say of it."""

    code: int
    output: str
    name: str
    client: Client
    folder: Path

    @property
    def job(self) -> Job:
        return self.client.job(self.name)

    @property
    def truths(self) -> list[dict[str, Any]]:
        """What the framework says, by attempt; numbers of steps are integers again."""
        return [_truth(path) for path in sorted(self.folder.glob("truth-*.json"))]

    def series(self, metric: str, ordinal: int) -> Series | None:
        """The history of a metric in one attempt, point by point."""
        (attempt,) = [each for each in self.client.attempts(self.name).attempts if each.ordinal == ordinal]
        found = self.client.series(self.name, metric, attempt=attempt.id, points=10_000)
        return found[0] if found else None


def _truth(path: Path) -> dict[str, Any]:
    def by_step(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
        return {int(key) if key.isdecimal() else key: value for key, value in pairs}

    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=by_step)


Train = Callable[..., Done]


@pytest.fixture(scope="session")
def train(server: LiveServer, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Train:
    """``train("torch_loop.py", "--until", "20", name="torch", folder=…)``: runs a script of this folder to its end."""
    home = tmp_path_factory.mktemp("home")

    def run(
        script: str,
        *arguments: str,
        name: str,
        folder: Path,
        launch: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
        timeout: float = 100.0,
        **environ: str,
    ) -> Done:
        keep = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWAY_", "SLURM_"))}
        ours = {
            "HEADWAY_HOME": str(home),
            "HEADWAY_URL": server.url,
            "HEADWAY_TOKEN": server.token,
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, *launch, str(SCRIPTS / script), "--folder", str(folder), *arguments]
        done = subprocess.run(
            [sys.executable, "-m", "headway.cli.main", "run", "--name", name, *options, "--", *command],
            env={**keep, **ours, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout, name, client, folder)

    return run


class Heard:
    """What a run of the test's own process said."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server

    def finish(self) -> None:
        """Ends the run of this process, if there is one."""
        if (run := current_run()) is not None:
            run.finish()

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Headway's part of all reports."""
        return [body["headway"] for body in self.server.taken()]

    @property
    def progress(self) -> dict[str, Any]:
        """How far it was at the end."""
        return self.reports[-1]["progress"]

    @property
    def info(self) -> dict[str, Any]:
        """How it was described last."""
        return [report["job"] for report in self.reports if report.get("job")][-1]

    def values(self, metric: str) -> dict[int, Any]:
        """Step to value, or its cell of several, of all points that have the metric."""
        return {step: cells[metric] for step, _, cells in self.server.points() if metric in cells}

    def count(self, metric: str) -> int:
        """How many values a metric had in all."""
        cells = self.values(metric).values()
        return sum(cell[1] if isinstance(cell, list) else 1 for cell in cells)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """Whatever begins a run in this process reports here."""
    with ScriptedServer(interval=0.1) as scripted:
        for name, value in {"HEADWAY_URL": scripted.url, "HEADWAY_TOKEN": "t", "HEADWAY_JOB": "local/job"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("HEADWAY_TRAINING_PID", raising=False)
        hearing = Heard(scripted)
        yield hearing
        hearing.finish()
