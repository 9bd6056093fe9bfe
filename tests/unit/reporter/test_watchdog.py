"""The timer that outlives the interpreter's lock, and gives way to whoever else wants it."""

from __future__ import annotations

import ctypes
import faulthandler
import tempfile
import time
from pathlib import Path

from headway.insight.frames import standing_at
from headway.reporter.watchdog import Watchdog


def hold_the_lock(seconds: float) -> None:
    """Nothing in this process can run meanwhile."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def test_says_where_the_main_thread_stands_while_nothing_can_run(tmp_path: Path) -> None:
    watchdog = Watchdog(tmp_path / "stacks", "run-a", floor=2.5)
    watchdog.feed(time.monotonic())
    file = tmp_path / "stacks" / "run-a.stack"
    assert file.read_text() == ""
    hold_the_lock(2.6)
    stack = file.read_text()
    frame = standing_at(stack)
    assert frame is not None
    assert frame.function == "hold_the_lock"
    watchdog.feed(time.monotonic())
    assert file.read_text() == "", "it runs again"
    watchdog.close()
    assert not file.exists()
    assert faulthandler.dump_traceback_later.__name__ == "dump_traceback_later"


def test_a_program_that_sets_the_timer_keeps_it(tmp_path: Path) -> None:
    watchdog = Watchdog(tmp_path / "stacks", "run-a", floor=60.0)
    watchdog.feed(0.0)
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback_later(0.3, file=file)
        watchdog.feed(1000.0)
        time.sleep(0.6)
        file.seek(0)
        assert "Timeout" in file.read()
    watchdog.close()
    assert not (tmp_path / "stacks" / "run-a.stack").exists()


def test_without_a_folder_or_in_a_forked_child_there_is_none(tmp_path: Path) -> None:
    Watchdog(None, "run-a", floor=60.0).feed(0.0)
    watchdog = Watchdog(tmp_path / "stacks", "run-b", floor=60.0)
    watchdog.abandon()
    watchdog.feed(0.0)
    assert (tmp_path / "stacks" / "run-b.stack").exists()
    (tmp_path / "file").write_text("")
    Watchdog(tmp_path / "file", "run-c", floor=60.0).feed(0.0)
