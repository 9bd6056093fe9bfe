"""However a process ends, its last word is true, and is said once."""

from __future__ import annotations

import signal

import pytest

from headway.testing.servers import ScriptedServer

TEN = """
    import os, signal, sys, time, headway
    run = headway.track(total_steps=20)
    for step in range(10):
        run.step(loss=1.0)
"""


@pytest.mark.parametrize(
    ("last", "code", "ending"),
    [
        ("", 0, {"kind": "completed"}),
        ("run.finish()", 0, {"kind": "completed"}),
        ("run.finish(); run.finish('failed')", 0, {"kind": "completed"}),
        ("run.finish('early_stopped', message='patience')", 0, {"kind": "early_stopped", "message": "patience"}),
        ("raise ValueError('bad batch')", 1, {"kind": "failed", "exception": "ValueError", "message": "bad batch"}),
        ("import json; json.loads('{')", 1, {"kind": "failed", "exception": "json.decoder.JSONDecodeError"}),
        ("sys.exit(3)", 3, {"kind": "failed", "exitCode": 3}),
        ("sys.exit(0)", 0, {"kind": "completed"}),
        ("sys.exit('wrong')", 1, {"kind": "failed", "exitCode": 1}),
        ("raise KeyboardInterrupt", -2, {"kind": "cancelled", "exception": "KeyboardInterrupt", "signal": "SIGINT"}),
        (
            "try:\n    with run:\n        raise MemoryError('full')\nexcept MemoryError:\n    pass",
            0,
            {"kind": "failed", "exception": "MemoryError", "message": "full"},
        ),
        ("with run:\n    pass", 0, {"kind": "completed"}),
        ("with run:\n    sys.exit(4)", 4, {"kind": "failed", "exitCode": 4}),
        # an exit that was caught, and training that went on, is no ending
        ("try:\n    sys.exit(5)\nexcept SystemExit:\n    run.step()", 0, {"kind": "completed", "step": 11}),
    ],
)
def test_the_last_word_is_true(script, server: ScriptedServer, last: str, code: int, ending: dict) -> None:
    done = script.run(_indented(TEN, last))
    assert done.code == code
    (said,) = server.endings()
    expected = {"step": 10, "totalSteps": 20, **ending}
    assert {name: said[name] for name in expected} == expected
    assert "exception" in expected or "exception" not in said
    assert server.taken()[-1]["trainerStatus"]["progressPercentage"] == expected["step"] * 5


def _indented(head: str, tail: str) -> str:
    return head + "".join(f"    {line}\n" for line in tail.splitlines())


def test_sigterm_is_told_once_and_the_process_dies_of_it(script, server: ScriptedServer) -> None:
    process = script.start(
        _indented(TEN, "run.checkpointed(8, seconds=1.5, path='ckpt-8')\nprint('ready', flush=True)\ntime.sleep(60)")
    )
    process.stdout.readline()
    process.terminate()
    assert process.wait(10) == -signal.SIGTERM
    assert server.endings() == [{"kind": "cancelled", "step": 10, "totalSteps": 20, "signal": "SIGTERM"}]
    last = next(body["headway"] for body in server.taken() if "ending" in body["headway"])
    assert last["checkpoint"] == {"step": 8, "seconds": 1.5, "path": "ckpt-8"}
    assert last["points"][-1][0] == 10


def test_a_handler_that_was_there_decides_how_sigterm_ends_the_run(script, server: ScriptedServer) -> None:
    process = script.start(
        """
        import signal, sys, time
        stop = []
        signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
        import headway
        run = headway.track(total_steps=100)
        print('ready', flush=True)
        while not stop:
            time.sleep(0.01)
        run.step()
        run.checkpointed()
        sys.exit(143)
        """
    )
    process.stdout.readline()
    process.terminate()
    assert process.wait(10) == 143
    (ending,) = server.endings()
    assert ending["kind"] == "cancelled"
    assert ending["signal"] == "SIGTERM"
    assert ending["step"] == 1


def test_sigterm_while_finishing_lets_the_last_report_out(script, server: ScriptedServer) -> None:
    server.behave("slow", slow_seconds=0.4)
    process = script.start(_indented(TEN, "print('ready', flush=True)\nrun.finish()\nprint('alive', flush=True)"))
    process.stdout.readline()
    process.terminate()
    assert process.wait(10) == -signal.SIGTERM
    assert len(server.endings()) == 1


