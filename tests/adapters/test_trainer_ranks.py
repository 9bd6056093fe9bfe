"""A trainer on two ranks: whoever is asked to save or to stop, both do it at one step, by the trainer's own means."""

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
from headway.errors import NotFoundError
from headway.protocol.job import State
from headway.testing.live import LiveServer
from headway.testing.waiting import wait_until

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(300)]

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture
def start(server: LiveServer, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the script on two ranks under ``headway run``."""
    started: list[subprocess.Popen[str]] = []

    def begin(name: str, script: str, *arguments: str) -> subprocess.Popen[str]:
        torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "headway.cli.main", "run", "--name", name, "--"),
                *(sys.executable, *torchrun, str(SCRIPTS / script), "--folder", str(tmp_path), *arguments),
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


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(2)]


def by_transformers(folder: Path, step: int) -> Path:
    """Where a Trainer saves; both ranks have saved into it."""
    saved = folder / "out" / f"checkpoint-{step}"
    assert {path.name for path in saved.glob("rng_state_*.pth")} == {"rng_state_0.pth", "rng_state_1.pth"}
    return saved


def by_lightning(folder: Path, step: int) -> Path:
    """Where Lightning saves what is asked for, the newest only: ``ckpt_path="last"`` finds it."""
    saved = folder / "out" / "last-headway.ckpt"
    assert saved.is_file()
    return saved


def as_transformers_says(client: Client, name: str, zero: dict[str, Any], one: dict[str, Any]) -> None:
    """The last attempt: rank 0's own loss of each step, and what the Trainer logs of both ranks."""
    progress, attempt = client.job(name).progress, client.attempts(name).attempts[-1]
    assert (progress.step, progress.total_steps) == (zero["ended"], zero["total"])
    assert progress.epoch == pytest.approx(zero["epoch"])

    def means(metric: str, values: dict[int, float]) -> None:
        (series,) = client.series(name, metric, attempt=attempt.id, points=10_000)
        before = zero["start"]
        for point in series.points:
            own = [values[step] for step in range(before + 1, point.step + 1)]
            before = point.step
            assert point.n == len(own), "one value for each step"
            assert point.mean == pytest.approx(sum(own) / len(own), rel=1e-7), metric
        assert before == zero["ended"]

    log = {entry["step"]: entry for entry in zero["log"] if "loss" in entry and entry["step"] > zero["start"]}
    own, other = ({int(step): loss for step, loss in rank["losses"].items()} for rank in (zero, one))
    assert all(entry["loss"] == pytest.approx((own[step] + other[step]) / 2) for step, entry in log.items())
    means("loss", own)
    means("learning_rate", {step: entry["learning_rate"] for step, entry in log.items()})
    means("grad_norm", {step: entry["grad_norm"] for step, entry in log.items()})
    means("loss/all_ranks", {step: entry["loss"] for step, entry in log.items()})


@pytest.mark.parametrize(
    ("needs", "script", "saved_at", "as_it_says"),
    [
        ("transformers", "trainer_ranks.py", by_transformers, as_transformers_says),
        ("lightning", "lightning_ranks.py", by_lightning, None),
    ],
    ids=["transformers", "lightning"],
)
def test_both_ranks_save_and_stop_at_one_step(
    needs: str,
    script: str,
    saved_at: Callable[[Path, int], Path],
    as_it_says: Callable[..., None] | None,
    start: Any,
    client: Client,
    tmp_path: Path,
) -> None:
    pytest.importorskip(needs, reason="pip install --group frameworks")
    name = f"{needs}-ranks"

    def step() -> int:
        try:
            return client.job(name).progress.step or 0
        except NotFoundError:
            return 0

    process = start(name, script)
    wait_until(lambda: step() > 20, timeout=120.0)
    client.checkpoint(name)
    wait_until(lambda: client.job(name).checkpoint is not None, timeout=120.0)
    saved = client.job(name).checkpoint
    assert saved is not None
    assert saved.path == str(saved_at(tmp_path, saved.step))
    os.kill(told(tmp_path)[1]["pid"], signal.SIGTERM)
    output, _ = process.communicate(timeout=90)
    zero, one = told(tmp_path)
    assert zero["saved"] == one["saved"] == [saved.step, zero["ended"]], output
    assert zero["ended"] == one["ended"]
    for at in zero["saved"]:
        saved_at(tmp_path, at)
    job = client.job(name)
    assert job.state is State.STOPPED, output
    assert job.ending is not None
    assert job.ending.step == zero["ended"]

    output, _ = start(name, script, "--resume", "--until", "30").communicate(timeout=120)
    assert [each["start"] for each in told(tmp_path)] == [zero["ended"]] * 2, output
    assert client.job(name).progress.step == zero["ended"] + 30
    if as_it_says is not None:
        as_it_says(client, name, *told(tmp_path))
