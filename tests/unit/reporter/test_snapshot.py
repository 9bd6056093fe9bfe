"""Percent, ages, phases, and when standing still is worth a word. Time is an argument."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from headway.protocol.report import Cell, Ending, EndingKind, Phase, Point, Unit
from headway.reporter.fold import Folded
from headway.reporter.notices import Notices
from headway.reporter.run import Run, inert_run
from headway.reporter.slots import Slots
from headway.reporter.snapshot import Snapshot
from headway.reporter.stacks import stack_of


def made(total: int | None = 100, start: int = 0) -> tuple[Run, Slots, Snapshot]:
    slots = Slots(start, Unit.OPTIMIZER_STEP)
    run = inert_run(slots)
    run.set_total(total)
    return run, slots, Snapshot(slots, origin=0.0, notices=Notices())


def advance(run: Run, snapshot: Snapshot, at: float, steps: int = 1) -> None:
    for _ in range(steps):
        run.step()
    snapshot.take_in(
        Folded(last_step=run.last_step, last_step_at=at, points=[Point(run.last_step, at, {"loss": Cell(1.0)})]), at
    )


def test_percent_is_rounded_down_and_100_only_for_a_whole_run() -> None:
    run, _, snapshot = made(total=3)
    completed = Ending(kind=EndingKind.COMPLETED)
    assert snapshot.status(0.0, None).progress_percentage == 0
    advance(run, snapshot, 1.0, 2)
    assert snapshot.status(1.0, None).progress_percentage == 66
    assert snapshot.status(1.0, completed).progress_percentage == 66
    advance(run, snapshot, 2.0)
    assert snapshot.status(2.0, None).progress_percentage == 99
    assert snapshot.status(2.0, Ending(kind=EndingKind.FAILED)).progress_percentage == 99
    assert snapshot.status(2.0, completed).progress_percentage == 100
    assert snapshot.status(2.0, completed).estimated_remaining_seconds == 0


def test_unknown_is_absent() -> None:
    run, _, snapshot = made(total=None)
    progress = snapshot.progress(5.0)
    assert (progress.step, progress.total_steps, progress.epoch, progress.last_step_age) == (0, None, None, None)
    assert progress.phase is Phase.INIT
    advance(run, snapshot, 6.0)
    status = snapshot.status(7.0, None)
    assert (status.progress_percentage, status.estimated_remaining_seconds) == (None, None)
    assert status.metrics == {"current_step": "1", "loss": "1.0"}
    assert snapshot.progress(7.5).last_step_age == 1.5
    assert snapshot.progress(7.5).phase is Phase.TRAIN


def test_stands_still_by_the_runs_own_pace() -> None:
    run, _, snapshot = made()
    assert snapshot.standstill(600.0) == (600.0, 1800.0)  # compiling
    for step in range(1, 12):  # a step a minute is no stall
        advance(run, snapshot, 2000.0 + 60 * step)
    assert snapshot.standstill(2660.0 + 299) == (299.0, 300.0)
    advance(run, snapshot, 2962.0)
    assert snapshot.standstill(2963.0)[0] == 1.0


def test_fast_runs_get_at_least_a_minute_or_what_the_user_sets() -> None:
    run, slots, snapshot = made()
    quick = Snapshot(slots, origin=0.0, notices=Notices(), stall_floor=10.0)
    for tick in range(1, 20):
        advance(run, snapshot, float(tick), 50)
        quick.take_in(Folded(last_step=run.last_step, last_step_at=float(tick)), float(tick))
    assert snapshot.standstill(19.0 + 59) == (59.0, 60.0)
    assert quick.standstill(19.0 + 9) == (9.0, 10.0)


def test_a_declared_phase_has_its_own_clock() -> None:
    run, slots, snapshot = made()
    for tick in range(1, 20):
        advance(run, snapshot, float(tick), 50)
    slots.phase = Phase.EVAL
    snapshot.take_in(Folded(), 20.0)
    assert snapshot.standstill(120.0) == (100.0, 1800.0)


def test_the_stack_shows_where_a_thread_stands() -> None:
    waiting, go = threading.Event(), threading.Event()

    def where_it_hangs() -> None:
        waiting.set()
        go.wait(10)

    thread = threading.Thread(target=where_it_hangs)
    thread.start()
    waiting.wait(10)
    text = stack_of(thread.ident)
    go.set()
    thread.join()
    assert "where_it_hangs" in text
    assert stack_of(None) is None


@pytest.mark.parametrize("first", [0, 1])
def test_numbered_steps_count_from_where_the_caller_counts(first: int) -> None:
    run, slots, _ = made(total=10)
    for number in range(first, first + 4):
        run.step(number)
    assert slots.completed == 4


def test_nothing_that_is_handed_in_raises() -> None:
    run, slots, _ = made()
    run._append = slots.entries.append
    run.step("seven", loss=1.0)
    run.log(step=object(), loss=1.0)
    run.log(epoch="late", loss=1.0)
    run.set_epoch(float("nan"), total=-1)
    run.checkpointed("x")
    run.set_total(object())
    assert (slots.epoch, slots.total_epochs, slots.total_steps, slots.checkpoint) == (None, None, None, None)
    assert run.last_step == 0


def test_a_run_that_travels_to_another_process_or_is_copied_is_switched_off() -> None:
    run, slots, _ = made()
    run._append = slots.entries.append
    run.step(loss=1.0)
    for twin in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        twin.step(loss=2.0)
        assert not twin.active
        assert twin.last_step == 2
    assert len(slots.entries) == 1