def test_handlers_and_hooks_are_put_back(script) -> None:
    done = script.run(
        """
        import signal, sys
        before = (signal.getsignal(signal.SIGTERM), sys.excepthook, sys.exit)
        import headway
        run = headway.track()
        during = (signal.getsignal(signal.SIGTERM), sys.excepthook, sys.exit)
        run.finish()
        after = (signal.getsignal(signal.SIGTERM), sys.excepthook, sys.exit)
        print(before == after, before != during)
        """
    )
    assert done.out.split() == ["True", "True"]


def test_track_works_away_from_the_main_thread(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import threading, headway
        def train():
            run = headway.track(total_steps=5)
            for _ in range(5):
                run.step(loss=1.0)
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        """
    )
    assert done.code == 0
    assert done.err == ""
    assert server.endings() == [{"kind": "completed", "step": 5, "totalSteps": 5}]


def test_beats_go_on_without_steps_and_stop_with_the_process(script, server: ScriptedServer, wait_until) -> None:
    process = script.start(_indented(TEN, "print('ready', flush=True)\ntime.sleep(60)"), HEADWAY_INTERVAL="0.2")
    process.stdout.readline()
    wait_until(lambda: len(server.taken()) > 8)
    beats = [body["headway"] for body in server.taken()][-3:]
    assert all("points" not in beat and beat["progress"]["step"] == 10 for beat in beats)
    ages = [beat["progress"]["lastStepAge"] for beat in beats]
    assert ages == sorted(ages)
    assert ages[0] < ages[-1]
    process.kill()
    process.wait(10)
    assert server.endings() == []


def test_a_second_track_continues_the_run_and_after_finish_begins_another(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import headway
        first = headway.track(config={"lr": 0.1})
        first.step(loss=1.0)
        second = headway.track(total_steps=10, config={"batch": 8}, tags=["late"])
        print(first is second, headway.current_run() is first)
        second.step(loss=0.5)
        second.finish()
        third = headway.track(total_steps=3)
        print(third is first, headway.current_run() is third)
        """
    )
    assert done.out.split() == ["True", "True", "False", "True"]
    runs = list(dict.fromkeys(body["headway"]["run"] for body in server.taken()))
    assert len(runs) == 2
    assert [ending["step"] for ending in server.endings()] == [2, 0]
    told = [body["headway"]["job"] for body in server.taken() if "job" in body["headway"]]
    assert {"lr": 0.1, "batch": 8} in [job.get("config") for job in told]


def test_disabled_is_a_no_op(script, server: ScriptedServer) -> None:
    done = script.run(
        _indented(TEN, "print(run.should_stop, run.active, len(__import__('threading').enumerate()))"),
        HEADWAY_DISABLED="1",
    )
    assert done.out.split() == ["False", "False", "1"]
    assert server.posts == []


def test_unusable_settings_are_told_and_the_defaults_taken(script, server: ScriptedServer) -> None:
    done = script.run(_indented(TEN, ""), HEADWAY_INTERVAL="often", HEADWAY_FINISH_TIMEOUT="-3")
    assert done.code == 0
    assert "HEADWAY_INTERVAL 'often'" in done.err
    assert "HEADWAY_FINISH_TIMEOUT '-3'" in done.err
    assert len(server.endings()) == 1


def test_directives_reach_the_loop_and_are_acknowledged(script, server: ScriptedServer, wait_until) -> None:
    process = script.start(
        """
        import time, headway
        run = headway.track(total_steps=100_000)
        saved = 0
        while not run.should_stop:
            run.step(loss=1.0)
            if run.should_checkpoint:
                saved += 1
                run.checkpointed(seconds=0.1)
            time.sleep(0.01)
        run.finish()
        print(saved)
        """,
        HEADWAY_INTERVAL="0.2",
    )
    save = {"id": "d1", "kind": "checkpoint", "reason": "maintenance"}
    server.answer_with(directives=[save])
    wait_until(lambda: any("d1" in body["headway"].get("acks", ()) for body in server.taken()))
    server.answer_with(directives=[{"id": "d2", "kind": "stop", "reason": "by the user"}])
    assert process.wait(10) == 0
    assert process.stdout.read().split() == ["1"]
    assert any("d2" in body["headway"].get("acks", ()) for body in server.taken())
    assert [ending["kind"] for ending in server.endings()] == ["cancelled"]
    assert any("checkpoint" in body["headway"] for body in server.taken())
