"""The commands against a real server and real jobs."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

LOOP = """
import sys, time, headway
run = headway.track(total_steps=int(sys.argv[1]), config={"lr": 0.1, "note": "[bold]x"}, total_epochs=2)
for step in range(int(sys.argv[1])):
    run.step(loss=1 / (step + 1), grad_norm=0.5, learning_rate=1e-3)
    run.set_epoch(2 * (step + 1) / int(sys.argv[1]))
    time.sleep(float(sys.argv[2]))
print("all done", "\\x1b[2J", "\\x1b[31mred\\x1b[0m")
"""
HOSTILE = "[red]x[/red]\x1b[2J"


def loop(steps: int, seconds: float) -> list[str]:
    return [sys.executable, "-c", LOOP, str(steps), str(seconds)]


@pytest.fixture(scope="module")
def ended(headway: Any) -> Any:
    """A home with jobs that have ended: one well, one badly, one with a hostile name."""
    assert (
        headway("run", "--name", "well", "--tag", "t1", "--price-per-hour", "55", "--", *loop(20, 0.05)).returncode == 0
    )
    script = "import sys; print('a line'); print('the end', file=sys.stderr); sys.exit(7)"
    assert headway("run", "--name", "badly", "--", sys.executable, "-c", script).returncode == 7
    assert headway("run", "--name", HOSTILE, "--", *loop(3, 0.01)).returncode == 0
    return headway


def test_run_starts_a_server_by_itself(ended: Any) -> None:
    status = json.loads(ended("server", "status", "--json").stdout)
    assert status["running"]
    assert status["ready"]
    assert status["jobs"] >= 3
    assert "already runs" in ended("server", "start").stdout


def test_address_and_token_for_another_machine(ended: Any, tmp_path: Path) -> None:
    address, token = ended("server", "address"), ended("server", "token")
    assert (address.returncode, token.returncode) == (0, 0)
    assert "mode 0600" in token.stderr
    assert len(token.stdout.split()) == 1
    far = {"HEADWAY_HOME": str(tmp_path), "HEADWAY_URL": address.stdout.strip(), "HEADWAY_TOKEN": token.stdout.strip()}
    assert "well" in ended("ls", **far).stdout
    for command in ("address", "token"):
        nothing = ended("server", command, HEADWAY_HOME=str(tmp_path))
        assert (nothing.returncode, nothing.stdout) == (4, "")
        assert "headway server start" in nothing.stderr


def test_ls(ended: Any) -> None:
    text = ended("ls").stdout
    header, *rows = text.splitlines()
    # One of the jobs has a price, so what was spent is shown.
    assert header.split() == ["NAME", "STATE", "VERDICT", "PROGRESS", "ETA", "STEP", "LOSS", "SPENT", "AGE", "UPDATED"]
    row = next(each for each in rows if each.startswith("well"))
    assert row[header.index("STATE") :].startswith("Complete")
    assert row[header.index("PROGRESS") :].startswith("100 %")
    assert row[header.index("STEP") :].startswith("20/20")
    assert "\x1b" not in text
    assert "[red]x[/red]\\x1b[2J" in text


def test_ls_filters_and_json(ended: Any) -> None:
    jobs = json.loads(ended("ls", "--json").stdout)
    assert {job["name"] for job in jobs} >= {"well", "badly", HOSTILE}
    assert [job["name"] for job in json.loads(ended("ls", "--json", "--state", "failed").stdout)] == ["badly"]
    assert [job["name"] for job in json.loads(ended("ls", "--json", "--tag", "t1").stdout)] == ["well"]
    assert len(json.loads(ended("ls", "--json", "--limit", "2").stdout)) == 2
    assert ended("ls", "-A").stdout.startswith("NAMESPACE")
    other = ended("ls", "-n", "elsewhere")
    assert (other.returncode, other.stdout) == (0, "")
    assert "headway ls -A" in other.stderr


def test_show(ended: Any) -> None:
    text = ended("show", "well").stdout
    for words in ("Complete", "20/20", "lr", "learning_rate", "$55 an hour"):
        assert words in text
    document = ended.job("well")
    assert document["state"] == "Complete"
    assert document["progress"]["percent"] == 100
    assert document["history"]["loss"][-1][0] == 20
    assert document["config"]["note"] == "[bold]x"
    failed = ended("show", "badly").stdout
    assert "exit code      7" in failed
    assert "the end" in failed


def test_a_hostile_name_does_nothing(ended: Any) -> None:
    for command in (["ls"], ["show", HOSTILE], ["logs", HOSTILE], ["watch", HOSTILE]):
        result = ended(*command, FORCE_COLOR="1", COLUMNS="100")
        assert result.returncode == 0, result.stderr
        assert "\x1b[2J" not in result.stdout + result.stderr, command


def test_logs(ended: Any) -> None:
    assert (
        ended("logs", "badly").stdout.splitlines()[-2:] == ["a line", "the end"]
        or "the end" in ended("logs", "badly").stdout
    )
    assert "all done \\x1b[2J red" in ended("logs", "well").stdout
    assert ended("logs", "well", "--tail", "1").stdout.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "logs", "stop", "rm", "watch"])
def test_no_such_job_is_exit_code_3(ended: Any, command: str) -> None:
    result = ended(command, "nobody")
    assert result.returncode == 3
    assert "nobody" in result.stderr
    assert result.stdout == ""


def test_follow_stop_and_remove(headway: Any) -> None:
    runner = headway.start("run", "--name", "long", "--", *loop(4000, 0.05))
    headway.until("long", lambda job: (job["progress"].get("step") or 0) > 10)
    refused = headway("rm", "long")
    assert refused.returncode == 1
    assert "headway stop long" in refused.stderr
    watcher = headway.start("watch", "long")
    follower = headway.start("logs", "long", "-f")
    stopped = headway("stop", "long", "--grace", "5")
    assert stopped.returncode == 0, stopped.stderr
    assert "Stopped" in stopped.stdout
    assert runner.wait(20) != 0
    assert headway.job("long")["state"] == "Stopped"
    assert watcher.wait(20) == 0, "a watch ends with its job"
    assert "Stopped" in headway.said(watcher)
    assert follower.wait(20) == 0
    assert headway("rm", "long").stdout == "local/long removed\n"
    assert headway("show", "long").returncode == 3


def terminal(headway: Any, *arguments: str, interrupt: bytes | None = None) -> tuple[int, str]:
    """Runs a command on a pseudo-terminal, until Ctrl-C once it has drawn ``interrupt``; its exit code and all that it drew."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headway.cli.main", *arguments],
        env={**headway.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "30"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    drawn = b""
    end = time.monotonic() + 80
    asked = False
    while time.monotonic() < end:
        if interrupt is not None and not asked and interrupt in drawn:
            asked = True
            process.send_signal(signal.SIGINT)
        if select.select([leader], [], [], 0.1)[0]:
            try:
                drawn += os.read(leader, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    os.close(leader)
    return process.wait(10), drawn.decode("utf-8", "replace")


def test_watch_on_a_terminal(headway: Any) -> None:
    runner = headway.start("run", "--name", "seen", "--", *loop(100, 0.05))
    headway.until("seen", lambda job: (job["progress"].get("step") or 0) > 10)
    code, drawn = terminal(headway, "watch", "seen")
    assert code == 0
    for words in ("ETA", "step", "loss", "grad norm", "learning rate", "epoch", "━", "Complete"):
        assert words in drawn, words
    assert runner.wait(20) == 0
    code, drawn = terminal(headway, "watch", interrupt=b"seen")
    assert code == 130, "Ctrl-C"
    assert "seen" in drawn
    assert "Traceback" not in drawn
    assert drawn.rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in drawn, "the cursor is shown again"


def test_no_color_is_heeded(ended: Any) -> None:
    assert "\x1b[3" in ended("ls", FORCE_COLOR="1", COLUMNS="120").stdout
    assert "\x1b[3" not in ended("ls", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="120").stdout


def test_a_terminal_without_the_letters(headway: Any) -> None:
    assert headway("run", "--name", "naïve 日本", "--", "true").returncode == 0
    for encoding in ("ascii", "latin-1"):
        result = headway("ls", PYTHONIOENCODING=encoding, FORCE_COLOR="1", COLUMNS="120", PYTHONUTF8="0")
        assert result.returncode == 0, result.stderr
        assert "\\u65e5" in result.stdout
