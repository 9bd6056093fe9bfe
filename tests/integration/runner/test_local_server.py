"""The server of this machine: started when needed, once, brought back when it dies, left alone when it was stopped."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.client.client import Client
from headway.client.local_server import ensure_server, server_log, server_status, stop_server
from headway.errors import SettingsError, UnavailableError
from headway.protocol.job import State
from headway.reporter.discovery import ServerRecord, read_record
from headway.reporter.folders import Folders

TRAINING = (
    "import pathlib, time\n"
    "go_on = pathlib.Path(sys.argv[1])\n"
    "for step in range(1, 41):\n"
    "    report(step, 40, loss=step / 100)\n"
    "    if step == 20:\n"
    "        print('half', flush=True)\n"
    "        while not go_on.exists(): time.sleep(0.02)\n"
)


def points(folders: Folders, name: str = "job") -> list[int]:
    with Client(folders=folders) as client:
        (series,) = client.series(name, "loss")
        return [point.step for point in series.points]


def kill_server(folders: Folders) -> int:
    record = read_record(folders.server_record)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    return record.pid


def test_runners_that_start_at_once_start_one_server(alone: Any, folders: Folders) -> None:
    processes = [alone.start(alone.python("pass"), name=f"job-{index}") for index in range(3)]
    assert [process.wait(90) for process in processes] == [0, 0, 0]
    assert server_log(folders).read_text().count("listening on") == 1
    with Client(folders=folders) as client:
        assert {(job.name, job.state) for job in client.iter_jobs()} == {(f"job-{i}", State.COMPLETE) for i in range(3)}


def test_a_server_outlives_its_runner_and_ends_when_it_is_told(alone: Any, folders: Folders) -> None:
    assert server_status(folders).running is False
    assert stop_server(folders) is False
    assert alone.run(alone.python("pass"), name="job").returncode == 0
    status = server_status(folders)
    assert (status.running, status.ready, status.version) == (True, True, headway.__version__)
    assert os.getsid(status.pid or 0) == status.pid
    assert stop_server(folders) is True
    assert server_status(folders).running is False
    assert stop_server(folders) is False


def test_a_server_that_dies_is_brought_back_and_nothing_is_lost(
    alone: Any, folders: Folders, report: str, tmp_path: Path, until: Any
) -> None:
    go_on = tmp_path / "go-on"
    process = alone.start(alone.python(report + TRAINING, str(go_on)), name="job")
    assert process.stdout.readline() == "half\n"
    before = kill_server(folders)
    until(lambda: server_status(folders).ready and server_status(folders).pid != before)
    go_on.touch()
    assert process.wait(60) == 0
    assert points(folders) == list(range(1, 41))
    with Client(folders=folders) as client:
        job = client.job("job")
    assert (job.state, job.progress.percent, len(job.attempts)) == (State.COMPLETE, 100, 1)
    assert list(folders.spool.glob("*.jsonl")) == []


def test_a_server_that_was_stopped_is_left_alone_and_hears_everything_once_later(
    alone: Any, folders: Folders, environ: dict[str, str], report: str, tmp_path: Path, until: Any
) -> None:
    go_on = tmp_path / "go-on"
    process = alone.start(
        alone.python(report + TRAINING + "print('out of luck')\nsys.exit(3)", str(go_on)),
        name="job",
        environ={"HEADWAY_FINISH_TIMEOUT": "0.5"},
    )
    assert process.stdout.readline() == "half\n"
    stop_server(folders)
    go_on.touch()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "kept in" in err
    assert server_status(folders).running is False
    (spool,) = folders.spool.glob("*.jsonl")
    kept = spool.read_bytes()

    ensure_server(folders, environ=environ)
    until(lambda: not spool.exists())
    with Client(folders=folders) as client:
        job = client.job("job")
        assert (job.state, job.summary) == (State.FAILED, "Failed at 99 %")
        assert job.ending is not None
        assert (job.ending.exit_code, job.ending.log_tail[-1]) == (3, "out of luck")
    assert points(folders) == list(range(1, 41))

    (folders.spool / "again.jsonl").write_bytes(kept)  # as when a server dies before it can delete what it has taken in
    until(lambda: not (folders.spool / "again.jsonl").exists())
    assert points(folders) == list(range(1, 41))
    with Client(folders=folders) as client:
        assert len(client.job("job").attempts) == 1


def test_a_server_that_cannot_start_is_said_and_the_command_runs(alone: Any, folders: Folders) -> None:
    broken = {"HEADWAY_SERVER_PORT": "no-port"}
    result = alone.run(alone.python("print('trained'); raise SystemExit(6)"), name="job", environ=broken)
    assert (result.returncode, result.stdout) == (6, "trained\n")
    assert "the server ended at once with exit code 2" in result.stderr
    assert "HEADWAY_SERVER_PORT" in result.stderr


def test_why_a_server_died_at_once_is_told(folders: Folders, environ: dict[str, str]) -> None:
    with pytest.raises(UnavailableError, match="HEADWAY_SERVER_PORT"):
        ensure_server(folders, environ={**environ, "HEADWAY_SERVER_PORT": "-1"})


def test_many_threads_get_the_same_server(folders: Folders, environ: dict[str, str]) -> None:
    records: list[ServerRecord] = []
    threads = [
        threading.Thread(target=lambda: records.append(ensure_server(folders, environ=environ))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len(records) == 4
        assert len({record.pid for record in records}) == 1
    finally:
        stop_server(folders)


def test_a_record_that_others_can_read_is_not_trusted(folders: Folders, environ: dict[str, str]) -> None:
    ensure_server(folders, environ=environ)
    folders.server_record.chmod(0o644)
    try:
        with pytest.raises(SettingsError, match="can be read or changed by others"):
            ensure_server(folders, environ=environ)
    finally:
        folders.server_record.chmod(0o600)
        stop_server(folders)


@pytest.fixture
def bare_python(tmp_path: Path) -> list[str]:
    """A Python that has Headway and its client, but nothing that a server needs."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "headway").symlink_to(Path(headway.__file__).parent)
    wanted, seen = ["httpx2"], set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or []:
            top = file.parts[0]
            if not top.startswith("..") and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution.locate_file(top))))
        for requirement in distribution.requires or []:
            if "extra ==" not in requirement:
                bare = requirement.split(";")[0].strip()
                each = "".join(char if char.isalnum() or char in "-_." else " " for char in bare).split()[0]
                try:
                    importlib.metadata.distribution(each)
                except importlib.metadata.PackageNotFoundError:
                    continue
                wanted.append(each)
    return [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(site)!r}); "]


