"""All ranks do what is asked at the same step, or none does: under any order of events, and with bursts and late ranks."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.protocol.report import Checkpoint, Unit
from headway.reporter.agreement import Agreement, Outcome, Pace, Wish
from headway.reporter.marks import steps_ahead
from headway.reporter.request import Request
from headway.reporter.slots import Slots
from headway.reporter.voice import Voice

SAVE = Wish(save=True, stop=False)
END = Wish(save=True, stop=True, signal="SIGTERM", rank=1)


class MemoryBoard:
    """A store in memory. ``between`` is called before each operation: there, others may act."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.between: Callable[[], None] = lambda: None

    def put(self, key: str, value: str) -> None:
        self.between()
        assert key not in self.values, f"{key} was written twice"
        self.values[key] = value

    def read(self, key: str) -> str | None:
        self.between()
        return self.values.get(key)

    def claim(self, key: str, value: str) -> str:
        self.between()
        return self.values.setdefault(key, value)

    def gather(self, key: str, count: int) -> list[str] | None:
        self.between()
        values = [self.values.get(f"{key}/{rank}") for rank in range(count)]
        return None if None in values else values  # type: ignore[return-value]


class Rank:
    """One process: a loop that asks after each step, and its part in the agreement."""

    def __init__(self, board: MemoryBoard, rank: int, world: int, start: int = 0) -> None:
        self.slots = Slots(start, Unit.OPTIMIZER_STEP)
        self.voice = Voice(self.slots, self.slots.lanes[0].layer, start, Unit.OPTIMIZER_STEP, claims=True)
        self.slots.join(self.voice)
        self.now = 0.0
        self.marks: list[tuple[int, float]] = []
        self.saved: list[int] = []
        self.stopped: int | None = None
        self.late: list[Wish] = []
        self.outcomes: list[Outcome] = []
        self.polling = False
        self.agreement = Agreement(board, rank, world, self)

    def train(self, now: float) -> None:
        if self.stopped is not None:
            return
        self.voice.step()
        self.marks = [*self.marks, (self.voice.last_step, now)][-512:]
        if self.voice.should_checkpoint:
            self.saved.append(self.voice.last_step)
            self.voice.checkpointed()
        if self.voice.should_stop:
            self.stopped = self.voice.last_step

    def poll(self, now: float) -> float:
        self.now = now
        self.polling = True
        try:
            return self.agreement.poll(now)
        finally:
            self.polling = False

    def pace(self, seconds: float) -> Pace:
        age = self.now - self.marks[-1][1] if self.marks else 0.0
        return Pace(self.slots.completed, steps_ahead(tuple(self.marks), seconds, max(0.0, age)))

    def post(self, wish: Wish, step: int) -> Request:
        request = Request(save=wish.save, stop=wish.stop, step=step, signal=wish.signal)
        self.slots.requests = (*self.slots.requests, request)
        return request

    def drop(self, request: Request) -> None:
        self.slots.requests = tuple(each for each in self.slots.requests if each is not request)

    def missed(self, wish: Wish) -> None:
        self.late.append(wish)

    def concluded(self, wish: Wish, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 4), st.sampled_from([SAVE, END]), st.integers(0, 2**32), st.integers(0, 3))
def test_whatever_the_order_of_events_a_checkpoint_is_of_one_step(
    world: int, wish: Wish, seed: int, wisher: int
) -> None:
    """Any operation of any rank may come between any two of another: the ranks that save do so at one step, and one that misses
    it knows."""
    rng = random.Random(seed)
    board = MemoryBoard()
    ranks = [Rank(board, rank, world) for rank in range(world)]
    for rank in ranks:
        for step in range(4):
            rank.train(step * 0.5)
    clock = [2.0]
    depth = [0]

    def act() -> None:
        rank = rng.choice(ranks)
        clock[0] += rng.choice([0.0, 0.01, 0.3])
        if rng.random() < 0.35:
            rank.train(clock[0])
        elif not rank.polling:
            rank.poll(clock[0])

    def between() -> None:
        if depth[0] < 3 and rng.random() < 0.3:
            depth[0] += 1
            act()
            depth[0] -= 1

    board.between = between
    ranks[wisher % world].agreement.wish(wish)
    for _ in range(400):
        act()
    board.between = lambda: None
    for _ in range(60):  # in the end, everybody hears
        for rank in ranks:
            clock[0] += 0.05
            rank.poll(clock[0])
    for _ in range(200):
        for rank in ranks:
            rank.train(clock[0])
    steps = {step for rank in ranks for step in rank.saved}
    gone = sum(value == Outcome.GO for key, value in board.values.items() if key.startswith("out/"))
    assert len(steps) <= 1
    assert gone <= 1
    assert not steps or gone
    for rank in ranks:
        assert (len(rank.saved) + len(rank.late)) == gone


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 5),
    st.sampled_from([0.002, 0.03, 0.4, 3.0, 20.0]),
    st.sampled_from(["even", "bursts", "uneven"]),
    st.integers(0, 2**32),
)
def test_with_threads_that_run_all_ranks_do_it_at_the_same_step(
    world: int, seconds: float, shape: str, seed: int
) -> None:
    """Steps of every length and rhythm; each rank looks when it is due or up to twice as late: nobody misses the step."""
    rng = random.Random(seed)
    board = MemoryBoard()
    ranks = [Rank(board, rank, world) for rank in range(world)]

    def length(step: int) -> float:
        if shape == "bursts":  # ten are dispatched at once, then the device is waited for
            return 10 * seconds if step % 10 == 0 else seconds / 1000
        return seconds if shape == "even" else seconds * rng.uniform(0.5, 1.5)

    step, done_at = 0, 0.0
    looks = {rank: rng.uniform(0, 1) for rank in ranks}
    asked_at = 25 * seconds + rng.uniform(0, 10 * seconds)
    asked = False
    done_at = length(1)
    while not all(rank.stopped for rank in ranks):
        rank, look = min(looks.items(), key=lambda item: item[1])
        if done_at <= look:
            step += 1
            for each in rng.sample(ranks, world):  # a collective ends: all go on at nearly the same time
                each.train(done_at)
            done_at += length(step + 1)
            assert step < 200_000, "it never came to an end"
            continue
        if not asked and look >= asked_at:
            asked = True
            ranks[world - 1].agreement.wish(END)
        looks[rank] = look + rank.poll(look) * rng.uniform(1, 2)
    assert not any(rank.late for rank in ranks)
    assert {tuple(rank.saved) for rank in ranks} == {(step,)}
    assert {rank.stopped for rank in ranks} == {step}


