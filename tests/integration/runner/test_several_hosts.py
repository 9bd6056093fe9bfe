"""A runner on each of several hosts, one job: ranks of both, one writer, and the end when both have ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from headway.client.client import Client
from headway.errors import NotFoundError
from headway.protocol.job import Job, State
from headway.protocol.verdict import ConditionType

TRAIN = """
import headway, os, sys, time, pathlib
pathlib.Path(sys.argv[1], "pid-" + os.environ["RANK"]).write_text(str(os.getpid()))
run = headway.track(total_steps=100_000)
end = pathlib.Path(sys.argv[1], "end")
while not end.exists():
    time.sleep(0.02)
    run.step(loss=1.0)
"""


def there(client: Client, *numbers: int) -> Job | None:
    try:
        job = client.job("pair")
    except NotFoundError:
        return None
    return job if [rank.rank for rank in job.ranks if (rank.step or 0) > 20] == list(numbers) else None


def test_two_runners_are_one_job_and_the_lost_rank_is_named(
    launcher, client: Client, until: Callable[..., Any], tmp_path: Any
) -> None:
    shared = {"HEADWAY_ATTEMPT": "night-1", "WORLD_SIZE": "2", "HEADWAY_INTERVAL": "0.5"}
    runners = [
        launcher.start(
            launcher.python(TRAIN, str(tmp_path)), name="pair", nodes=2, environ={**shared, "RANK": str(rank)}
        )
        for rank in range(2)
    ]
    job = until(lambda: there(client, 0, 1), timeout=60)
    assert len(job.attempts) == 1
    assert job.attempts[0].id == "night-1"
    assert job.attempts[0].world_size == 2
    lost = int((tmp_path / "pid-1").read_text())
    os.kill(lost, signal.SIGSTOP)
    try:
        until(
            lambda: any(
                each.type is ConditionType.STRAGGLING_RANK and each.evidence["rank"] == 1 and each.until is None
                for each in client.job("pair").conditions
            ),
            timeout=40,
        )
    finally:
        os.kill(lost, signal.SIGCONT)
    (tmp_path / "end").touch()
    assert [runner.wait(30) for runner in runners] == [0, 0]
    job = client.job("pair")
    assert job.state is State.COMPLETE
    assert len(job.attempts) == 1
