"""SIGTERM to a process whose main thread is in a call that never returns, and so runs no handler."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from headway.testing.servers import ScriptedServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells who wrote to a socket")

STUCK = """
    import ctypes, os, signal, sys, threading, time, headway
    run = headway.track(total_steps=100)
    for step in range(1, 11):
        run.step(step, loss=1.0)
        {ask}
    mutex, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
    def tell():
        while mutex.raw[0] != 2:   # locked, and waited for
            time.sleep(0.01)
        print("ready", flush=True)
    def stuck():
        libc.pthread_mutex_lock(mutex)
        libc.pthread_mutex_lock(mutex)
    threading.Thread(target=tell, daemon=True).start()
    stuck()
"""


def begin(script, *, ask: str = "pass", **environ: str):
    process = script.start(STUCK.format(ask=ask), HEADWAY_INTERVAL="0.2", **environ)
    assert process.stdout.readline() == "ready\n"
    return process


def stacks(server: ScriptedServer) -> list[str]:
    return [body["headway"]["stack"] for body in server.taken() if "stack" in body["headway"]]


def test_a_loop_that_does_not_listen_ends_as_by_default(script, server: ScriptedServer) -> None:
    process = begin(script)
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM, err
    (ending,) = server.endings()
    assert (ending["kind"], ending["signal"], ending["step"]) == ("cancelled", "SIGTERM", 10)
    assert "its main thread stood in stuck (train.py:" in ending["message"]
    assert "in stuck" in stacks(server)[-1]


def test_one_that_hangs_with_the_lock_of_the_log_ends_all_the_same(script, server: ScriptedServer) -> None:
    process = begin(script, ask="__import__('logging').lastResort.acquire()")
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM, err
    assert [ending["signal"] for ending in server.endings()] == ["SIGTERM"]


def test_one_that_listens_gets_its_time_is_told_of_at_once_and_then_ended(
    script, server: ScriptedServer, wait_until
) -> None:
    process = begin(script, ask="run.should_stop", HEADWAY_GRACE="8", HEADWAY_FINISH_TIMEOUT="2")
    process.terminate()
    began = time.monotonic()
    wait_until(lambda: stacks(server), timeout=30)
    assert server.endings() == []
    _, err = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM, err
    assert time.monotonic() - began >= 4.5
    (ending,) = server.endings()
    assert (ending["kind"], ending["signal"]) == ("cancelled", "SIGTERM")
    assert "had not saved and ended by itself in time; its main thread stood in stuck" in ending["message"]


def test_a_second_signal_while_the_last_report_is_on_its_way_changes_nothing(script, server: ScriptedServer) -> None:
    process = script.start(
        """
        import time, headway
        run = headway.track()
        run.step()
        run.should_stop
        print("ready", flush=True)
        while True:
            time.sleep(0.01)
        """,
        HEADWAY_GRACE="4",
        HEADWAY_INTERVAL="0.2",
    )
    assert process.stdout.readline() == "ready\n"
    server.behave("slow", slow_seconds=1.0)
    process.terminate()
    assert "not saved and ended" in process.stderr.readline()
    process.terminate()
    assert process.wait(30) == -signal.SIGTERM


def test_an_event_loop_keeps_its_descriptor_whoever_came_first(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import asyncio, os, signal, sys, headway
        async def main(first):
            loop, heard = asyncio.get_running_loop(), asyncio.Event()
            if first:
                run = headway.track(total_steps=3)
            loop.add_signal_handler(signal.SIGUSR1, heard.set)
            if not first:
                run = headway.track(total_steps=3)
            os.kill(os.getpid(), signal.SIGUSR1)
            await asyncio.wait_for(heard.wait(), 20)
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", "pass")
            await asyncio.wait_for(child.wait(), 20)
            run.finish()
            heard.clear()
            os.kill(os.getpid(), signal.SIGUSR1)
            await asyncio.wait_for(heard.wait(), 20)
        for first in (True, False):
            asyncio.run(main(first))
            print(signal.set_wakeup_fd(-1))
        """
    )
    assert done.out.split() == ["-1", "-1"], done.err


def test_what_the_interpreter_had_is_put_back(script) -> None:
    done = script.run(
        """
        import os, signal, socket, threading, time, headway
        run = headway.track()
        during = {thread.name for thread in threading.enumerate()}
        run.finish()
        while any(thread.name == "headway-signals" for thread in threading.enumerate()):
            time.sleep(0.01)
        print("headway-signals" in during, signal.set_wakeup_fd(-1))
        mine, _ = socket.socketpair()
        mine.setblocking(False)
        signal.set_wakeup_fd(mine.fileno())
        run = headway.track()
        print(signal.set_wakeup_fd(mine.fileno()) == mine.fileno())
        run.finish()
        print(signal.set_wakeup_fd(-1) == mine.fileno())

        run = headway.track()   # one who chains after us, and puts back what was there when we have long gone
        ours = signal.set_wakeup_fd(mine.fileno())
        run.finish()
        time.sleep(0.2)
        os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_RDONLY)   # would get its number, were it free
        print(signal.set_wakeup_fd(ours) == mine.fileno())
        run = headway.track()
        run.finish()
        print(signal.set_wakeup_fd(-1))
        """
    )
    assert done.out.split() == ["True", "-1", "True", "True", "True", "-1"], done.err


def test_a_timer_of_the_users_wakes_the_watch_twenty_times_a_second_at_most(script) -> None:
    done = script.run(
        """
        import signal, time, headway
        from headway.reporter.signal_watch import SignalWatch
        heard, hear, alarms = [], SignalWatch._hear, []
        SignalWatch._hear = lambda self, wait: (heard.append(time.monotonic()), hear(self, wait))
        signal.signal(signal.SIGALRM, lambda *_: alarms.append(1))
        run = headway.track()
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(alarms) < 300:
            time.sleep(0.01)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(1 < len(heard) <= 3 + (time.monotonic() - began) / 0.05)
        run.finish()
        """
    )
    assert done.out.split() == ["True"], done.err
    assert done.err == ""


def test_a_child_that_dies_of_the_signal_is_not_taken_for_its_parent(script, server: ScriptedServer) -> None:
    """Forked by a library, so that no hook of Python's is run in the child, which has the parent's handler and descriptor."""
    process = script.start(
        """
        import ctypes, os, signal, time, headway
        run = headway.track(total_steps=10)
        libc = ctypes.PyDLL(None)
        read, write = os.pipe()
        child = libc.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            libc._exit(0)
        os.waitpid(child, 0)
        for step in range(1, 11):
            time.sleep(0.3)
            run.step(step, loss=1.0)
        run.finish()
        print("through", flush=True)
        """
    )
    out, err = process.communicate(timeout=60)
    assert out == "through\n", err
    assert [ending["kind"] for ending in server.endings()] == ["completed"]
