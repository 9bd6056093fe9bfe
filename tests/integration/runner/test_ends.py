"""How runs are brought to an end: signals, stop, restarts, and a runner that is killed."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.errors import NotFoundError
from headway.hub.hub import HubSettings
from headway.protocol.job import Job, State
from headway.protocol.report import EndingKind
from headway.testing.live import LiveServer, live_server

READY = "import os, signal, sys, time, pathlib\n"


def running(client: Client, name: str = "job") -> Callable[[], Job | None]:
    def look() -> Job | None:
        try:
            job = client.job(name)
        except NotFoundError:
            return None
        return job if job.state is State.RUNNING else None

    return look


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_signal_to_the_runner_ends_the_command_once(launcher: Any, client: Client, name: str) -> None:
    process = launcher.start(launcher.python(READY + "print('up', flush=True); time.sleep(60)"), name="job")
    assert process.stdout.readline() == "up\n"
    number = signal.Signals[name]
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    job = client.job("job")
    assert job.ending is not None
    assert job.ending.kind is EndingKind.CANCELLED
    assert len(job.attempts) == 1
    assert job.state.ended


def test_a_command_that_saves_at_sigterm_keeps_its_own_exit_code(launcher: Any, client: Client) -> None:
    code = READY + (
        "def save(*_): print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); print('up', flush=True); time.sleep(60)"
    )
    process = launcher.start(launcher.python(code), name="job")
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[0] == "saved\n"
    assert process.returncode == 0
    ending = client.job("job").ending
    assert ending is not None
    assert (ending.kind, ending.exit_code) == (EndingKind.CANCELLED, 0)


def test_signals_for_the_program_reach_it_alone(launcher: Any) -> None:
    code = READY + (
        "import subprocess\n"
        "helper = subprocess.Popen(['sleep', '60'])\n"
        "signal.signal(signal.SIGUSR1, lambda *_: (print('usr1', helper.poll(), flush=True), helper.kill(), os._exit(0)))\n"
        "print('up', flush=True); time.sleep(60)"
    )
    process = launcher.start(launcher.python(code))
    process.stdout.readline()
    process.send_signal(signal.SIGUSR1)
    assert process.communicate(timeout=30)[0] == "usr1 None\n"


def test_what_was_ignored_stays_ignored(launcher: Any) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = launcher.start(["cat"], stdin=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGHUP, before)
    process.stdin.write("one\n")
    process.stdin.flush()
    assert process.stdout.readline() == "one\n"
    process.send_signal(signal.SIGHUP)
    assert process.communicate("two\n", timeout=30)[0] == "two\n"
    assert process.returncode == 0


def test_the_rest_of_a_group_ends_with_a_command_that_a_signal_ends(launcher: Any, tmp_path: Path, until: Any) -> None:
    script = tmp_path / "train.sh"
    script.write_text(f"python3 -c 'import time, os; print(os.getpid(), flush=True); time.sleep(60)'; echo {script}\n")
    process = launcher.start(["bash", str(script)])
    pid = int(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 143
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_stop_asks_then_kills(launcher: Any, client: Client, until: Any) -> None:
    code = READY + (
        "signal.signal(signal.SIGTERM, lambda *_: print('I would rather not', flush=True))\n"
        "print('up', flush=True)\nwhile True: time.sleep(60)"
    )
    process = launcher.start(launcher.python(code), name="job", restarts=3)
    process.stdout.readline()
    until(running(client))
    client.stop("job", grace=0.5, reason="enough", by="ann")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 137
    assert out == "I would rather not\n"
    assert "stop requested by ann: enough" in err
    job = client.job("job")
    assert (job.state, len(job.attempts)) == (State.STOPPED, 1)
    assert job.ending is not None
    assert (job.ending.kind, job.ending.signal) == (EndingKind.CANCELLED, "SIGKILL")


def test_what_has_a_session_of_its_own_is_killed_too(launcher: Any, client: Client, until: Any) -> None:
    """As torchrun's workers have."""
    worker = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )
    code = READY + (
        "import subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"worker = subprocess.Popen([sys.executable, '-c', {worker!r}], start_new_session=True, stdout=subprocess.PIPE)\n"
        "worker.stdout.readline()\nprint(worker.pid, flush=True)\nworker.wait()"
    )
    process = launcher.start(launcher.python(code), name="job")
    pid = int(process.stdout.readline())
    until(running(client))
    client.stop("job", grace=0.5)
    process.communicate(timeout=30)
    assert process.returncode == 137
    until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize("after", [0.0, 0.2, 0.5, 0.9])
def test_a_stop_in_the_first_second_is_a_stop(launcher: Any, client: Client, until: Any, after: float) -> None:
    """Before the command is there, while it starts, and as its first steps are made."""
    code = (
        "import headway, time\nrun = headway.track(1000)\nwhile True:\n    run.step(loss=1.0)\n    time.sleep(0.02)\n"
    )
    process = launcher.start(launcher.python(code), name="job")
    until(lambda: client.jobs().total)
    time.sleep(after)
    client.stop("job", grace=10)
    process.wait(30)
    job = client.job("job")
    assert job.state is State.STOPPED, job.summary
    assert job.ending is not None
    assert job.ending.kind is EndingKind.CANCELLED


def test_stop_gives_notice_first(launcher: Any, client: Client, report: str, until: Any) -> None:
    code = report + (
        "print('up', flush=True)\nfor step in range(1, 10_000):\n"
        "    told = report(step, 10_000)['headway'].get('directives', [])\n"
        "    if any(each['kind'] == 'stop' for each in told): print('stopped at', step); sys.exit(0)\n"
        "    time.sleep(0.05)"
    )
    process = launcher.start(launcher.python(code), name="job")
    process.stdout.readline()
    until(running(client))
    client.stop("job", notice=30)
    assert process.communicate(timeout=30)[0].startswith("stopped at")
    assert process.returncode == 0
    assert client.job("job").state is State.STOPPED