def test_without_the_server_extra_the_command_runs_and_its_reports_are_kept(
    bare_python: list[str], alone: Any, folders: Folders, environ: dict[str, str], report: str, until: Any
) -> None:
    *python, prepare = bare_python
    training = report + "for step in range(1, 6): report(step, 10)\nsys.exit(3)"
    code = prepare + (
        "from headway.runner import run, RunRequest; "
        "sys.exit(run(RunRequest(command=(sys.executable, '-c', sys.argv[1]), name='job')))"
    )
    result = subprocess.run(
        [*python, code, training],
        env={**environ, "HEADWAY_FINISH_TIMEOUT": "0.2"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 3, result.stderr
    assert "pip install 'headway[server]'" in result.stderr
    assert len([line for line in result.stderr.splitlines() if "pip install" in line]) == 1
    assert len(list(folders.spool.glob("*.jsonl"))) == 1
    ensure_server(folders, environ=environ)
    with Client(folders=folders) as client:
        until(lambda: client.jobs().total and client.job("job").state is State.FAILED)
        job = client.job("job")
    assert (job.summary, job.progress.step) == ("Failed at 50 %", 5)
    assert job.ending is not None
    assert job.ending.exit_code == 3


def test_where_no_folder_can_be_had_a_run_says_where_its_reports_are(launcher: Any, tmp_path: Path) -> None:
    home, aside = tmp_path / "home", tmp_path / "aside"
    home.write_text("a file where a folder should be", encoding="utf-8")
    aside.mkdir()
    environ = {"HEADWAY_HOME": str(home), "TMPDIR": str(aside), "HEADWAY_URL": ""}
    result = launcher.run(launcher.python("print('trained')"), environ=environ)
    assert (result.returncode, result.stdout) == (0, "trained\n")
    (kept,) = aside.glob("headway-*/state/spool")
    assert f"kept in {kept} until you move it to {home / 'state' / 'spool'}" in result.stderr
