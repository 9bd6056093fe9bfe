"""What is asked of a process on its own holds at once, for as long as it is asked, and is asked again only if it was not done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from headway.protocol.directive import Directive, DirectiveKind
from headway.protocol.report import Checkpoint, Unit
from headway.reporter.agreement import Outcome, Pace, Wish
from headway.reporter.asking import Asking
from headway.reporter.countdown import Countdown
from headway.reporter.identity import Placement
from headway.reporter.slots import Slots

SAVE = Directive(id="s", kind=DirectiveKind.CHECKPOINT)
STOP = Directive(id="e", kind=DirectiveKind.STOP)
BOTH = Directive(id="p-save", kind=DirectiveKind.CHECKPOINT, then="p")


class Process:
    def __init__(self) -> None:
        self.slots = Slots(0, Unit.OPTIMIZER_STEP)
        self.deaths: list[str] = []
        self.countdown = Countdown(30.0, 3.0)
        self.asking = Asking(self.slots, Placement, lambda _: Pace(0), self.countdown)
        self.asking.die = self.deaths.append
        self.asking.start()

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.005)


@pytest.fixture
def process() -> Iterator[Process]:
    made = Process()
    yield made
    made.asking.close()


def test_a_save_is_asked_until_it_is_made_and_withdrawn_with_its_directive(process: Process) -> None:
    process.asking.hear([SAVE])
    process.until(process.slots.save_now)
    assert process.slots.save_now()
    assert not process.slots.stop_now()
    process.slots.saved(Checkpoint(step=3))
    assert not process.slots.save_now()
    assert list(process.slots.done) == ["s"]
    process.asking.hear([SAVE])  # the server has not heard of it yet
    process.asking.hear([SAVE, STOP])
    process.until(process.slots.stop_now)
    assert not process.slots.save_now()
    assert list(process.slots.done) == ["s", "e"]
    process.asking.hear([])
    process.until(lambda: not process.slots.done)
    assert process.slots.stop_now(), "once asked to stop, always"


def test_a_save_that_nobody_wants_any_more_is_not_asked(process: Process) -> None:
    process.asking.hear([SAVE])
    process.until(lambda: process.slots.requests)
    process.asking.hear([])
    process.until(lambda: not process.slots.requests)
    assert not process.slots.save_now()


def test_a_loop_that_saves_is_asked_for_both_at_once_and_one_that_does_not_for_neither_yet(process: Process) -> None:
    process.asking.hear([BOTH])
    process.until(lambda: process.slots.requests)
    assert not process.slots.stop_now(), "it never asked whether to save: it goes on until its time is nearly up"
    other = Process()
    try:
        assert not other.slots.save_now()
        other.asking.hear([BOTH])
        other.until(other.slots.save_now)
        assert other.slots.stop_now()
        other.slots.saved(Checkpoint(step=3))
        assert sorted(other.slots.done) == ["p", "p-save"]
    finally:
        other.asking.close()


def test_a_signal_is_heeded_where_the_loop_listens(process: Process) -> None:
    assert not process.asking.heed("SIGTERM"), "nobody listens"
    assert process.countdown.give_up_at is None
    assert not process.slots.stop_now()
    assert process.asking.heed("SIGTERM")
    assert process.asking.heed("SIGTERM"), "launchers send it twice, and two threads may hear of one"
    assert process.countdown.give_up_at is not None
    process.until(process.slots.save_now)
    assert process.slots.stop_now()
    assert process.slots.stopped_by.signal == "SIGTERM"
    assert len(process.slots.requests) == 1
    process.asking.close()
    assert not process.asking.heed("SIGTERM"), "it is over"


def test_where_the_processes_meet_is_looked_up_by_the_thread_that_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("headway.reporter.asking.find_torch", lambda: looked.append(threading.current_thread().name))
    slots, placement = Slots(0, Unit.OPTIMIZER_STEP), Placement(world_size=2)
    asking = Asking(slots, lambda: placement, lambda _: Pace(0), Countdown(30.0, 3.0))
    asking.start()
    try:
        end = time.monotonic() + 20
        while slots.survey is None:
            assert time.monotonic() < end
            time.sleep(0.005)
        assert looked == []
        slots.stop_now()
        slots.stop_now()
        assert slots.save_now() is False
        assert looked[0] == threading.current_thread().name
        assert set(looked) == {looked[0]}
    finally:
        asking.close()


def test_rank_0_is_told_alone_only_once_training_has_seen_that_its_processes_share_no_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headway.reporter.asking.find_torch", lambda: None)
    slots, placement = Slots(0, Unit.OPTIMIZER_STEP), Placement(rank=0, world_size=2)
    asking = Asking(slots, lambda: placement, lambda _: Pace(5, ahead=10), Countdown(30.0, 3.0))
    wanted = [STOP]
    assert not slots.stop_now()
    for _ in range(3):  # as its thread does: training does not ask meanwhile
        asking._take(tuple(wanted))
        asking._turn(0.0)
    assert slots.requests == ()
    assert not slots.stop_now(), "it looks now"
    asking._turn(0.0)
    assert len(slots.requests) == 1
    assert slots.stop_now()


def test_who_missed_the_step_stops_at_once_where_the_others_stop_and_never_saves_alone(process: Process) -> None:
    process.asking.missed(Wish(save=True, stop=True, signal="SIGTERM"))
    assert not process.slots.save_now()
    assert process.slots.stop_now()
    process.asking.concluded(Wish(save=True, stop=True), Outcome.GO)
    assert process.deaths == []