def test_restarts_are_attempts_of_their_own(launcher: Any, client: Client, report: str, tmp_path: Path) -> None:
    marker = tmp_path / "saved"
    code = report + (
        "import pathlib\n"
        f"saved = pathlib.Path({str(marker)!r})\n"
        "first = int(saved.read_text()) + 1 if saved.exists() else 1\n"
        "for step in range(first, 1001):\n"
        "    if step % 4 == 0 or first > 1: report(step, 1000) if step % 100 < 13 or step == 1000 else None\n"
        "    if step % 100 == 0: saved.write_text(str(step))\n"
        "    if step == 212 and first == 1: print('boom', os.environ['HEADWAY_ATTEMPT'], flush=True); os._exit(9)\n"
        "print('done', os.environ['HEADWAY_ATTEMPT'])"
    )
    result = launcher.run(launcher.python(code), name="job", restarts=2, restart_delay=0.05)
    assert result.returncode == 0
    job = client.job("job")
    assert job.state is State.COMPLETE
    first, second = job.attempts
    assert (first.last_step, second.first_step, second.resumed_from_step) == (212, 201, 200)
    assert first.ending is not None
    assert first.ending.exit_code == 9
    assert first.ending.log_tail == (f"boom {first.id}",)
    assert result.stdout.splitlines()[-1] == f"done {second.id}"
    by_attempt = {series.attempt: {point.step for point in series.points} for series in client.series("job", "loss")}
    assert set(range(201, 213)) <= by_attempt[second.id]
    assert {204, 208, 212} <= by_attempt[first.id]


def test_restarts_end(launcher: Any, client: Client) -> None:
    result = launcher.run(
        launcher.python("print('try', flush=True); raise SystemExit(5)"), name="job", restarts=2, restart_delay=0
    )
    assert (result.returncode, result.stdout) == (5, "try\n" * 3)
    job = client.job("job")
    assert job.state is State.FAILED
    assert [attempt.ending.exit_code for attempt in job.attempts if attempt.ending] == [5, 5, 5]


def test_a_signal_between_two_attempts_ends_it(launcher: Any, client: Client, until: Any) -> None:
    process = launcher.start(launcher.python("raise SystemExit(5)"), name="job", restarts=2, restart_delay=50)
    until(lambda: client.jobs().total and client.job("job").state is State.RESTARTING)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 5
    job = client.job("job")
    assert (job.state, len(job.attempts)) == (State.FAILED, 1)


@pytest.fixture
def impatient(tmp_path: Path) -> Any:
    """A server that misses a runner after a second."""
    with live_server(tmp_path / "impatient", hub=HubSettings(heartbeat=0.2)) as server:
        yield server


def test_a_runner_that_is_killed_leaves_the_job_lost_and_the_training_going(
    launcher: Any, impatient: LiveServer, report: str, tmp_path: Path, until: Any
) -> None:
    done = tmp_path / "done"
    code = report + (
        "import pathlib\n"
        "report(1, 100); print('up', flush=True); sys.stdin.readline()\n"
        "print('still here', flush=True)\n"
        f"pathlib.Path({str(done)!r}).touch()"
    )
    environ = {"HEADWAY_URL": impatient.url, "HEADWAY_TOKEN": impatient.token}
    process = launcher.start(launcher.python(code), name="job", environ=environ, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "up\n"
    with Client(impatient.url, impatient.token) as client:
        until(lambda: client.job("job").progress.percent == 1)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
        until(lambda: client.job("job").state is State.LOST)
        process.stdin.write("\n")
        process.stdin.flush()
        until(done.exists)
        assert process.stdout.read() == "still here\n"
        assert Path(client.job("job").log or "").read_text() == "up\nstill here\n"
        spools = list((Path(launcher.environ["HEADWAY_HOME"]) / "state" / "spool").glob("*.jsonl"))
        assert len(spools) == 1, "what a killed runner kept stays for the next server"


def test_a_name_in_use_is_refused_with_a_hint_and_free_again_once_its_runner_is_gone(
    launcher: Any, impatient: LiveServer, until: Any
) -> None:
    environ = {"HEADWAY_URL": impatient.url, "HEADWAY_TOKEN": impatient.token}
    first = launcher.start(["sleep", "60"], name="job", environ=environ)
    with Client(impatient.url, impatient.token) as client:
        until(running(client))
        started = time.monotonic()
        second = launcher.run(["echo", "second"], name="job", environ=environ)
        assert (second.returncode, second.stdout) == (99, "")
        assert "--name" in second.stderr
        assert time.monotonic() - started > 5
        first.kill()
        third = launcher.run(["echo", "third"], name="job", environ=environ)
        assert (third.returncode, third.stdout) == (0, "third\n")
        assert len(client.job("job").attempts) == 2


def test_a_runner_that_is_suspended_suspends_the_command(launcher: Any, until: Any) -> None:
    process = launcher.start(
        launcher.python("import os; print(os.getpid(), flush=True); input()"), stdin=subprocess.PIPE
    )
    pids = [process.pid, int(process.stdout.readline())]

    def stopped() -> list[bool]:
        states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]
        return [state == "T" for state in states]

    process.send_signal(signal.SIGTSTP)
    until(lambda: all(stopped()))
    process.send_signal(signal.SIGCONT)
    until(lambda: not any(stopped()))
    process.communicate("\n", timeout=30)
    assert process.returncode == 0
