"""A home of its own with a real server, used through the ``headway`` command alone, as a person would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from headway import Client
from headway.cli.documents import job_document
from headway.errors import NotFoundError, UnavailableError
from headway.reporter.folders import Folders


class Commands:
    """The ``headway`` command in a home of its own. Ends what it started."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HEADWAY_", "KUBEFLOW_"))},
            "HEADWAY_HOME": str(home),
            "OMP_NUM_THREADS": "1",
        }
        self._started: list[subprocess.Popen[str]] = []
        self._outputs: dict[int, TextIO] = {}

    def __call__(self, *arguments: str, timeout: float = 60, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headway.cli.main", *arguments],
            env={**self.environ, **environ},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        output = tempfile.TemporaryFile("w+", dir=self.home, encoding="utf-8")  # noqa: SIM115 - a pipe would fill up
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.cli.main", *arguments],
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._outputs[process.pid] = output
        self._started.append(process)
        return process

    def said(self, process: subprocess.Popen[str]) -> str:
        """What a started command has printed so far."""
        output = self._outputs[process.pid]
        output.seek(0)
        return output.read()

    def job(self, name: str) -> dict[str, Any]:
        result = self("show", name, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not strict JSON"))

    def look(self, name: str) -> dict[str, Any] | None:
        """The job's document, None where there is none yet. For looking often: no command is started for it."""
        environ = {"HEADWAY_HOME": str(self.home)}
        try:
            with Client(folders=Folders.from_env(environ), environ=environ) as client:
                return job_document(client.job(name), ())
        except (NotFoundError, UnavailableError):
            return None

    def until(self, name: str, there: Callable[[dict[str, Any]], bool], *, timeout: float = 60) -> dict[str, Any]:
        """The job's document once ``there`` is true of it."""
        end = time.monotonic() + timeout
        document: dict[str, Any] | None = None
        while time.monotonic() < end:
            document = self.look(name)
            if document is not None and there(document):
                return document
            time.sleep(0.1)
        raise AssertionError(f"not within {timeout} s; the last document: {json.dumps(document)[:2000]}")

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for output in self._outputs.values():
            output.close()
        self("server", "stop")


@pytest.fixture(scope="module")
def headway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    commands = Commands(tmp_path_factory.mktemp("home"))
    yield commands
    commands.close()
