"""SIGTERM to a process whose main thread waits for another that will not come: it ends by itself, in time, and says why."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import RankInfo, State
from headway.protocol.report import EndingKind
from headway.testing.live import LiveServer

pytest.importorskip("torch")
pytestmark = pytest.mark.frameworks

GRACE = 8.0
TRAIN = """
import os, sys, torch, torch.distributed as dist, headway
torch.set_num_threads(1)
dist.init_process_group("gloo")
run = headway.track(total_steps=1_000_000)
gradient, met = torch.zeros(4), False
while True:
    dist.all_reduce(gradient)
    run.step()
    if sys.argv[1] == "listens" and run.should_stop:
        break
    if not met and (sys.argv[1] != "listens" or run._reporter.asking._all_here()):
        print("met", flush=True)
        met = True
"""


class Ranks:
    """Two processes, the first of which holds the store. Each says when it knows of the other, where it is to listen."""

    def __init__(self, environ: dict[str, str], how: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.processes: list[Any] = [
            subprocess.Popen(
                [sys.executable, "-c", TRAIN, how],
                env={
                    **environ,
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(port),
                    "RANK": str(rank),
                    "WORLD_SIZE": "2",
                    "HEADWAY_GRACE": f"{GRACE:g}",
                    "HEADWAY_ATTEMPT": "a-1",
                    "HEADWAY_INTERVAL": "0.2",
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def begin(environ: dict[str, str], server: LiveServer) -> Iterator[Callable[[str], Ranks]]:
    made: list[Ranks] = []

    def start(how: str) -> Ranks:
        where = {"HEADWAY_URL": server.url, "HEADWAY_TOKEN": server.token, "HEADWAY_JOB": "local/hung"}
        made.append(Ranks({**environ, **where}, how))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.mark.parametrize(("held", "how"), [(0, "listens"), (1, "does not listen")])
def test_a_rank_in_a_collective_that_hangs_ends_by_itself_within_the_grace(
    begin: Callable[[str], Ranks], client: Client, until: Callable[..., Any], held: int, how: str
) -> None:
    """With rank 0 its store stands still, too."""
    ranks = begin(how)
    assert [process.stdout.readline() for process in ranks.processes] == ["met\n", "met\n"]
    until(lambda: all(rank.step for rank in _ranks(client)) and len(_ranks(client)) == 2, timeout=90)
    ranks.processes[held].send_signal(signal.SIGSTOP)
    _until_it_stands(client, 1 - held)
    other = ranks.processes[1 - held]
    other.terminate()
    _, err = other.communicate(timeout=GRACE + 60)  # nobody else ends it, however long it takes
    assert other.returncode == -signal.SIGTERM
    job = client.job("hung")
    assert "all_reduce" in (job.ranks[1 - held].stack or "")
    assert "its main thread stood in all_reduce (distributed_c10d.py:" in err
    assert ("had not saved and ended by itself" in err) == (how == "listens")
    if held == 0:
        return  # rank 0 alone writes how the job ended
    assert job.state is State.STOPPED
    assert job.ending is not None
    assert (job.ending.kind, job.ending.signal) == (EndingKind.CANCELLED, "SIGTERM")
    assert "its main thread stood in all_reduce" in (job.ending.message or "")


def _ranks(client: Client) -> tuple[RankInfo, ...]:
    return client.job("hung").ranks if client.jobs().total else ()


def _until_it_stands(client: Client, rank: int) -> None:
    """Five beats with the same step."""
    end, beats, before = time.monotonic() + 60, 0, _ranks(client)[rank]
    while beats < 5:
        assert time.monotonic() < end
        time.sleep(0.05)
        now = _ranks(client)[rank]
        if now.step != before.step:
            beats = 0
        elif now.last_contact_age < before.last_contact_age:
            beats += 1
        before = now