def together(ranks: list[Rank], until: Callable[[], bool], *, seconds: float = 0.1, most: float = 200.0) -> float:
    """Lockstep training, looks every 50 ms; returns when it was done."""
    now = ranks[0].now
    begun, steps, most = now, 0, most + now
    while not until():
        assert now < most
        now += 0.05
        if now >= begun + steps * seconds:
            steps += 1
            for rank in ranks:
                rank.train(now)
        for rank in ranks:
            rank.poll(now)
    return now


def test_a_second_wish_follows_the_first_and_one_that_it_covers_is_done_with_it() -> None:
    board = MemoryBoard()
    ranks = [Rank(board, rank, 3) for rank in range(3)]
    ranks[0].agreement.wish(SAVE)
    ranks[1].agreement.wish(END)
    ranks[2].agreement.wish(END)
    together(ranks, lambda: all(rank.stopped for rank in ranks))
    assert len({tuple(rank.saved) for rank in ranks}) == 1
    assert len(ranks[0].saved) in (1, 2)  # the second may have come to a nearer step than the first
    assert ranks[0].saved[-1] == ranks[0].stopped
    assert {key for key in board.values if key.startswith("wish/")} == {"wish/0", "wish/1"}


def test_a_rank_that_does_not_answer_ends_the_round_and_nobody_saves() -> None:
    board = MemoryBoard()
    ranks = [Rank(board, rank, 2) for rank in range(2)]
    together(ranks, lambda: ranks[0].agreement.complete)
    ranks[0].agreement.wish(END)
    together(ranks[:1], lambda: bool(ranks[0].outcomes))
    assert ranks[0].outcomes == [Outcome.SILENT]
    assert ranks[0].saved == []


def test_until_all_are_there_it_looks_more_often_but_not_for_ever() -> None:
    board = MemoryBoard()
    alone = Rank(board, 0, 2)
    waits = [alone.poll(number) for number in range(50)]
    assert waits == [0.25] * 40 + [1.0] * 10
    other = Rank(board, 1, 2)
    assert other.poll(50.0) == 1.0
    assert other.agreement.complete


def test_where_one_process_does_not_track_rank_0_is_alone() -> None:
    board = MemoryBoard()
    alone = Rank(board, 0, 2)
    alone.agreement.wish(SAVE)
    together([alone], lambda: bool(alone.outcomes))
    assert alone.outcomes == [Outcome.ALONE]


def test_ranks_that_start_at_different_steps_do_not_agree(caplog: pytest.LogCaptureFixture) -> None:
    board = MemoryBoard()
    ranks = [Rank(board, 0, 2, start=5000), Rank(board, 1, 2)]
    together(ranks, lambda: ranks[0].slots.completed > 5020)
    ranks[0].agreement.wish(SAVE)
    together(ranks, lambda: bool(ranks[0].outcomes))
    assert ranks[0].outcomes == [Outcome.ALONE]
    assert "do not count the same steps" in caplog.text


def test_a_later_run_on_the_same_store_begins_with_a_new_round() -> None:
    board = MemoryBoard()
    ranks = [Rank(board, rank, 2) for rank in range(2)]
    ranks[1].agreement.wish(END)
    together(ranks, lambda: all(rank.stopped for rank in ranks))
    for rank in range(2):
        del board.values[f"here/{rank}"]
    later = [Rank(board, rank, 2) for rank in range(2)]
    together(later, lambda: later[0].slots.completed > 50)
    assert all(rank.saved == [] and rank.stopped is None for rank in later)


def test_what_is_asked_at_an_agreed_step_holds_for_that_step_only() -> None:
    slots = Slots(0, Unit.OPTIMIZER_STEP)
    voice = Voice(slots, slots.lanes[0].layer, 0, Unit.OPTIMIZER_STEP, claims=True)
    slots.join(voice)
    request = Request(save=True, step=2, save_ids=("d",))
    slots.requests = (request,)
    request.settle(go=True)
    asked = []
    for _ in range(4):
        voice.step()
        asked.append(voice.should_checkpoint)
    assert asked == [False, True, False, False]  # not called: checkpointed()
    assert not slots.done
    slots.saved(Checkpoint(step=2))  # an asynchronous save is complete at last
    assert list(slots.done) == ["d"]


def test_a_step_that_is_reached_before_the_word_decides_against_it() -> None:
    request = Request(save=True, stop=True, step=5)
    assert not request.holds(4)
    assert not request.decided
    assert not request.holds(5)
    assert request.refused
    assert not request.settle(go=True)
    assert not request.holds(6)
