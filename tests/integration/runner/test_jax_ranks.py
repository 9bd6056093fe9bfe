"""Two JAX processes, which meet through JAX's coordination service: SIGTERM to one saves and stops both at one step."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import State
from headway.protocol.report import EndingKind

pytest.importorskip("jax")
pytestmark = pytest.mark.frameworks

TRAIN = str(Path(__file__).with_name("jax_train.py"))
NAME = "jax"


@pytest.mark.parametrize("begins", ["before", "after"])
def test_sigterm_to_one_of_two_processes_saves_both_at_one_step(
    launcher, client: Client, until: Callable[..., Any], tmp_path: Path, begins: str
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [[sys.executable, TRAIN, str(tmp_path), "100000", str(port), str(rank), "2", begins] for rank in range(2)]
    both = f"import subprocess as s; a, b = [s.Popen(each) for each in {ranks!r}]; print(a.wait(), b.wait())"
    process = launcher.start(launcher.python(both), name=NAME, environ={"JAX_PLATFORMS": "cpu"})
    until(lambda: (tmp_path / "pid-1").exists() and (client.job(NAME).progress.step or 0) > 50, timeout=120)
    until(lambda: len(client.job(NAME).ranks) == 2, timeout=30)
    os.kill(int((tmp_path / "pid-1").read_text()), signal.SIGTERM)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    zero, one = (json.loads((tmp_path / f"told-{rank}.json").read_text()) for rank in range(2))
    assert zero["saved"] == one["saved"] == [zero["stopped"]], err
    assert zero["stopped"] == one["stopped"]
    job = client.job(NAME)
    assert job.state is State.STOPPED
    assert job.ending.kind is EndingKind.PREEMPTED
    assert job.ending.step == zero["stopped"]
    assert job.attempts[-1].checkpoint.step == zero["stopped"]
    assert out.split()[0] == "0"
