"""A server that the environment names: away at the start, behind a token, shared by the nodes of a Slurm job."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from headway.client.client import Client
from headway.client.local_server import server_status
from headway.protocol.job import State
from headway.testing.live import live_server

WAITING = (
    "import pathlib, time\n"
    "gate = pathlib.Path(sys.argv[1])\n"
    "for step in range(1, 21):\n"
    "    report(step, 20)\n"
    "    if step == 10:\n"
    "        print('half', flush=True)\n"
    "        while not gate.exists(): time.sleep(0.02)\n"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_comes_later_hears_everything(
    alone: Any, folders: Any, report: str, tmp_path: Path, until: Any
) -> None:
    port, gate = free_port(), tmp_path / "gate"
    token = tmp_path / "token"
    token.write_text("not yet known")
    environ = {"HEADWAY_URL": f"http://127.0.0.1:{port}", "HEADWAY_TOKEN_FILE": str(token)}
    process = alone.start(alone.python(report + WAITING, str(gate)), name="job", environ=environ, restarts=1)
    assert process.stdout.readline() == "half\n"
    with live_server(tmp_path / "late", port=port) as server, Client(server.url, server.token) as client:
        token.write_text(server.token + "\n")
        until(lambda: client.jobs().total and client.job("job").progress.step == 10)
        gate.touch()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "cannot be reached" in err
        assert server.token not in err
        job = client.job("job")
        assert (job.state, job.progress.percent, len(job.attempts)) == (State.COMPLETE, 100, 1)
        (series,) = client.series("job", "loss")
        assert [point.step for point in series.points] == list(range(1, 21))
        times = [point.t for point in series.points]
        assert times[-1] - times[9] > 0.02, "what waited is not told as of when it arrived"
    assert list(folders.spool.glob("*.jsonl")) == []
    assert server_status(folders).running is False, "where a server is named, none is started here"


def test_a_token_that_opens_nothing_is_said_and_the_command_runs(launcher: Any, client: Client) -> None:
    environ = {"HEADWAY_TOKEN": "wrong", "HEADWAY_FINISH_TIMEOUT": "0.2"}
    result = launcher.run(["echo", "trained"], name="job", environ=environ)
    assert (result.returncode, result.stdout) == (0, "trained\n")
    assert "local/job is not shown anywhere yet" in result.stderr
    assert client.jobs().total == 0


def test_a_setting_that_makes_no_sense_is_said_and_the_command_runs(launcher: Any) -> None:
    result = launcher.run(["echo", "trained"], environ={"HEADWAY_URL": "localhost:4321"})
    assert (result.returncode, result.stdout) == (0, "trained\n")
    assert "this run is not tracked" in result.stderr
    assert "localhost:4321" in result.stderr


def test_folders_that_cannot_be_written_are_replaced(
    launcher: Any, client: Client, report: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    environ = {"HEADWAY_HOME": str(tmp_path / "file" / "home"), "TMPDIR": str(tmp_path)}
    result = launcher.run(launcher.python(report + "report(1, 2)\nprint('trained')"), name="job", environ=environ)
    assert (result.returncode, result.stdout) == (0, "trained\n")
    job = client.job("job")
    assert (job.state, job.progress.step) == (State.COMPLETE, 1)
    assert str(tmp_path) in (job.log or "")
    assert "files of this run are kept in" in result.stderr


def test_the_nodes_of_a_slurm_job_share_one_job_and_one_attempt(
    launcher: Any, client: Client, report: str, tmp_path: Path, until: Any
) -> None:
    gate = tmp_path / "gate"
    code = report + (
        "import pathlib, time\n"
        "if os.environ['SLURM_PROCID'] == '0': report(1, 2)\n"
        "print(os.environ['HEADWAY_ATTEMPT'], flush=True)\n"
        f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.02)\n"
    )
    script = tmp_path / "train.py"
    script.write_text(code)
    nodes = []
    for node in range(2):
        slurm = {"SLURM_JOB_ID": "77", "SLURM_RESTART_COUNT": "1", "SLURM_NNODES": "2", "SLURM_PROCID": str(node)}
        nodes.append(launcher.start([*launcher.python("")[:1], str(script)], environ=slurm, devices=16))
        assert nodes[-1].stdout.readline() == "slurm-77-1\n"
    until(lambda: client.job("train-77").progress.step == 1)
    gate.touch()
    assert [node.wait(60) for node in nodes] == [0, 0]
    job = client.job("train-77")
    assert (job.state, len(job.attempts), job.spec.nodes, job.spec.devices_per_node) == (State.COMPLETE, 1, 2, 8)
    assert client.jobs().total == 1
