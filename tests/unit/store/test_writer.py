"""The writer's thread outlives every fault of what it calls, and answers every write."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from headway.errors import HeadwayError, StoreError, UnavailableError
from headway.protocol.job import JobKey
from headway.store.base import Completion, Write
from headway.store.writer import MAX_BATCH, GroupWriter

WRITE = Write(key=JobKey("local", "a"), document=b"d")


class Backend:
    """Commits as it is told to, and remembers the sizes of its batches."""

    def __init__(self) -> None:
        self.heard: list[Completion] = []
        self.batches: list[int] = []
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.news = threading.Condition()

    def commit(self, writes: Sequence[Write]) -> list[HeadwayError | None]:
        self.batches.append(len(writes))
        self.gate.wait(20)
        if self.error is not None:
            raise self.error
        return [None] * len(writes)

    def done(self, completions: Sequence[Completion]) -> None:
        with self.news:
            self.heard += completions
            self.news.notify_all()

    def wait(self, count: int) -> None:
        with self.news:
            assert self.news.wait_for(lambda: len(self.heard) >= count, 20)


def test_what_queues_during_a_commit_is_the_next_one() -> None:
    backend = Backend()
    backend.gate.clear()
    writer = GroupWriter("test", backend.done, backend.commit)
    writer.start()
    writer.submit([(WRITE, 0)])
    while not backend.batches:
        threading.Event().wait(0.001)
    for tag in range(1, MAX_BATCH + 11):
        writer.submit([(WRITE, tag)])
    assert writer.pending == MAX_BATCH + 10
    backend.gate.set()
    backend.wait(MAX_BATCH + 11)
    assert backend.batches == [1, MAX_BATCH, 10]
    assert [tag for tag, _ in backend.heard] == list(range(MAX_BATCH + 11))
    writer.close()
    assert (writer.commits, writer.writes, writer.failed_writes) == (3, MAX_BATCH + 11, 0)


@pytest.mark.parametrize(
    ("error", "kind"), [(UnavailableError("full"), UnavailableError), (RuntimeError("a bug"), StoreError)]
)
def test_a_commit_that_fails_is_told_and_the_next_one_goes_on(error: Exception, kind: type[Exception]) -> None:
    backend = Backend()
    backend.error = error
    writer = GroupWriter("test", backend.done, backend.commit)
    writer.start()
    writer.submit([(WRITE, 1)])
    backend.wait(1)
    assert isinstance(backend.heard[0].error, kind)
    backend.error = None
    writer.submit([(WRITE, 2)])
    backend.wait(2)
    assert backend.heard[1] == (2, None)
    writer.close()
    assert (writer.commits, writer.writes, writer.failed_writes) == (1, 1, 1)


@pytest.mark.parametrize("error", [UnavailableError("full"), RuntimeError("a bug")])
def test_chores_that_fail_are_left_for_later_and_writes_go_on(error: Exception) -> None:
    backend = Backend()
    asked = []

    def chores(idle: bool) -> float:
        asked.append(idle)
        raise error

    writer = GroupWriter("test", backend.done, backend.commit, chores)
    writer.start()
    for tag in range(5):
        writer.submit([(WRITE, tag)])
        backend.wait(tag + 1)
    writer.close()
    assert [completion.error for completion in backend.heard] == [None] * 5
    assert len(asked) == 1
