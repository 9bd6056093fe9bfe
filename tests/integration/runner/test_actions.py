"""What people do to a run, with real processes: checkpoint, pause, resume and stop, carried out by the run or without it."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.errors import ConflictError, NotFoundError
from headway.hub.hub import HubSettings
from headway.protocol.action import Action, ActionKind, CarriedOut
from headway.protocol.job import Job, State
from headway.protocol.report import EndingKind
from headway.testing.live import LiveServer, live_server

EXAMPLE = Path(__file__).parents[3] / "examples" / "02-transformers" / "train.py"

LOOP = """
import headway, pathlib, sys, time
saved = pathlib.Path(sys.argv[1])
start = int(saved.read_text()) if saved.exists() else 0
with headway.track(total_steps=100_000, start_step=start) as run:
    for step in range(start + 1, 100_001):
        time.sleep(0.02)
        run.step(loss=1 / step)
        if run.should_checkpoint:
            saved.write_text(str(step))
            run.checkpointed(step, path=saved)
        if run.should_stop:
            print("stopped", step, flush=True)
            break
"""
"""A loop that listens. It goes on from what it saved."""

DEAF = """
import headway, time
run = headway.track(total_steps=100_000)
while True:
    time.sleep(0.02)
    run.step(loss=1.0)
"""
"""A loop that reports, and never asks whether anybody wants something."""


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[LiveServer]:
    """A server that asks to be spoken to often, so that what it wants is soon heard."""
    settings = HubSettings(heartbeat=0.2, report_interval=0.2)
    with live_server(tmp_path / "quick", hub=settings) as server:
        yield server


@pytest.fixture
def steer(quick: LiveServer) -> Iterator[Client]:
    with Client(quick.url, quick.token) as client:
        yield client


@pytest.fixture
def start(launcher: Any, quick: LiveServer, steer: Client, until: Any) -> Callable[..., Any]:
    """Starts a runner of job ``job`` and waits until the server has heard of a step."""

    def start(code: str, *arguments: object, stepped: bool = True, timeout: float = 30, **request: Any) -> Any:
        environ = {"HEADWAY_URL": quick.url, "HEADWAY_TOKEN": quick.token}
        command = launcher.python(code, *map(str, arguments))
        process = launcher.start(command, name="job", environ=environ, **request)

        def running() -> bool:
            try:
                job = steer.job("job")
            except NotFoundError:
                return False
            return job.state is State.RUNNING and (not stepped or job.progress.step is not None)

        until(running, timeout=timeout)
        return process

    return start


@pytest.fixture
def settled(steer: Client, until: Any) -> Callable[[Job], Action]:
    """The record of what was asked last, once something came of it."""

    def settled(asked: Job) -> Action:
        identity = asked.actions[-1].id

        def look() -> Action | None:
            action = next(each for each in steer.job("job").actions if each.id == identity)
            return action if action.carried_out is not None else None

        return until(look)

    return settled


def reached(client: Client, state: State) -> Callable[[], bool]:
    return lambda: client.job("job").state is state


def test_a_run_that_listens_saves_when_it_is_asked(start: Any, steer: Client, settled: Any, tmp_path: Path) -> None:
    process = start(LOOP, tmp_path / "saved")
    action = settled(steer.checkpoint("job", by="ann", reason="maintenance"))
    saved = int((tmp_path / "saved").read_text())
    assert (action.kind, action.carried_out) == (ActionKind.CHECKPOINT, CarriedOut.DIRECTIVE)
    assert (action.by, action.reason, action.outcome) == ("ann", "maintenance", f"saved at step {saved}")
    assert action.acknowledged_at is not None
    assert action.acknowledged_at >= action.asked_at
    job = steer.job("job")
    assert job.checkpoint is not None
    assert (job.state, job.checkpoint.step) == (State.RUNNING, saved)
    assert process.poll() is None


def test_a_checkpoint_that_nobody_saves_is_refused_with_the_reason(start: Any, steer: Client, settled: Any) -> None:
    start(DEAF)
    action = settled(steer.checkpoint("job", notice=0.5))
    assert (action.carried_out, action.outcome) == (CarriedOut.REFUSED, "the run did not save within 0.5 s")


def test_stop_saves_first_then_the_run_ends_by_itself(start: Any, steer: Client, settled: Any, tmp_path: Path) -> None:
    process = start(LOOP, tmp_path / "saved")
    action = settled(steer.stop("job", save=True))
    assert process.wait(30) == 0
    saved = int((tmp_path / "saved").read_text())
    stopped = int(process.stdout.read().split()[1])
    assert stopped >= saved
    assert action.carried_out is CarriedOut.DIRECTIVE
    assert action.outcome == f"saved at step {saved}; the run ended by itself"
    job = steer.job("job")
    assert job.ending is not None
    assert (job.state, job.ending.kind) == (State.STOPPED, EndingKind.CANCELLED)


def test_a_run_that_does_not_listen_is_ended_after_the_deadline(start: Any, steer: Client, settled: Any) -> None:
    process = start(DEAF)
    action = settled(steer.stop("job", save=True, notice=1.0))
    assert process.wait(30) == 128 + signal.SIGTERM
    assert action.carried_out is CarriedOut.PLATFORM
    assert re.fullmatch(r"the run did not answer: ended by SIGTERM after \d s", action.outcome or "")
    assert steer.job("job").state is State.STOPPED


def test_a_client_that_cannot_hear_is_ended_after_the_deadline_and_that_is_said(
    start: Any, steer: Client, settled: Any, report: str
) -> None:
    process = start(report + "step = 0\nwhile True:\n    step += 1\n    report(step, 10_000)\n    time.sleep(0.05)")
    refused = settled(steer.checkpoint("job"))
    assert (refused.carried_out, refused.outcome) == (CarriedOut.REFUSED, "its client hears no requests")
    action = settled(steer.stop("job", save=True, notice=1.0))
    assert process.wait(30) == 128 + signal.SIGTERM
    assert action.carried_out is CarriedOut.PLATFORM
    assert re.fullmatch(r"the run could not hear: ended by SIGTERM after \d s", action.outcome or "")


@pytest.mark.frameworks
def test_transformers_own_callback_cannot_hear(start: Any, steer: Client, settled: Any, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs Transformers")
    code = f"import runpy, sys\nsys.argv[1:] = ['--steps', '1000000', '--output', {str(tmp_path / 'out')!r}]\n"
    process = start(code + f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')", timeout=90, auto=False)
    action = settled(steer.stop("job", save=True, notice=2.0))
    assert re.fullmatch(r"the run could not hear: ended by SIGTERM after \d s", action.outcome or "")
    assert process.wait(30) == 128 + signal.SIGTERM
    assert steer.job("job").state is State.STOPPED


def test_pause_saves_ends_and_keeps_and_resume_goes_on(
    start: Any, steer: Client, settled: Any, until: Any, tmp_path: Path
) -> None:
    process = start(LOOP, tmp_path / "saved")
    action = settled(steer.pause("job", by="ann"))
    saved = int((tmp_path / "saved").read_text())
    assert (action.carried_out, action.outcome) == (
        CarriedOut.DIRECTIVE,
        f"saved at step {saved}; the run ended by itself",
    )
    until(reached(steer, State.PAUSED))
    job = steer.job("job")
    assert job.summary.startswith("Paused at ")
    assert (job.ending, job.ended_at, job.verdict, job.conditions) == (None, None, None, ())
    assert process.poll() is None, "the runner stays"
    spent = job.ledger
    with pytest.raises(ConflictError, match="only one that is Running"):
        steer.pause("job")

    resumed = settled(steer.resume("job"))
    assert (resumed.carried_out, resumed.outcome) == (CarriedOut.PLATFORM, "attempt 2 was begun")
    until(lambda: steer.job("job").attempts[1].resumed_from_step == saved)
    job = steer.job("job")
    assert job.ledger.spent.device_hours == spent.spent.device_hours  # no devices were named: none are billed
    assert (job.state, len(job.attempts)) == (State.RUNNING, 2)
    steer.stop("job", notice=30)
    assert process.wait(30) == 0
    assert steer.job("job").state is State.STOPPED


def test_a_paused_job_stays_paused_and_may_be_stopped(start: Any, steer: Client, settled: Any, until: Any) -> None:
    process = start(DEAF, restarts=3)
    action = settled(steer.pause("job", notice=0.3))
    assert re.fullmatch(r"the run did not answer: ended by SIGTERM after [\d.]+ s", action.outcome or "")
    until(reached(steer, State.PAUSED))
    with pytest.raises(ConflictError, match="is Paused"):
        steer.checkpoint("job")
    stopped = settled(steer.stop("job"))
    assert (stopped.carried_out, stopped.outcome) == (CarriedOut.PLATFORM, "its processes had ended before")
    assert process.wait(30) == 128 + signal.SIGTERM
    job = steer.job("job")
    assert (job.state, len(job.attempts)) == (State.STOPPED, 1)
    with pytest.raises(ConflictError, match="headway run --name job"):
        steer.resume("job")


def test_a_signal_ends_a_paused_job(start: Any, steer: Client, until: Any) -> None:
    process = start(DEAF)
    steer.pause("job", notice=0.1)
    until(reached(steer, State.PAUSED))
    process.send_signal(signal.SIGINT)
    process.wait(30)
    assert steer.job("job").state is State.STOPPED


def test_a_paused_job_whose_runner_is_killed_is_lost(start: Any, steer: Client, until: Any) -> None:
    process = start(DEAF)
    steer.pause("job", notice=0.1)
    until(reached(steer, State.PAUSED))
    process.kill()
    until(reached(steer, State.LOST))
    assert "which had paused it" in (steer.job("job").state_reason or "")


def test_a_run_that_completes_before_the_pause_is_heard_is_complete(start: Any, steer: Client, settled: Any) -> None:
    code = (
        "import headway, sys, time\n"
        "with headway.track(total_steps=3) as run:\n"
        "    for _ in range(3):\n        run.step()\n        time.sleep(0.4)"
    )
    process = start(code, stepped=False)
    action = settled(steer.pause("job", notice=30))
    assert process.wait(30) == 0
    assert steer.job("job").state in (State.COMPLETE, State.PAUSED)
    if steer.job("job").state is State.COMPLETE:
        assert action.carried_out is CarriedOut.REFUSED


def test_a_paused_job_outlives_a_restart_of_the_server(launcher: Any, until: Any, tmp_path: Path) -> None:
    saved, settings = tmp_path / "saved", HubSettings(heartbeat=0.2, report_interval=0.2)
    with live_server(tmp_path / "own", hub=settings) as first:
        environ = {"HEADWAY_URL": first.url, "HEADWAY_TOKEN": first.token}
        process = launcher.start(launcher.python(LOOP, str(saved)), name="job", environ=environ)
        with Client(first.url, first.token) as client:
            until(lambda: client.jobs().total and client.job("job").progress.step)
            client.pause("job")
            until(reached(client, State.PAUSED))
            before = client.job("job").actions
    port = int(first.url.rpartition(":")[2])
    with (
        live_server(tmp_path / "own", hub=settings, port=port) as second,
        Client(second.url, second.token) as client,
    ):
        until(reached(client, State.PAUSED))  # Lost for a moment, if its runner is slow to come back
        assert client.job("job").actions == before
        client.resume("job")
        until(lambda: client.job("job").attempts[-1].resumed_from_step == int(saved.read_text()))
        client.stop("job", notice=30)
        assert process.wait(30) == 0
        assert client.job("job").state is State.STOPPED


def test_a_stop_with_little_grace_is_what_the_run_knows_of_and_ends_by(
    launcher: Any, client: Client, until: Any
) -> None:
    code = """
import headway, time
run = headway.track(total_steps=100_000)
for step in range(1, 100_001):
    time.sleep(0.01)
    run.step(step, loss=1.0)
    if step == 100:
        run.checkpointed(step, seconds=40.0)
    if run.should_stop:
        time.sleep(3600)   # a save that takes far longer
"""
    process = launcher.start(
        launcher.python(code), name="job", environ={"HEADWAY_GRACE": "3600", "HEADWAY_FINISH_TIMEOUT": "7"}
    )
    until(lambda: client.jobs().total and client.job("job").checkpoint is not None)
    assert not client.job("job").warnings
    client.stop("job", grace=16)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "it would be killed first" in err
    assert "it had not saved and ended by itself in time" in err
    job = client.job("job")
    assert job.ending is not None
    assert job.ending.signal == "SIGTERM"
    assert (job.actions[0].outcome or "").endswith("ended by SIGTERM"), "and nobody killed it"
    (warning,) = job.warnings
    assert re.match(r"a step and a save took 40 s together, but only 1\d(\.\d)? s lie between SIGTERM and", warning)
