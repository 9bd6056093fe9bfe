"""A Trainer on two ranks: whoever is asked to save or to stop, both do it at one step, by the Trainer's own flags."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.errors import NotFoundError
from headway.protocol.job import State
from headway.testing.live import LiveServer

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(300)]
pytest.importorskip("transformers", reason="pip install --group frameworks")

SCRIPT = Path(__file__).parent / "scripts" / "trainer_ranks.py"
NAME = "trainer-ranks"


@pytest.fixture
def start(server: LiveServer, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the script on two ranks under ``headway run``."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "headway.cli.main", "run", "--name", NAME, "--"),
                *(sys.executable, *torchrun, str(SCRIPT), "--folder", str(tmp_path), *arguments),
            ],
            env={
                **os.environ,
                "HEADWAY_HOME": str(tmp_path / "home"),
                "HEADWAY_URL": server.url,
                "HEADWAY_TOKEN": server.token,
                "HEADWAY_INTERVAL": "0.2",
                "OMP_NUM_THREADS": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


def wait_until(condition: Callable[[], Any], timeout: float = 120.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(2)]


def test_both_ranks_save_and_stop_at_one_step(start: Any, client: Client, tmp_path: Path) -> None:
    def step() -> int:
        try:
            return client.job(NAME).progress.step or 0
        except NotFoundError:
            return 0

    process = start()
    wait_until(lambda: step() > 20)
    client.checkpoint(NAME)
    wait_until(lambda: client.job(NAME).checkpoint is not None)
    saved = client.job(NAME).checkpoint
    assert saved is not None
    assert saved.path == str(tmp_path / "out" / f"checkpoint-{saved.step}")
    os.kill(told(tmp_path)[1]["pid"], signal.SIGTERM)
    output, _ = process.communicate(timeout=90)
    zero, one = told(tmp_path)
    assert zero["saved"] == one["saved"] == [saved.step, zero["ended"]], output
    assert zero["ended"] == one["ended"]
    for at in zero["saved"]:
        kept = {path.name for path in (tmp_path / "out" / f"checkpoint-{at}").glob("rng_state_*.pth")}
        assert kept == {"rng_state_0.pth", "rng_state_1.pth"}, "both ranks saved into one checkpoint"
    job = client.job(NAME)
    assert job.state is State.STOPPED, output
    assert job.ending is not None
    assert job.ending.step == zero["ended"]

    output, _ = start("--resume", "--until", "30").communicate(timeout=120)
    assert [each["start"] for each in told(tmp_path)] == [zero["ended"]] * 2, output
    assert client.job(NAME).progress.step == zero["ended"] + 30
