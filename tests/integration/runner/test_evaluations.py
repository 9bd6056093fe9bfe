"""An evaluation that a training process starts inherits its environment, and does not disturb its job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.client.client import Client
from headway.errors import NotFoundError
from headway.protocol.job import Job, State

EVALUATE = """
import headway, time
run = headway.track(total_steps=5)
for step in range(5):
    run.step(accuracy=0.5)
    time.sleep(0.3)
"""
TRAIN = f"""
import subprocess, sys, time, headway
run = headway.track(total_steps=60)
for step in range(1, 61):
    time.sleep(0.05)
    run.step(step, loss=1 / step)
    if step == 40:
        with run.phase("eval"):
            subprocess.run([sys.executable, "-c", {EVALUATE!r}], check=True)
"""


def test_it_is_listed_and_moves_nothing(launcher, client: Client, until: Callable[..., Any]) -> None:
    process = launcher.start(launcher.python(TRAIN), name="job")
    job = until(lambda: _with_both(client), timeout=60)
    assert job.progress.step == 40
    assert job.progress.total_steps == 60
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    job = client.job("job")
    assert (job.state, job.progress.step, job.progress.percent) == (State.COMPLETE, 60, 100)
    assert "accuracy" not in job.metrics
    assert [rank.auxiliary for rank in job.ranks] == [False, True]
    assert len(job.attempts) == 1


def _with_both(client: Client) -> Job | None:
    try:
        job = client.job("job")
    except NotFoundError:
        return None
    return job if len(job.ranks) > 1 else None
