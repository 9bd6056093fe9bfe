"""The command as a process: exit codes, where words go, start-up. No server is needed for any of these."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.main import app


def headway(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headway.cli.main", *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_version_is_quick_and_loads_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['headway', '--version']\n"
        "from headway.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'httpx2', 'numpy', 'rich.live', 'litestar', 'msgspec'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[0].startswith("headway 0.")
    assert result.stdout.splitlines()[1] == "[]"


def test_version_costs_less_than_a_third_of_a_second() -> None:
    best = 9.0
    for _ in range(5):  # processor time, for the machine may be busy
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert headway("--version").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert best < 0.3


@pytest.mark.parametrize(
    "command",
    [["ls"], ["ls", "--json"], ["show", "x"], ["watch"], ["watch", "x"], ["logs", "x"], ["stop", "x"], ["rm", "x"]],
    ids=" ".join,
)
def test_no_server_is_exit_code_4_and_says_what_to_do(command: list[str]) -> None:
    result = headway(*command)
    assert result.returncode == 4
    assert result.stdout == ""
    assert result.stderr.startswith("headway: ")
    assert "headway server start" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "command",
    [["nonsense"], ["ls", "--nonsense"], ["ls", "--sort", "colour"], ["ls", "--state", "Asleep"], ["show"], ["run"]],
    ids=" ".join,
)
def test_misuse_is_exit_code_2(command: list[str]) -> None:
    result = headway(*command)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_help_names_every_command() -> None:
    text = headway("--help", COLUMNS="120").stdout
    for name in (
        "run",
        "ls",
        "watch",
        "show",
        "logs",
        "checkpoint",
        "pause",
        "resume",
        "stop",
        "rm",
        "server",
        "doctor",
        "demo",
    ):
        assert f" {name} " in text


def test_server_status_without_one() -> None:
    result = headway("server", "status", "--json")
    assert result.returncode == 4
    assert json.loads(result.stdout)["running"] is False
    assert headway("server", "stop").stdout == "no server was running\n"


def test_doctor(tmp_path: Path) -> None:
    well = headway("doctor")
    assert well.returncode == 0, well.stdout
    assert "\x1b" not in well.stdout
    assert all(line.startswith(("ok ", "warn ", "fail ", " ")) for line in well.stdout.splitlines())
    ill = headway("doctor", "--json", HEADWAY_CA_FILE=str(tmp_path / "none"))
    assert ill.returncode == 1
    assert [each["subject"] for each in json.loads(ill.stdout) if each["level"] == "fail"] == ["HEADWAY_CA_FILE"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "headway.cli.main", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    code = process.wait(30)
    said = process.stderr.read()
    process.stderr.close()
    assert (code, said) == (141, b"")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--price-per-hour", "inf"], "inf is not a finite number"),
        (["--stall-floor", "inf"], "inf is not a finite number"),
        (["--on-condition", "no-such-notifier --now"], "'no-such-notifier' is no program"),
        (["--on-condition", "notify 'me"], "No closing quotation"),
    ],
    ids=lambda each: each[0].removeprefix("--") if isinstance(each, list) else "",
)
def test_a_run_with_an_option_of_no_use_does_not_begin(options: list[str], said: str) -> None:
    """Hours later nobody would look for it."""
    result = CliRunner().invoke(app, ["run", *options, "--", "true"], terminal_width=200)
    assert result.exit_code == 2
    assert said in result.stderr
