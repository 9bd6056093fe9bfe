"""The suite that every store must pass: the promises of :mod:`headway.store.base`, one test each. Needs pytest.

To hold a backend to it, derive a class in a test module and say how to make one::

    pytest.register_assert_rewrite("headway.testing.store_contract")  # says why an assertion failed

    from headway.testing.store_contract import StoreContract

    class TestMyStore(StoreContract):
        def make(self, folder):
            return MyStore(folder)

Each test gets a ``folder`` of its own (pytest's ``tmp_path``). Where the same place can be opened again by a new object, that is
all; a backend that differs overrides :meth:`StoreContract.reopen`, and one that tidies in the background
:meth:`StoreContract.settle`.
"""

# ruff: noqa: D102, S101, S311 - tests: their names say what they show, by assertions, on made-up numbers

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.errors import InvalidError, StoreLockedError
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import JobKey
from headway.protocol.report import Cell, Point
from headway.store.base import Completion, PointBatch, Store, Write
from headway.testing.store_driver import JOB, Opened, at, document, reported, steps
from headway.testing.waiting import wait_until


class StoreContract:
    """Derive from it; see the module."""

    def make(self, folder: Path) -> Store:
        """A store at ``folder``, not opened yet."""
        raise NotImplementedError

    def reopen(self, store: Store, folder: Path) -> Store:  # noqa: ARG002 - for a backend that needs it
        """A store on what ``store``, closed before, left at ``folder``; not opened yet."""
        return self.make(folder)

    def settle(self, store: Store) -> None:
        """Waits until the store has done what it does in the background."""

    @contextmanager
    def opened(self, store: Store) -> Iterator[Opened]:
        """An open store, closed at the end."""
        opened = Opened(store)
        try:
            yield opened
        finally:
            store.close()

    def ask(self, store: Store, query: SeriesQuery = SeriesQuery(), key: JobKey = JOB) -> list[Series]:  # noqa: B008
        """The series after all background work."""
        self.settle(store)
        return store.series(key, query)

    # Documents

    def test_a_new_store_is_empty(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            assert list(opened.store.load()) == []
            assert opened.store.series(JOB, SeriesQuery()) == []
            assert opened.store.metrics(JOB) == []

    def test_documents_are_there_after_reopening_the_latest_of_each_job(self, tmp_path: Path) -> None:
        other = JobKey("team a", "x/y <b>é\u4e2d")
        store = self.make(tmp_path)
        with self.opened(store) as opened:
            opened.keep(document("one"), document("two"), document("other", other), document("three"))
        with self.opened(self.reopen(store, tmp_path)) as opened:
            assert sorted(opened.store.load()) == [(JOB, b"three"), (other, b"other")]

    def test_points_leave_the_document_and_are_no_job_by_themselves(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(reported(1, at(1, loss=2.0)))
            assert list(opened.store.load()) == []
            opened.keep(document("kept"), reported(2, at(2, loss=1.0)))
            assert list(opened.store.load()) == [(JOB, b"kept")]

    # History

    def test_points_come_back_as_they_were(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        with self.opened(store) as opened:
            opened.keep(
                reported(1, at(10, 1.234, loss=Cell(2.5, 4, 0.5), lr=1e-5), text="d"),
                reported(2, at(20, 2.5, loss=Cell(2.25, 3, 0.1, 1), lr=2e-5), at(21, 2.75, eval_loss=3.0)),
            )
        with self.opened(self.reopen(store, tmp_path)) as opened:
            found = self.ask(opened.store)
            assert [(series.attempt, series.metric, series.tier) for series in found] == [
                ("a-1", "eval_loss", 1),
                ("a-1", "loss", 1),
                ("a-1", "lr", 1),
            ]
            assert found[0].points == ((21, 2.75, 3.0, 3.0, 3.0, 1, 0),)
            assert found[1].points == ((10, 1.234, 2.5, 2.5, 2.5, 4, 0), (20, 2.5, 2.25, 2.25, 2.25, 3, 1))
            assert found[2].points == ((10, 1.234, 1e-5, 1e-5, 1e-5, 1, 0), (20, 2.5, 2e-5, 2e-5, 2e-5, 1, 0))
            assert opened.store.metrics(JOB) == ["eval_loss", "loss", "lr"]

    def test_what_is_not_finite_is_counted_and_never_a_value(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(reported(1, at(1, loss=math.nan), at(2, loss=math.inf), at(3, loss=Cell(math.nan, 5, 0.0, 5))))
            (series,) = self.ask(opened.store)
            for point, samples in zip(series.points, (1, 1, 5), strict=True):
                assert math.isnan(point.mean)
                assert math.isnan(point.low)
                assert math.isnan(point.high)
                assert (point.n, point.bad) == (samples, samples)

    def test_attempts_come_in_the_order_they_were_first_seen(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(
                reported(1, at(5, loss=1), attempt="z", run="r-1"),
                reported(1, at(3, loss=2), attempt="b", run="r-2"),
                reported(2, at(6, loss=3), attempt="z", run="r-1"),
                reported(1, at(4, loss=4), attempt="m", run="r-3"),
            )
            assert [(series.attempt, steps(series)) for series in self.ask(opened.store)] == [
                ("z", [5, 6]),
                ("b", [3]),
                ("m", [4]),
            ]

    def test_only_what_was_asked_for(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(
                *(reported(i, at(i, loss=i, lr=1, acc=2), attempt=f"a-{i % 2}", run=f"r-{i % 2}") for i in range(40))
            )
            found = self.ask(opened.store, SeriesQuery(metrics=("lr", "loss", "none"), attempt="a-1"))
            assert [(series.attempt, series.metric) for series in found] == [("a-1", "loss"), ("a-1", "lr")]
            (series,) = self.ask(opened.store, SeriesQuery(metrics=("loss",), attempt="a-0", first_step=4, last_step=8))
            assert steps(series) == [4, 6, 8]
            assert self.ask(opened.store, SeriesQuery(first_step=100)) == []
            assert self.ask(opened.store, SeriesQuery(), JobKey("local", "nobody")) == []

    def test_a_step_that_comes_again_is_kept_twice_in_order_of_time(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(
                reported(1, at(1, 1.0, loss=5), at(2, 2.0, loss=4), at(3, 3.0, loss=3)),
                reported(2, at(2, 9.0, loss=14), at(3, 10.0, loss=13)),
            )
            (series,) = self.ask(opened.store)
            assert [(point.step, point.mean) for point in series.points] == [(1, 5), (2, 4), (2, 14), (3, 3), (3, 13)]

    def test_a_report_that_comes_late_takes_its_place(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(*(reported(seq, at(seq, loss=seq)) for seq in (1, 4, 2, 5, 3)))
            (series,) = self.ask(opened.store)
            assert steps(series) == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize("count", [1, 7, 512, 513, 5000])
    @pytest.mark.parametrize("limit", [1, 10, 1000])
    def test_a_long_series_is_thinned_without_losing_its_extremes(self, tmp_path: Path, count: int, limit: int) -> None:
        rng = random.Random(count * limit)
        values = [math.nan if rng.random() < 0.01 else rng.gauss(0, 1) for _ in range(count)]
        values[count // 2] = 1e6
        writes = [
            reported(seq, *(at(step, loss=values[step]) for step in range(first, min(count, first + 50))))
            for seq, first in enumerate(range(0, count, 50), 1)
        ]
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(*writes)
            (series,) = self.ask(opened.store, SeriesQuery(points=limit))
        finite = [value for value in values if math.isfinite(value)]
        assert len(series.points) == count if count <= limit else limit // 2 < len(series.points) <= limit
        assert (series.tier == 1) == (count <= limit)
        assert steps(series) == sorted(steps(series))
        assert steps(series)[-1] == count - 1
        assert sum(point.n for point in series.points) == count
        assert sum(point.bad for point in series.points) == count - len(finite)
        shown = [point for point in series.points if point.n > point.bad]
        assert min(point.low for point in shown) == min(finite)
        assert max(point.high for point in shown) == max(finite)
        assert all(point.low <= point.mean <= point.high for point in shown)
        total = sum(point.mean * (point.n - point.bad) for point in shown)
        assert total == pytest.approx(sum(finite), rel=1e-9, abs=1e-6)

    def test_a_stretch_of_a_long_series_is_shown_in_full(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(
                *(reported(seq, *(at(seq * 50 + i, loss=i) for i in range(50))) for seq in range(100)),
            )
            (series,) = self.ask(opened.store, SeriesQuery(points=100, first_step=2000, last_step=2099))
            assert steps(series) == list(range(2000, 2100))
            (series,) = self.ask(opened.store, SeriesQuery(points=100, first_step=1000, last_step=3999))
            assert 50 < len(series.points) <= 100
            assert steps(series)[0] >= 1000
            assert 3900 <= steps(series)[-1] <= 3999

    # Once, and all or nothing

    def test_the_same_report_counts_once(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        first = reported(1, at(1, loss=1))
        with self.opened(store) as opened:
            opened.keep(first, first, reported(3, at(3, loss=3)))
            self.settle(store)
            opened.keep(first, reported(2, at(2, loss=2)), first)
            (series,) = self.ask(opened.store)
            assert steps(series) == [1, 2, 3]
        again = self.reopen(store, tmp_path)
        with self.opened(again) as opened:
            opened.keep(first, reported(2, at(2, loss=2)), reported(3, at(3, loss=3)), reported(4, at(4, loss=4)))
            (series,) = self.ask(opened.store)
            assert steps(series) == [1, 2, 3, 4]

    def test_another_run_or_job_with_the_same_number_is_another_report(self, tmp_path: Path) -> None:
        other = JobKey("local", "other")
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(
                reported(1, at(1, loss=1)), reported(1, at(2, loss=2), run="r-2"), reported(1, at(3, loss=3), key=other)
            )
            assert [steps(series) for series in self.ask(opened.store)] == [[1, 2]]
            assert [steps(series) for series in self.ask(opened.store, key=other)] == [[3]]

    @pytest.mark.parametrize(
        "points",
        [
            (at(1, loss=1), at(2**63, loss=1)),
            (at(1, loss=1), at(1, math.inf, loss=1)),
            (at(1, loss=1), Point(2, 1.0, {"half a character \ud800": Cell(1.0)})),
            (at(1, loss=1), Point(2, 1.0, {"a\0b": Cell(1.0)})),
        ],
        ids=["step", "time", "half a character", "NUL"],
    )
    def test_a_write_that_cannot_be_kept_fails_alone_and_whole(self, tmp_path: Path, points: tuple[Point, ...]) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            outcomes = opened.write(
                reported(1, at(1, loss=1), text="before"), reported(2, *points, text="bad"), reported(3, at(3, loss=3))
            )
            assert outcomes[0] is None
            assert isinstance(outcomes[1], InvalidError)
            assert outcomes[2] is None
            assert [steps(series) for series in self.ask(opened.store)] == [[1, 3]]
            assert list(opened.store.load()) == [(JOB, b"before")]

    # Removal

    def test_a_deleted_job_leaves_nothing(self, tmp_path: Path) -> None:
        other = JobKey("local", "other")
        store = self.make(tmp_path)
        with self.opened(store) as opened:
            for key in (JOB, other):
                opened.keep(*(reported(seq, at(seq, loss=seq), key=key, text="d") for seq in range(1, 100)))
            self.settle(store)
            opened.keep(reported(100, at(100, loss=1)), Write(key=JOB, delete=True))
            assert self.ask(opened.store) == []
            assert opened.store.metrics(JOB) == []
        with self.opened(self.reopen(store, tmp_path)) as opened:
            assert [job.key for job in opened.store.load()] == [other]
            assert self.ask(opened.store) == []
            assert [len(series.points) for series in self.ask(opened.store, key=other)] == [99]
            opened.keep(Write(key=JobKey("local", "never there"), delete=True))

    def test_delete_comes_before_the_rest_of_its_write(self, tmp_path: Path) -> None:
        anew = Write(
            key=JOB,
            delete=True,
            document=b"new",
            points=PointBatch(attempt="a-1", run="r-1", seq=1, points=(at(7, loss=7),)),
        )
        with self.opened(self.make(tmp_path)) as opened:
            opened.keep(reported(1, at(1, loss=1), text="old"))
            opened.keep(reported(2, at(2, loss=2)), anew, reported(2, at(8, loss=8)))
            assert [steps(series) for series in self.ask(opened.store)] == [[7, 8]]
            assert list(opened.store.load()) == [(JOB, b"new")]
            opened.keep(anew, Write(key=JOB, delete=True), anew, reported(1, at(9, loss=9)))
            assert [steps(series) for series in self.ask(opened.store)] == [[7]]

    # Completions and threads

    def test_every_write_is_answered_once_with_its_tag_in_order(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            keys = [JobKey("local", f"job-{number}") for number in range(4)]

            def submit(number: int) -> None:
                for seq in range(1, 251):
                    opened.store.submit(reported(seq, at(seq, loss=seq), key=keys[number]), (number, seq))

            self._run(*(lambda number=number: submit(number) for number in range(4)))
            opened.wait(1000)
            for number in range(4):
                tags = [tag for tag, _ in opened.heard if isinstance(tag, tuple) and tag[0] == number]
                assert tags == [(number, seq) for seq in range(1, 251)]
                (series,) = self.ask(opened.store, key=keys[number])
                assert steps(series) == list(range(1, 251))
            stats = opened.store.stats()
            assert (stats.writes, stats.failed_writes, stats.pending) == (1000, 0, 0)
            assert 1 <= stats.commits <= 1000

    def test_closing_finishes_what_is_queued_and_refuses_the_rest(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        opened = Opened(store)
        for seq in range(1, 201):
            store.submit(reported(seq, at(seq, loss=seq)), seq)
        store.close()
        store.close()
        assert [completion.error for completion in opened.heard] == [None] * 200
        store.submit(reported(201, at(201, loss=1)), "late")
        opened.wait(201)
        assert opened.heard[-1].tag == "late"
        assert opened.heard[-1].error is not None
        with self.opened(self.reopen(store, tmp_path)) as opened:
            assert [len(series.points) for series in self.ask(opened.store)] == [200]

    def test_a_listener_that_fails_does_not_stop_the_store(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        heard: list[Completion] = []

        def fail(completions: Sequence[Completion]) -> None:
            heard.extend(completions)
            raise RuntimeError("a fault of the listener, on purpose")

        store.open(fail)
        store.submit(document("one"), 1)
        wait_until(lambda: len(heard) == 1)
        store.submit(document("two"), 2)
        wait_until(lambda: len(heard) == 2)
        assert list(store.load()) == [(JOB, b"two")]
        store.close()

    def test_readers_see_whole_reports_while_others_are_written(self, tmp_path: Path) -> None:
        with self.opened(self.make(tmp_path)) as opened:
            seen: list[list[int]] = [[], []]

            def read(into: list[int]) -> None:
                while not into or into[-1] < 1500:
                    for series in opened.store.series(JOB, SeriesQuery(points=10_000)):
                        assert steps(series) == list(range(len(series.points)))
                        into.append(len(series.points))

            def write() -> None:
                for seq in range(75):
                    opened.write(reported(seq, *(at(seq * 20 + i, loss=i) for i in range(20))))

            self._run(write, lambda: read(seen[0]), lambda: read(seen[1]))
            for counts in seen:
                assert counts == sorted(counts)
                assert all(count % 20 == 0 for count in counts)

    def test_a_place_has_one_owner(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        other = self.reopen(store, tmp_path)
        with self.opened(store) as opened:
            with pytest.raises(StoreLockedError):
                other.open(lambda _: None)
            opened.keep(document("mine still"))
        with self.opened(other) as opened:
            assert list(opened.store.load()) == [(JOB, b"mine still")]

    @staticmethod
    def _run(*tasks: Callable[[], None]) -> None:
        """Runs tasks side by side; raises what the first of them raised."""
        failures: list[BaseException] = []

        def guarded(task: Callable[[], None]) -> None:
            try:
                task()
            except BaseException as error:  # noqa: BLE001 - raised again below, in the test's own thread
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(task,), daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        if failures:
            raise failures[0]
        assert not any(thread.is_alive() for thread in threads), "a task did not end in time"
