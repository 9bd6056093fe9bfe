"""What the how-to guides tell people to type, typed: every block of code in them runs against a real server."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway import Client
from headway.protocol.job import JobKey, State
from headway.protocol.report import EndingKind
from headway.testing.live import live_server
from headway.testing.reports import SyntheticRun
from headway.testing.waiting import wait_until

HOWTO = Path(__file__).parents[3] / "docs" / "howto"


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code of a page, in their order."""
    text = (HOWTO / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Shell:
    """Types commands into a terminal in a folder of its own."""

    def __init__(self, headway: Any, folder: Path) -> None:
        self._headway, self._folder = headway, folder
        self._started: list[subprocess.Popen[str]] = []

    def start(self, line: str) -> subprocess.Popen[str]:
        python = [sys.executable]
        swaps = {"headway": [*python, "-m", "headway.cli.main"], "python": python}
        words = [part for word in shlex.split(line) for part in swaps.get(word, [word])]
        process = subprocess.Popen(
            words,
            cwd=self._folder,
            env=self._headway.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._started.append(process)
        return process

    def type(self, line: str) -> str:
        process = self.start(line)
        out, _ = process.communicate(timeout=90)
        assert process.returncode == 0, f"{line}: {out}"
        return out

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=30)


@pytest.fixture
def shell(headway: Any, tmp_path: Path) -> Iterator[Shell]:
    opened = Shell(headway, tmp_path)
    yield opened
    opened.close()


def stepped(job: dict[str, Any]) -> bool:
    return job["state"] == "Running" and (job["progress"].get("step") or 0) > 3


def test_steer_a_run_from_a_terminal_and_from_python(headway: Any, shell: Shell, tmp_path: Path) -> None:
    loop, program, question = blocks("steer-a-run.md", "python")
    run, steering = blocks("steer-a-run.md", "console")
    (tmp_path / "train.py").write_text(loop)
    (tmp_path / "steer.py").write_text(program + question + "print(hopeless)\n")

    runner = shell.start(run.strip())
    headway.until("fraud-ft", stepped)
    said = [shell.type(line) for line in steering.splitlines()]
    assert ["saved at step" in line for line in said] == [True, True, False, True]
    assert runner.wait(30) == 0
    assert headway.job("fraud-ft")["state"] == "Stopped"

    shell.type("headway rm fraud-ft")
    (tmp_path / "saved-step").unlink()
    runner = shell.start(run.strip())
    headway.until("fraud-ft", lambda job: job["state"] == "Running")
    out = shell.type("python steer.py")
    assert out.startswith("Stopped at ")
    assert out.count("the run ended by itself") == 2
    assert "Diverging for 600 s" in out
    assert runner.wait(30) == 0


MEETING = """
import os, threading, time
from headway.reporter.start import current_run

def tell():
    while (run := current_run()) is None or not run._reporter.asking._all_here():
        time.sleep(0.05)
    open(f"met-{os.environ['RANK']}", "w").close()

open(f"pid-{os.environ['RANK']}", "w").write(str(os.getpid()))
threading.Thread(target=tell, daemon=True).start()
"""
"""Says by files who a process is, and once it knows of the others: before that, a signal means the end."""


@pytest.mark.frameworks
def test_save_before_the_end_on_two_processes_and_go_on(headway: Any, shell: Shell, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (loop,) = blocks("save-before-the-end.md", "python")
    (line,) = blocks("save-before-the-end.md", "console")
    (tmp_path / "train.py").write_text(MEETING + loop)
    line = line.replace("torchrun", "python -m torch.distributed.run")
    runner = shell.start(line.strip())
    headway.until("drill", lambda job: (job["progress"].get("step") or 0) > 100, timeout=60)
    wait_until(lambda: all((tmp_path / f"met-{rank}").exists() for rank in range(2)))
    os.kill(int((tmp_path / "pid-1").read_text()), signal.SIGTERM)
    runner.communicate(timeout=60)
    job = headway.job("drill")
    assert (job["state"], job["ending"]["kind"]) == ("Stopped", "preempted")
    step = job["ending"]["step"]
    assert job["checkpoint"]["step"] == step
    runner = shell.start(line.strip())
    job = headway.until("drill", lambda job: (job["progress"].get("step") or 0) > step, timeout=60)
    assert job["attempts"][-1]["resumedFromStep"] == step
    shell.type("headway stop drill")
    runner.communicate(timeout=60)


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A server that the notebook's environment names, with the job of the page's examples."""
    with live_server(tmp_path / "server") as server:
        monkeypatch.setenv("HEADWAY_URL", server.url)
        monkeypatch.setenv("HEADWAY_TOKEN", server.token)
        monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        run, key = SyntheticRun(total=10), JobKey("local", "fraud-ft")
        for report in (*(run.at(step) for step in range(1, 10)), run.end(EndingKind.COMPLETED, 10)):
            server.call(server.hub.ingest(key, report, create=True))
        with Client() as client:
            yield client


def test_notebook_follows_any_job(notebook: Client, capsys: pytest.CaptureFixture[str]) -> None:
    look, wait, _ = blocks("notebook.md", "python")
    namespace: dict[str, Any] = {}
    exec(look, namespace)
    assert "fraud-ft Complete" in capsys.readouterr().out
    assert len(namespace["losses"]) == len(namespace["steps"]) > 1
    exec(wait, namespace)
    assert namespace["job"].state is State.COMPLETE
    namespace["client"].close()


@pytest.mark.frameworks
def test_notebook_follows_a_job_of_the_kubeflow_sdk(notebook: Client, tmp_path: Path) -> None:
    pytest.importorskip("kubeflow.trainer", reason="needs the Kubeflow SDK")
    cell = tmp_path / "cell.py"  # the SDK reads the source of the function
    cell.write_text(blocks("notebook.md", "python")[2])
    namespace = runpy.run_path(str(cell))
    assert namespace["job"].state is State.COMPLETE
    assert notebook.job("sdk-job").progress.percent == 100
