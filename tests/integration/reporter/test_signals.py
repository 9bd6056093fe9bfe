"""SIGTERM to a loop that listens: it saves, ends, and then dies of the signal; and it dies in time where it does not."""

from __future__ import annotations

import signal
import time

from headway.testing.servers import ScriptedServer

LOOP = """
    import os, sys, time, headway
    run = headway.track(total_steps=100_000)
    print("ready", flush=True)
    for step in range(1, 100_001):
        time.sleep(0.01)
        run.step(step, loss=1.0)
        if run.should_checkpoint:
            {save}
        if run.should_stop and {stops}:
            break
    print("after the loop", flush=True)
"""
SAVE = "run.checkpointed(step, seconds={seconds}, path='here')"


def begin(script, server: ScriptedServer, wait_until, *, save: str = "pass", stops: bool = True, **environ: str):
    process = script.start(LOOP.format(save=save, stops=stops), HEADWAY_INTERVAL="0.2", **environ)
    process.stdout.readline()
    wait_until(lambda: any(body["headway"]["progress"].get("step", 0) > 5 for body in server.taken()))
    return process


def test_it_saves_ends_and_dies_of_the_signal(script, server: ScriptedServer, wait_until) -> None:
    process = begin(script, server, wait_until, save=SAVE.format(seconds=0.5))
    process.terminate()
    out, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGTERM, err
    assert out.strip() == "after the loop"
    (ending,) = server.endings()
    assert (ending["kind"], ending["signal"]) == ("preempted", "SIGTERM")
    (saved,) = {(body["headway"]["checkpoint"]["step"]) for body in server.taken() if "checkpoint" in body["headway"]}
    assert saved == ending["step"]


def test_a_loop_that_does_not_end_is_ended_before_the_grace_is_over(script, server: ScriptedServer, wait_until) -> None:
    process = begin(script, server, wait_until, stops=False, HEADWAY_GRACE="4", HEADWAY_FINISH_TIMEOUT="1")
    process.terminate()
    began = time.monotonic()
    time.sleep(0.5)
    process.terminate()  # launchers send it twice now and then
    assert process.wait(20) == -signal.SIGTERM
    assert time.monotonic() - began > 1.5
    (ending,) = server.endings()
    assert (ending["kind"], ending["signal"]) == ("cancelled", "SIGTERM")
    assert "had not saved and ended by itself in time" in ending["message"]


def test_a_script_that_fails_after_the_signal_says_how(script, server: ScriptedServer, wait_until) -> None:
    process = begin(script, server, wait_until, save="raise ValueError('disk full')")
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "disk full" in err
    assert [ending["kind"] for ending in server.endings()] == ["failed"]


def test_a_handler_of_the_users_is_called_and_decides(script, server: ScriptedServer, wait_until) -> None:
    script_before = "import signal; signal.signal(signal.SIGTERM, lambda *_: print('mine', flush=True));"
    process = script.start(
        "    " + script_before + LOOP.format(save=SAVE.format(seconds=0.1), stops=True).lstrip(), HEADWAY_INTERVAL="0.2"
    )
    process.stdout.readline()
    wait_until(lambda: any(body["headway"]["progress"].get("step", 0) > 5 for body in server.taken()))
    process.terminate()
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert out.split("\n")[:2] == ["mine", "after the loop"]
    assert [ending["kind"] for ending in server.endings()] == ["preempted"]


def test_a_grace_that_is_too_short_is_told(script, server: ScriptedServer, wait_until) -> None:
    code = LOOP.replace("if run.should_checkpoint:", "if step in (100, 150) or run.should_checkpoint:")
    process = script.start(code.format(save=SAVE.format(seconds=41), stops=True), HEADWAY_INTERVAL="0.2")
    process.stdout.readline()
    wait_until(lambda: any("checkpoint" in body["headway"] for body in server.taken()))
    wait_until(lambda: any(body["headway"].get("job", {}).get("grace") == 30 for body in server.taken()))
    wait_until(lambda: any(body["headway"]["progress"].get("step", 0) > 260 for body in server.taken()))
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert err.count("it would be killed first") == 1
