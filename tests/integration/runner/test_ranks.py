"""Several real processes of one job: they save and stop at one step, whoever of them hears it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import Job, State
from headway.protocol.report import EndingKind
from headway.protocol.verdict import ConditionType

pytest.importorskip("torch")
pytestmark = pytest.mark.frameworks

TRAIN = str(Path(__file__).with_name("ranks_train.py"))
NAME = "ranks"


def torchrun(folder: Path, total: int, seconds: float, *options: str) -> list[str]:
    module = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *options]
    return [*module, TRAIN, str(folder), str(total), str(seconds)]


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(2)]


def met(folder: Path) -> bool:
    """Whether the processes know of each other, so that either may be asked anything."""
    return all((folder / f"met-{rank}").exists() for rank in range(2))


def pid(folder: Path, rank: int) -> int:
    return int((folder / f"pid-{rank}").read_text())


def test_sigterm_to_one_rank_saves_all_at_one_step_and_the_next_attempt_goes_on_from_it(
    launcher, client: Client, until: Callable[..., Any], tmp_path: Path
) -> None:
    process = launcher.start(torchrun(tmp_path, 100_000, 0.01), name=NAME)
    until(lambda: met(tmp_path) and (client.job(NAME).progress.step or 0) > 20, timeout=90)
    os.kill(pid(tmp_path, 1), signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    zero, one = told(tmp_path)
    assert zero["saved"] == one["saved"] == [zero["stopped"]], err
    step = zero["stopped"]
    assert step == one["stopped"]
    job = client.job(NAME)
    assert job.state is State.STOPPED
    assert job.ending.kind is EndingKind.PREEMPTED
    assert job.ending.step == step
    assert job.attempts[-1].checkpoint.step == step
    again = launcher.run(torchrun(tmp_path, step + 30, 0.0), name=NAME, timeout=90)
    assert again.returncode == 0, again.stderr
    assert [each["start"] for each in told(tmp_path)] == [step, step]
    job = client.job(NAME)
    assert job.state is State.COMPLETE
    assert job.attempts[-1].resumed_from_step == step


def test_what_the_server_asks_reaches_all_ranks_at_one_step(
    launcher, client: Client, until: Callable[..., Any], tmp_path: Path
) -> None:
    process = launcher.start(torchrun(tmp_path, 100_000, 0.005), name=NAME)
    until(lambda: met(tmp_path) and (client.job(NAME).progress.step or 0) > 20, timeout=90)
    client.checkpoint(NAME)
    until(lambda: client.job(NAME).attempts[-1].checkpoint is not None, timeout=30)
    client.stop(NAME, save=True)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    zero, one = told(tmp_path)
    assert zero["saved"] == one["saved"]
    assert len(zero["saved"]) == 2, err
    assert zero["stopped"] == one["stopped"]
    job = client.job(NAME)
    assert job.state is State.STOPPED
    assert job.actions[0].outcome.startswith("saved at step")
    assert job.actions[1].outcome == f"saved at step {zero['stopped']}; the run ended by itself"


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_rank_that_is_held_stalls_the_job_and_is_named_and_the_other_says_where_it_waits(
    launcher, client: Client, until: Callable[..., Any], tmp_path: Path, stopped: int
) -> None:
    process = launcher.start(torchrun(tmp_path, 100_000, 0.02), name=NAME, stall_floor=20.0)
    until(lambda: met(tmp_path) and (client.job(NAME).progress.step or 0) > 500, timeout=90)
    until(lambda: len(client.job(NAME).ranks) == 2, timeout=30)
    os.kill(pid(tmp_path, stopped), signal.SIGSTOP)
    began = time.monotonic()
    try:
        job = until(lambda: _with(client.job(NAME), ConditionType.STALLED, ConditionType.STRAGGLING_RANK), timeout=60)
        seconds = time.monotonic() - began
        found = {each.type: each for each in job.conditions if each.until is None}
        assert found[ConditionType.STRAGGLING_RANK].evidence["rank"] == stopped
        assert f"rank {stopped}" in found[ConditionType.STRAGGLING_RANK].text
        waiting = next(rank for rank in job.ranks if rank.rank != stopped)
        assert "all_reduce" in (waiting.stack or "")
        assert "all_reduce" in found[ConditionType.STALLED].text
        assert found[ConditionType.STALLED].evidence["limitSeconds"] == 20.0
        assert seconds < 20.0 + 15.0, "two beats, a sweep and a slow machine after the limit at the latest"
    finally:
        os.kill(pid(tmp_path, stopped), signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    zero, one = told(tmp_path)
    assert zero["stopped"] == one["stopped"]


def _with(job: Job, *types: ConditionType) -> Job | None:
    return job if set(types) <= {each.type for each in job.conditions if each.until is None} else None
