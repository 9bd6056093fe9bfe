"""The server is away, hangs, fails, comes back: training never notices, and everything arrives in the end."""

from __future__ import annotations

import json
import statistics

import pytest

from headway.reporter.transports.spool import read_spool
from headway.testing.servers import ScriptedServer
from headway.testing.sockets import black_hole

LOOP = """
    import sys, time, headway
    run = headway.track(total_steps={total}, name="job")
    for step in range(1, {total} + 1):
        print(step, flush=True)
        time.sleep({pause})
        run.log(step=step, loss=1.0 / step)
        run.step(learning_rate=0.5)
    run.finish(timeout={finish})
"""


def test_every_point_arrives_in_the_end_though_the_server_comes_and_goes(script, server: ScriptedServer) -> None:
    server.behave("refuse")
    process = script.start(LOOP.format(total=200, pause=0.02, finish=5))
    for line in process.stdout:
        match int(line):
            case 20 | 100:
                server.behave("ok")
            case 50:
                server.behave("refuse")
    assert process.wait(20) == 0
    logged = [point for point in server.points() if "loss" in point[2]]
    assert [point[0] for point in logged] == list(range(1, 201))
    assert [point[2]["loss"] for point in logged] == [1.0 / step for step in range(1, 201)]
    counted = [point[2]["learning_rate"] for point in server.points() if "learning_rate" in point[2]]
    assert sum(cell[1] if isinstance(cell, list) else 1 for cell in counted) == 200
    assert [ending["kind"] for ending in server.endings()] == ["completed"]
    assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("fault", ["hang", "refuse", "error", "garbage", "black hole", "unknown host"])
def test_a_faulty_server_is_told_of_in_at_most_two_lines_and_raises_nothing(script, server, fault: str) -> None:
    url = {"black hole": None, "unknown host": "http://no-such-host.invalid:1"}.get(fault, server.url)
    if url == server.url:
        server.behave(fault)
    with black_hole() as hole:
        done = script.run(
            """
            import time, headway
            run = headway.track(total_steps=100)
            for step in range(100):
                time.sleep(0.01)
                run.step(loss=0.5)
            run.finish(timeout=0.5)
            print(run.last_step)
            """,
            HEADWAY_URL=url or hole,
        )
    assert done.code == 0
    assert done.out.split() == ["100"]
    assert len([line for line in done.err.splitlines() if "reporting local/job failed" in line]) <= 2
    assert "Traceback" not in done.err


def test_the_latest_state_arrives_within_one_back_off_of_the_recovery(
    script, server: ScriptedServer, wait_until
) -> None:
    server.behave("busy")
    script.start(LOOP.format(total=2000, pause=0.02, finish=5))
    wait_until(lambda: len(server.posts) >= 2)
    server.behave("ok")
    wait_until(server.taken, timeout=11)
    wait_until(lambda: server.points() and server.points()[0][0] == 1)


def test_retry_after_is_honoured(script, server: ScriptedServer, wait_until) -> None:
    server.behave("limit", retry_after=1.5)
    script.start(LOOP.format(total=2000, pause=0.02, finish=5))
    wait_until(lambda: len(server.posts) >= 2, timeout=20)
    first, second = [post.at for post in server.posts[:2]]
    assert second - first >= 1.4


def test_what_the_end_cannot_send_is_spooled(script, server: ScriptedServer, spool) -> None:
    process = script.start(LOOP.format(total=100, pause=0.02, finish=2) + "    print('finished', flush=True)\n")
    for line in process.stdout:
        if line.strip() == "60":
            assert server.wait_for(lambda s: s.points())
            server.behave("refuse")
    assert process.wait(10) == 0
    (path,) = spool.glob("*.jsonl")
    header, lines = read_spool(path)
    assert header[:2] == ("local", "job")
    kept = [line.body["headway"] for line in lines]
    sent = {body["headway"]["seq"]: body["headway"] for body in server.taken()}
    everything = {**sent, **{report["seq"]: report for report in kept}}
    steps = [
        point[0] for seq in sorted(everything) for point in everything[seq].get("points", ()) if "loss" in point[2]
    ]
    assert steps == list(range(1, 101))
    assert sorted(everything) == list(range(1, len(everything) + 1))
    assert kept[-1]["ending"]["kind"] == "completed"


def test_finish_keeps_its_time_when_the_server_hangs(script, server: ScriptedServer, spool) -> None:
    done = script.run(
        """
        import time, headway
        run = headway.track(total_steps=10)
        run.step(loss=1.0)
        time.sleep(1.2)
        began = time.monotonic()
        run.finish(timeout=1)
        print(time.monotonic() - began)
        """,
        HEADWAY_URL=_hanging(server),
    )
    assert done.code == 0
    assert float(done.out) < 1.5
    (path,) = spool.glob("*.jsonl")
    _, lines = read_spool(path)
    assert [line.body["headway"]["ending"]["kind"] for line in lines if "ending" in line.body["headway"]] == [
        "completed"
    ]


