"""The relay's queue on disk: in order, exclusively, and gone once it is handed on."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from headway.protocol.job import JobKey
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Envelope
from headway.reporter.transports.spool import read_spool
from headway.runner.relay.queue import ReportQueue

KEY = JobKey("local", "a/b")


@pytest.fixture
def queue(tmp_path: Path) -> ReportQueue:
    return ReportQueue(tmp_path / "spool", KEY, "relay-R", "attempt-1")


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "spool").glob("*"))


def put(queue: ReportQueue, number: int, size: int = 0) -> None:
    body = b'{\n "trainerStatus": {"progressPercentage": %d},\r\n "pad": "%s"}' % (number, b"x" * size)
    queue.put(body, Envelope(attempt="attempt-1", run="R", seq=number), "R")


def test_what_is_put_comes_out_in_order_and_the_file_goes(queue: ReportQueue, tmp_path: Path) -> None:
    assert queue.peek(0) is None
    for number in (1, 2, 3):
        put(queue, number)
    for number in (1, 2, 3):
        kept = queue.peek(0)
        assert kept is not None
        assert (kept.envelope.seq, kept.envelope.attempt, kept.source) == (number, "attempt-1", "R")
        assert b'"progressPercentage": %d' % number in kept.body
        assert not queue.wait_empty(0)
        queue.done()
    assert queue.wait_empty(0)
    assert queue.close() == 0
    assert files(tmp_path) == []


def test_its_age_grows_while_it_waits(queue: ReportQueue) -> None:
    queue.put(b"{}", Envelope(age=5), "R")
    time.sleep(0.05)
    kept = queue.peek(0)
    assert kept is not None
    assert 5.05 <= kept.envelope.age < 60
    queue.close()


def test_what_is_left_is_a_spool_file_that_anyone_can_read_once_it_is_let_go(
    queue: ReportQueue, tmp_path: Path
) -> None:
    put(queue, 1)
    queue.put(b'{"headway": {"run": "other"}}', Envelope(age=100), "other")
    (path,) = files(tmp_path)
    descriptor = os.open(path, os.O_RDWR)
    with pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    queue.note(Registration(runner="r", attempt="attempt-1"), age=50)
    queue.note(Lifecycle(kind=LifecycleKind.ENDED, runner="r", attempt="attempt-1"), age=10)
    assert queue.close() == 2
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
    header, lines = read_spool(path)
    assert (header.namespace, header.name, header.attempt) == ("local", "a/b", "attempt-1")
    stock, other, registration, ended = lines
    assert (stock.run, stock.seq, stock.body["trainerStatus"]["progressPercentage"]) == ("R", 1, 1)
    assert (other.run, other.body["headway"]["run"]) == (None, "other")
    assert registration.registration == {"spec": {"nodes": 1}, "runner": "r", "attempt": "attempt-1"}
    assert ended.lifecycle["kind"] == "ended"
    now = time.time()
    assert [round(now - line.at, -1) for line in (stock, other, registration, ended)] == [0, 100, 50, 10]


def test_a_file_that_was_handed_on_goes_while_the_next_is_written(tmp_path: Path) -> None:
    queue = ReportQueue(tmp_path / "spool", KEY, "R", "a", segment_bytes=1000)
    for number in range(1, 31):
        put(queue, number, size=300)
    assert len(files(tmp_path)) > 5
    for number in range(1, 30):
        kept = queue.peek(0)
        assert kept is not None
        assert kept.envelope.seq == number
        queue.done()
    assert len(files(tmp_path)) == 1
    put(queue, 31)
    assert queue.close() == 2


def test_a_folder_that_cannot_be_written_is_an_error_of_the_one_who_puts(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file, not a folder")
    queue = ReportQueue(tmp_path / "spool", KEY, "R", "a")
    with pytest.raises(OSError):
        put(queue, 1)
    assert queue.waiting == 0
    assert queue.close() == 0


def test_a_waiter_is_woken_by_the_end(queue: ReportQueue) -> None:
    queue.wake()
    started = time.monotonic()
    assert queue.peek(30) is None
    assert time.monotonic() - started < 10
    queue.done()
