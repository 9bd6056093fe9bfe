"""Conditions as a person meets them: a real script that hangs, a runner, a server, and a command of the user's own."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import State
from headway.protocol.verdict import ConditionType, Verdict

HANGS = """
import ctypes, sys, threading, time, headway

def read_batch():
    {hang}

run = headway.track(total_steps=1000)
for step in range(80):
    run.step(loss=1.0 / (1 + step))
    time.sleep(0.1)
read_batch()
for step in range(60):
    run.step(loss=0.01)
    time.sleep(0.1)
"""
PASSES_ITS_TOTAL = """
import time, headway
run = headway.track(total_steps=3)
for step in range(5):
    run.step(loss=1.0)
time.sleep(4)
"""
NOTES = "import json, sys; open({path!r}, 'a').write(json.dumps(json.load(sys.stdin)) + chr(10))"


def verdict_is(client: Client, verdict: Verdict) -> Callable[[], bool]:
    def check() -> bool:
        return bool(client.jobs().total) and client.job("job").verdict is verdict

    return check


@pytest.mark.slow
def test_a_hang_is_stalled_with_the_place_and_told_to_the_users_command(
    launcher: Any, client: Client, until: Callable[..., Any], tmp_path: Path
) -> None:
    notes = tmp_path / "notes.jsonl"
    process = launcher.start(
        launcher.python(HANGS.format(hang="threading.Event().wait(14)")),
        name="job",
        stall_floor=3.0,
        on_condition=[sys.executable, "-c", NOTES.format(path=str(notes))],
    )
    until(verdict_is(client, Verdict.STALLED))
    until(lambda: "stands at" in (client.job("job").verdict_text or ""))
    job = client.job("job")
    (condition,) = (one for one in job.conditions if one.type is ConditionType.STALLED)
    assert condition.since_step == 80
    assert "<string>:5 in read_batch" in condition.text
    assert condition.evidence["limitSeconds"] < 10
    assert job.spec.stall_floor == 3.0
    until(lambda: client.job("job").verdict is not Verdict.STALLED)
    (past,) = (one for one in client.job("job").conditions if one.type is ConditionType.STALLED)
    assert past.until is not None
    assert process.wait(60) == 0
    events = [json.loads(line) for line in notes.read_text().splitlines()]
    stalled = [event for event in events if event["condition"]["type"] == "Stalled"]
    assert [event["kind"] for event in stalled] == ["onset", "recovery"]
    assert stalled[0]["job"] == {"namespace": "local", "name": "job"}
    assert stalled[1]["condition"]["until"] > stalled[1]["condition"]["since"]


@pytest.mark.slow
def test_a_hang_that_holds_the_interpreters_lock_is_stalled_with_the_place_too(
    launcher: Any, client: Client, until: Callable[..., Any]
) -> None:
    """Not one line of Python runs meanwhile: no beat, no thread of the reporter's."""
    code = HANGS.format(hang="ctypes.PyDLL(None).usleep(16_000_000)")
    process = launcher.start(launcher.python(code), name="job", stall_floor=3.0)
    until(verdict_is(client, Verdict.STALLED))
    text = client.job("job").verdict_text or ""
    assert "<string>:5 in read_batch" in text
    assert "interpreter lock" in text
    until(lambda: client.job("job").verdict is not Verdict.STALLED)
    assert process.wait(60) == 0
    assert client.job("job").state is State.COMPLETE


def test_a_command_that_fails_or_hangs_costs_the_run_nothing(
    launcher: Any, client: Client, until: Callable[..., Any]
) -> None:
    for command, complaint in (
        (["/no/such/notifier"], "no such file"),
        ([sys.executable, "-c", "import sys; sys.exit('mail is down')"], "mail is down"),
        ([sys.executable, "-c", "import time; time.sleep(30)"], ""),
    ):
        began = time.monotonic()
        result = launcher.run(launcher.python(PASSES_ITS_TOTAL), name="job", on_condition=command)
        assert result.returncode == 0
        assert complaint in result.stderr.lower()
        assert time.monotonic() - began < 40
        assert client.job("job").state is State.COMPLETE