@pytest.mark.quiet
@pytest.mark.parametrize("leave", ["pass", "sys.exit(7)", "raise ValueError('no')"])
def test_a_process_leaves_in_time_with_its_own_code_when_the_server_hangs(
    script, server: ScriptedServer, leave
) -> None:
    code = """
        import sys, time
        {track}
        time.sleep(0.6)
        def main():
            {leave}
        main()
    """
    bare = statistics.median(script.run(code.format(track="", leave=leave)).seconds for _ in range(3))
    track = "import headway; run = headway.track(10); run.step(loss=1.0)"
    done = script.run(code.format(track=track, leave=leave), HEADWAY_URL=_hanging(server), HEADWAY_FINISH_TIMEOUT="1")
    assert done.code == {"pass": 0, "sys.exit(7)": 7}.get(leave, 1)
    assert done.seconds < bare + 1 + 0.5 + 0.5  # the last for the import of headway on a busy machine


def _hanging(server: ScriptedServer) -> str:
    server.behave("hang")
    return server.url


def test_a_local_run_is_spooled_while_there_is_no_server(script, spool) -> None:
    environ = {"HEADWAY_URL": "", "HEADWAY_TOKEN": "", "HEADWAY_JOB": ""}
    done = script.run(LOOP.format(total=20, pause=0.01, finish=2), **environ)
    assert done.code == 0
    assert done.err == ""
    (path,) = spool.glob("*.jsonl")
    header, lines = read_spool(path)
    assert header.namespace == "local"
    assert header.name == "job"
    reports = [line.body["headway"] for line in lines]
    assert [report["seq"] for report in reports] == list(range(1, len(reports) + 1))
    assert reports[0]["job"]["host"]
    assert reports[-1]["ending"] == {"kind": "completed", "step": 20, "totalSteps": 20}
    assert reports[-1]["progress"]["step"] == 20


def test_a_local_server_that_appears_gets_what_was_spooled_first_and_with_its_age(
    script, server: ScriptedServer, spool, headway_home, wait_until
) -> None:
    environ = {"HEADWAY_URL": "", "HEADWAY_TOKEN": "", "HEADWAY_JOB": "", "HEADWAY_INTERVAL": "0.3"}
    process = script.start(LOOP.format(total=4000, pause=0.01, finish=3), **environ)
    wait_until(lambda: sum(len(path.read_text().splitlines()) for path in spool.glob("*.jsonl")) > 5)
    (path,) = spool.glob("*.jsonl")
    _announce(server, headway_home)
    wait_until(lambda: len(server.points()) > 100, timeout=15)
    wait_until(lambda: not path.exists())
    process.terminate()
    assert process.wait(10) == -15
    steps = [point[0] for point in server.points() if "loss" in point[2]]
    assert steps == list(range(1, steps[-1] + 1))
    ages = [float(post.headers["headway-age"]) for post in server.posts if "headway-age" in post.headers]
    assert ages[0] > 0.3
    assert sorted(ages, reverse=True) == ages
    assert {post.headers["authorization"] for post in server.posts} == {"Bearer the-user"}
    assert server.endings() == [{"kind": "cancelled", "step": steps[-1], "totalSteps": 4000, "signal": "SIGTERM"}]


def _announce(server: ScriptedServer, home) -> None:
    """Leaves the record of a local server, as a real one does."""
    from headway.reporter.discovery import ServerRecord, write_record
    from headway.reporter.folders import Folders

    folders = Folders.from_env({"HEADWAY_HOME": str(home)})
    server.prove_with("the-user")
    write_record(folders.server_record, ServerRecord(url=server.url, token="the-user", pid=1, version="0"))


def test_a_spool_that_cannot_be_written_harms_nothing(script, headway_home) -> None:
    (headway_home / "state").mkdir(exist_ok=True)
    (headway_home / "state" / "spool").write_text("a file, not a folder")
    done = script.run(LOOP.format(total=20, pause=0.01, finish=0.5), HEADWAY_URL="", HEADWAY_TOKEN="", HEADWAY_JOB="")
    assert done.code == 0
    assert len(done.err.splitlines()) <= 2
    assert "spool" in done.err


def test_too_large_and_refused_reports_are_made_smaller(script, server: ScriptedServer) -> None:
    server.require(most_bytes=6000)
    done = script.run(LOOP.format(total=300, pause=0.001, finish=5), HEADWAY_INTERVAL="5")
    assert done.code == 0
    logged = [point[0] for point in server.points() if "loss" in point[2]]
    assert logged == list(range(1, 301))
    assert max(post.size for post in server.posts if post.taken) <= 6000


def test_a_server_that_refuses_everything_is_left_alone(script, server: ScriptedServer) -> None:
    server.behave("invalid")
    done = script.run(LOOP.format(total=20, pause=0.001, finish=1))
    assert done.code == 0
    assert "Traceback" not in done.err
    assert json.loads(json.dumps(server.posts[-1].body))["headway"]["run"]


def test_a_local_server_that_dies_and_returns_gets_everything_once(
    script, server: ScriptedServer, spool, headway_home, wait_until
) -> None:
    environ = {"HEADWAY_URL": "", "HEADWAY_TOKEN": "", "HEADWAY_JOB": "", "HEADWAY_INTERVAL": "0.3"}
    _announce(server, headway_home)
    process = script.start(LOOP.format(total=5000, pause=0.01, finish=3), **environ)
    wait_until(server.points)
    server.behave("refuse")
    wait_until(lambda: list(spool.glob("*.jsonl")))
    server.behave("ok")
    wait_until(lambda: not list(spool.glob("*.jsonl")), timeout=15)
    process.terminate()
    process.wait(10)
    steps = [point[0] for point in server.points() if "loss" in point[2]]
    assert steps == list(range(1, steps[-1] + 1))
    assert len(server.endings()) == 1
    assert "reporting" not in process.stderr.read()
