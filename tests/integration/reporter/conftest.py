"""Training scripts as processes of their own, with a scripted server on loopback beside them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.testing import waiting
from headway.testing.servers import ScriptedServer


@dataclass
class Finished:
    """How a script ended."""

    code: int
    out: str
    err: str
    seconds: float


class Script:
    """A Python script under test."""

    def __init__(self, path: Path, environ: dict[str, str]) -> None:
        self.path = path
        self.environ = environ
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, code: str, **environ: str) -> subprocess.Popen[str]:
        text = textwrap.dedent(code)
        if not self.path.exists() or self.path.read_text() != text:  # others may just be reading it
            self.path.write_text(text)
        process = subprocess.Popen(
            [sys.executable, str(self.path)],
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def run(self, code: str, *, timeout: float = 60.0, **environ: str) -> Finished:
        began = time.monotonic()
        process = self.start(code, **environ)
        out, err = process.communicate(timeout=timeout)
        return Finished(process.returncode, out, err, time.monotonic() - began)

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture
def spool(headway_home: Path) -> Path:
    return headway_home / "state" / "spool"


@pytest.fixture
def script(tmp_path: Path, server: ScriptedServer) -> Iterator[Script]:
    """A script whose reports go to ``server`` as job ``local/job``."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("KUBEFLOW_")},
        "HEADWAY_URL": server.url,
        "HEADWAY_TOKEN": "secret",
        "HEADWAY_JOB": "local/job",
        "OMP_NUM_THREADS": "1",
    }
    made = Script(tmp_path / "train.py", environ)
    yield made
    made.close()


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Polls until a condition holds; fails the test when it never does."""
    return waiting.wait_until
