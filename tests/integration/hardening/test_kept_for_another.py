"""Reports kept for a server elsewhere: no server of this machine takes them, and they get there in the end, once."""

from __future__ import annotations

import pytest

from headway import Client
from headway.cli.checks import Level
from headway.cli.checks.servers import spooled
from headway.errors import NotFoundError
from headway.reporter.transports.spool import read_spool
from headway.runner.relay.leftovers import waiting
from headway.testing import live_server

TRAIN = """
    import headway
    run = headway.track(20)
    for step in range(20):
        run.step(loss=1.0 / (step + 1))
    run.finish()
"""
RUN = """
    import sys
    from headway.runner.request import RunRequest
    from headway.runner.run import run
    sys.exit(run(RunRequest(command=(sys.executable, "-c", sys.argv[2]), name=sys.argv[1])))
"""
REPORT = "import headway; run = headway.track(20); [run.step() for _ in range(20)]; run.finish()"


def steps_of(client: Client, name: str) -> list[int]:
    return [point.step for series in client.series(name, "loss") for point in series.points]


@pytest.fixture
def elsewhere(tmp_path):
    """Address and token of a server that is away, and the folder it comes back in."""
    with live_server(tmp_path / "elsewhere") as server:
        return server.url, server.token, int(server.url.rpartition(":")[2])


def test_a_server_here_leaves_them_and_the_one_named_takes_them(make_home, elsewhere, tmp_path, until):
    url, token, port = elsewhere
    home = make_home()
    environ = {"HEADWAY_URL": url + "/", "HEADWAY_TOKEN": token, "HEADWAY_FINISH_TIMEOUT": "0.2"}
    assert home.script(TRAIN, HEADWAY_JOB="local/by-itself", **environ).wait(60) == 0
    assert home.script(RUN, "by-runner", REPORT, **environ).wait(60) == 0
    files = sorted(home.folders.spool.glob("*.jsonl"))
    assert {read_spool(path)[0].server for path in files} == {url}

    # A file of this machine's own shows when the local server has looked through the folder.
    assert home.script(TRAIN.replace("track(20)", "track(20, name='own')")).wait(60) == 0
    home.server()
    with Client(folders=home.folders) as here:
        until(lambda: [job.name for job in here.jobs().items] == ["own"])
        for name in ("by-itself", "by-runner"):
            with pytest.raises(NotFoundError):
                here.job(name)
    assert sorted(home.folders.spool.glob("*.jsonl")) == files
    (check,) = spooled(home.folders)
    assert check.level is Level.WARN
    assert url in check.text

    with live_server(tmp_path / "elsewhere", port=port), Client(url, token) as there:
        # The next run that talks to that server brings along what lies there.
        third = home.script(
            RUN, "third", REPORT + "; import time; time.sleep(30)", HEADWAY_URL=url, HEADWAY_TOKEN=token
        )
        until(lambda: waiting(home.folders.spool, url) == [])
        until(lambda: {job.name for job in there.jobs().items} == {"by-itself", "by-runner", "third"})
        for name in ("by-itself", "by-runner"):
            job = until(lambda name=name: (job := there.job(name)).state == "Complete" and job)
            assert (job.progress.step, job.progress.percent) == (20, 100)
            assert len(job.attempts) == 1
        assert steps_of(there, "by-itself") == sorted(set(steps_of(there, "by-itself")))
        third.terminate()
        third.wait(60)
    assert list(spooled(home.folders)) == []


def test_a_server_that_was_named_by_its_own_address_takes_them_under_another_port(make_home, until):
    home = make_home()
    process, record = home.server()
    process.kill()
    process.wait()
    environ = {"HEADWAY_URL": record.url, "HEADWAY_TOKEN": record.token, "HEADWAY_JOB": "local/job"}
    assert home.script(TRAIN, HEADWAY_FINISH_TIMEOUT="0.2", **environ).wait(60) == 0
    _, again = home.server()
    assert again.url != record.url
    with Client(folders=home.folders) as client:
        until(lambda: any(job.name == "job" and job.state == "Complete" for job in client.jobs().items))


def test_a_process_that_outlives_its_runner_keeps_reports_for_the_server_behind_the_relay(make_home, elsewhere, until):
    url, token, _ = elsewhere
    home = make_home()
    code = (
        "import os, time, headway; run = headway.track(20); open(os.environ['PID_FILE'], 'w').write(str(os.getppid()))\n"
        "while os.getppid() == int(open(os.environ['PID_FILE']).read()): time.sleep(0.05)\n"
        "[run.step(loss=1.0) for _ in range(20)]; run.finish(); open(os.environ['PID_FILE'] + '.end', 'w')"
    )
    pid_file = home.path / "pid"
    runner = home.script(
        RUN, "orphan", code, HEADWAY_URL=url, HEADWAY_TOKEN=token, PID_FILE=str(pid_file), HEADWAY_FINISH_TIMEOUT="0.5"
    )
    until(lambda: pid_file.exists() and pid_file.read_text())
    runner.kill()
    runner.wait()
    until(lambda: pid_file.with_suffix(".end").exists())
    headers = [read_spool(path)[0] for path in home.folders.spool.glob("*.jsonl")]
    assert {(header.name, header.server) for header in headers} == {("orphan", url)}
    assert any(not header.run.startswith("relay-") for header in headers), "also the process's own file"
