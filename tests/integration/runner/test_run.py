"""A command behind the runner behaves as it would without: exit codes, output, input, what it leaves behind."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import State
from headway.protocol.report import EndingKind


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_kept(launcher: Any, client: Client, code: int) -> None:
    result = launcher.run(launcher.python(f"raise SystemExit({code})"), name="job")
    assert result.returncode == code
    job = client.job("job")
    assert job.state is (State.COMPLETE if code == 0 else State.FAILED)
    assert job.ending is not None
    assert job.ending.exit_code == code
    assert job.ending.kind is (EndingKind.COMPLETED if code == 0 else EndingKind.FAILED)


def test_a_signal_is_told_by_its_name_and_as_a_shell_would(launcher: Any, client: Client) -> None:
    code = "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGSEGV)"
    result = launcher.run(launcher.python(code), name="job")
    assert result.returncode == 128 + signal.SIGSEGV
    ending = client.job("job").ending
    assert ending is not None
    assert (ending.kind, ending.signal, ending.exit_code) == (EndingKind.FAILED, "SIGSEGV", 139)
    assert ending.log_tail == ("last words",)


def test_a_failure_says_where_and_with_what(launcher: Any, client: Client, report: str) -> None:
    code = (
        report + "for step in range(1, 401): step % 50 or report(step, 1000)\nprint('out of luck')\nraise SystemExit(7)"
    )
    assert launcher.run(launcher.python(code), name="job").returncode == 7
    job = client.job("job")
    assert job.summary == "Failed at 40 %"
    assert job.ending is not None
    assert (job.ending.exit_code, job.ending.step, job.ending.log_tail) == (7, 400, ("out of luck",))


def test_a_job_that_never_reports_invents_no_progress(launcher: Any, client: Client, until: Callable[..., Any]) -> None:
    process = launcher.start(launcher.python("input()"), name="job", stdin=subprocess.PIPE)
    until(lambda: client.jobs().total and client.job("job").state is State.RUNNING)
    assert client.job("job").progress.percent is None
    process.communicate("\n", timeout=30)
    job = client.job("job")
    assert (job.state, job.progress.percent, job.summary) == (State.COMPLETE, None, "Complete")


def test_a_command_that_cannot_be_started_is_what_a_shell_says(launcher: Any, client: Client, tmp_path: Path) -> None:
    result = launcher.run(["no-such-program-here"])
    assert (result.returncode, "no such command" in result.stderr) == (127, True)
    script = tmp_path / "train.py"
    script.write_text("print('hello')")
    result = launcher.run([str(script)])
    assert (result.returncode, f"python {script}" in result.stderr) == (126, True)
    script.chmod(0o755)
    script.write_text("#!/no/such/interpreter\n")
    result = launcher.run([str(script)], name="job")
    assert result.returncode == 127
    assert client.job("job").summary.startswith("Failed")
    assert client.jobs().total == 1


def test_both_streams_arrive_whole_and_apart(launcher: Any, client: Client, tmp_path: Path) -> None:
    code = (
        "import os, threading\n"
        "def write(number, byte):\n"
        "    for index in range(400): os.write(number, bytes([byte]) * 9999 + b'\\n')\n"
        "threads = [threading.Thread(target=write, args=each) for each in ((1, 65), (2, 66))]\n"
        "[each.start() for each in threads]; [each.join() for each in threads]\n"
        "os.write(1, bytes(range(256)))"
    )
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        assert launcher.start(launcher.python(code), name="job", quiet=True, stdout=out, stderr=err).wait(60) == 0
    expected = (b"A" * 9999 + b"\n") * 400 + bytes(range(256))
    assert hashlib.sha256((tmp_path / "out").read_bytes()).digest() == hashlib.sha256(expected).digest()
    assert (tmp_path / "err").read_bytes() == (b"B" * 9999 + b"\n") * 400
    log = Path(client.job("job").log or "").read_bytes()
    assert len(log) == len(expected) + 400 * 10000
    assert log.count(b"A") == 400 * 9999 + 1


def test_output_is_not_held_back(launcher: Any) -> None:
    process = launcher.start(launcher.python("print('now', flush=True); input()"), stdin=subprocess.PIPE)
    assert process.stdout.readline() == "now\n"
    process.communicate("\n", timeout=30)
    assert process.returncode == 0


def test_streams_that_went_to_one_place_keep_their_order(launcher: Any, tmp_path: Path) -> None:
    code = "import os\nfor index in range(200): os.write(1 + index % 2, b'%d\\n' % index)"
    with (tmp_path / "both").open("wb") as both:
        process = launcher.start(launcher.python(code), quiet=True, stdout=both, stderr=both)
        assert process.wait(60) == 0
    assert (tmp_path / "both").read_text().split() == [str(index) for index in range(200)]


def test_a_terminal_stays_a_terminal(launcher: Any, client: Client) -> None:
    leader, follower = os.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    code = (
        "import os, sys\nprint(os.isatty(1), os.isatty(2), *os.get_terminal_size(1))\nsys.stdout.flush()\n"
        "sys.stderr.write('\\rstep 1\\rstep 2\\x1b[0m\\n')"
    )
    process = launcher.start(launcher.python(code), name="job", quiet=True, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 4096):
            shown += piece
    except OSError:  # the terminal's last user is gone
        pass
    os.close(leader)
    assert process.wait(30) == 0
    assert shown == b"True True 77 33\r\n\rstep 1\rstep 2\x1b[0m\r\n"
    assert Path(client.job("job").log or "").read_bytes() == b"True True 77 33\n\rstep 1\rstep 2\x1b[0m\n"
    ending = client.job("job").ending
    assert ending is not None
    assert ending.log_tail == ("True True 77 33", "step 2")


def test_a_reader_that_has_had_enough_ends_the_command_as_without_a_runner(launcher: Any) -> None:
    process = launcher.start(["yes"], name="job")
    assert process.stdout.readline() == "y\n"
    process.stdout.close()
    assert process.wait(30) == 128 + signal.SIGPIPE


def test_processes_left_behind_neither_hold_up_the_runner_nor_lose_their_output(
    launcher: Any, client: Client, tmp_path: Path, until: Callable[..., Any]
) -> None:
    gate, done = tmp_path / "gate", tmp_path / "done"
    code = (
        "import os, pathlib, sys, time\n"
        f"gate, done = pathlib.Path({str(gate)!r}), pathlib.Path({str(done)!r})\n"
        "if os.fork(): print('parent ends', flush=True); os._exit(5)\n"
        "os.setsid()\n"
        "while not gate.exists(): time.sleep(0.02)\n"
        "print('late words', flush=True); done.touch()"
    )
    process = launcher.start(launcher.python(code), name="job", quiet=True)
    started = time.monotonic()
    assert process.wait(30) == 5
    assert time.monotonic() - started < 20
    assert client.job("job").state is State.FAILED
    gate.touch()
    until(done.exists)
    assert process.stdout.read() == "parent ends\nlate words\n"
    assert Path(client.job("job").log or "").read_text() == "parent ends\nlate words\n"


def test_input_reaches_the_command(launcher: Any) -> None:
    process = launcher.start(["cat"], stdin=subprocess.PIPE)
    assert process.communicate("one\ntwo\n", timeout=30)[0] == "one\ntwo\n"


def test_the_environment_is_the_users_plus_what_finds_the_relay(launcher: Any, server: Any) -> None:
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    extra = {
        "MINE": "1",
        "KUBEFLOW_TRAINER_SERVER_CA_CERT": "/none",
        "http_proxy": "http://127.0.0.1:9",
        "NO_PROXY": "example.com",
    }
    result = launcher.run(launcher.python(code), name="a/b c", environ=extra)
    given = json.loads(result.stdout)
    assert given["MINE"] == "1"
    assert given["HEADWAY_JOB"] == "local/a%2Fb%20c"
    assert given["HEADWAY_URL"] != server.url
    assert given["HEADWAY_TOKEN"] != server.token
    assert given["KUBEFLOW_TRAINER_SERVER_URL"].startswith(given["HEADWAY_URL"] + "/apis/")
    assert "KUBEFLOW_TRAINER_SERVER_CA_CERT" not in given
    assert given["no_proxy"] == "example.com,127.0.0.1"
    assert not Path(given["KUBEFLOW_TRAINER_SERVER_TOKEN"]).exists(), "it goes with the runner"
    untouched = {name for name in given if not name.startswith(("HEADWAY_", "KUBEFLOW_"))} - set(launcher.environ)
    assert untouched <= {
        "MINE",
        "http_proxy",
        "NO_PROXY",
        "no_proxy",
        "LC_CTYPE",
        "PYTHONPATH",
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
    }
    assert (given["HEADWAY_GRACE"], given["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"]) == ("30", "30")


def test_the_grace_is_the_users_own(launcher: Any) -> None:
    names = ("HEADWAY_GRACE", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT")
    code = f"import os; print(*(os.environ[name] for name in {names}))"
    for extra, expected in (
        ({"HEADWAY_GRACE": "90"}, "90 90"),
        ({"HEADWAY_GRACE": "90", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "60"}, "90 60"),
    ):
        assert launcher.run(launcher.python(code), environ=extra).stdout.split() == expected.split()


def test_headway_disabled_leaves_only_the_command(launcher: Any, client: Client) -> None:
    result = launcher.run(launcher.python("print('hello')"), environ={"HEADWAY_DISABLED": "1"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "hello\n", "")
    assert client.jobs().total == 0


def test_a_runner_within_a_runner_leaves_the_tracking_to_the_outer_one(launcher: Any, client: Client) -> None:
    inner = launcher.itself([sys.executable, "-c", "raise SystemExit(4)"], name="inner")
    assert launcher.run(inner, name="outer").returncode == 4
    assert [job.name for job in client.iter_jobs()] == ["outer"]


def test_names_are_counted_up_and_a_name_that_is_given_is_the_jobs_next_attempt(launcher: Any, client: Client) -> None:
    command = launcher.python("pass")
    for _ in range(3):
        assert launcher.run(command).returncode == 0
    stem = Path(sys.executable).stem
    assert {job.name for job in client.iter_jobs()} == {stem, f"{stem}-2", f"{stem}-3"}
    for _ in range(2):
        assert launcher.run(command, name="mine").returncode == 0
    assert len(client.job("mine").attempts) == 2


def test_old_logs_are_cleared_away_beside_the_command(launcher: Any, folders: Any, until: Any) -> None:
    folders.logs.mkdir(parents=True)
    old = folders.logs / "old.log"
    old.write_text("long ago")
    os.utime(old, (0, 0))
    result = launcher.run(["sleep", "1"], name="job", environ={"HEADWAY_LOGS_MAX_DAYS": "many"})
    assert "HEADWAY_LOGS_MAX_DAYS is 'many'" in result.stderr
    assert old.exists()
    assert (
        launcher.run(
            ["sh", "-c", f"for i in $(seq 100); do [ -e {old} ] || exit 0; sleep 0.1; done; exit 1"]
        ).returncode
        == 0
    )
    assert len(list(folders.logs.glob("*.log"))) == 2
