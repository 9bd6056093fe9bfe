"""Conditions of real reports under a fake clock: what stands, since when, and what it costs."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import Job, JobKey, Spec, State
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Checkpoint, Ending, EndingKind, Phase, RunInfo
from headway.protocol.verdict import Condition, ConditionType, Verdict
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

KEY = JobKey("local", "job")
STACK = """  File "/home/ada/train.py", line 88, in train_step
    loss.backward()
  File "/opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", line 2501, in all_reduce
    work.wait()
"""
DATA_STACK = '  File "/home/ada/data.py", line 41, in read\n    return next(self.files)\n'


class World:
    """A hub, a runner that gives signs of life, and the processes it started, all under one clock."""

    def __init__(self, hub: Hub, clock: FakeClock) -> None:
        self.hub, self.clock = hub, clock
        self.began = clock()
        self.attempt = "attempt-1"

    async def begins(self, attempt: str = "attempt-1", **spec) -> None:
        self.attempt, self.began = attempt, self.clock()
        await self.hub.register(KEY, Registration(runner="runner", attempt=attempt, spec=Spec(**spec)))
        await self.runner(LifecycleKind.STARTED)

    async def runner(self, kind: LifecycleKind, **more) -> None:
        await self.hub.lifecycle(KEY, Lifecycle(kind=kind, runner="runner", attempt=self.attempt, **more))

    async def at(self, run: SyntheticRun, step: int, **more) -> None:
        await self.hub.ingest(KEY, run.at(step, t=self.clock() - self.began, **more))

    async def steps(self, run: SyntheticRun, first: int, last: int, *, gap: float = 1.0, **more) -> None:
        for step in range(first, last + 1):
            await self.passes(gap)
            await self.at(run, step, **more)

    async def stands(self, run: SyntheticRun, step: int, seconds: int, *, since: float, every: int = 1, **more) -> None:
        """Reports go on, and the step does not."""
        for _ in range(0, seconds, every):
            await self.passes(every)
            await self.at(run, step, metrics={}, last_step_age=self.clock() - since, **more)
            self.hub.tick()

    async def passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.runner(LifecycleKind.ALIVE)
        self.hub.tick()

    @property
    def job(self) -> Job:
        return self.hub.job(KEY)

    def condition(self, kind: ConditionType) -> Condition | None:
        """The one of that type that stands."""
        return next((one for one in self.job.conditions if one.type is kind and one.until is None), None)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0))
    await hub.start()
    yield World(hub, clock)
    await hub.stop()


async def test_a_run_that_beats_and_does_not_step_is_stalled_and_says_where_it_stands(world: World):
    """C3."""
    await world.begins(price_per_hour=60.0, devices_per_node=8)
    run = SyntheticRun()
    await world.steps(run, 1, 183)
    last = world.clock()
    await world.stands(run, 183, 59, since=last)
    assert world.job.verdict is Verdict.PROGRESSING
    await world.stands(run, 183, 3, since=last, stack=STACK)
    job = world.job
    assert job.verdict is Verdict.STALLED
    condition = world.condition(ConditionType.STALLED)
    assert condition is not None
    assert (condition.since, condition.since_step) == (last, 183)
    assert (
        "train.py:88 in train_step, inside torch/distributed/distributed_c10d.py:2501 in all_reduce" in condition.text
    )
    assert condition.evidence["phase"] is None
    assert job.progress.last_step_age == pytest.approx(62.0)
    assert job.eta is None, "nobody knows"
    assert job.ledger.without_progress.money == pytest.approx(62 / 60)
    assert job.ledger.without_progress.device_hours == pytest.approx(8 * 62 / 3600)
    assert "all_reduce" in (job.ranks[0].stack or "")
    await world.stands(run, 183, 30, since=last)
    assert "train.py:88" in (world.job.verdict_text or ""), "the stack holds on until a step is made"

    await world.steps(run, 184, 186)
    assert world.job.verdict is Verdict.PROGRESSING
    past = next(one for one in world.job.conditions if one.type is ConditionType.STALLED)
    assert (past.since, past.until_step) == (last, 184)
    assert world.job.ledger.without_progress.money == 0.0
    assert world.job.ranks[0].stack is None


@pytest.mark.slow
async def test_three_days_at_a_step_a_minute_with_beats_never_alarm():
    """C5."""
    clock = FakeClock()
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0, report_interval=15.0))
    await hub.start()
    world = World(hub, clock)
    await world.begins()
    run = SyntheticRun(total=10_000)
    jitter = random.Random(1)
    for step in range(1, 3 * 24 * 60):
        reached = world.clock()
        await world.at(run, step)
        await world.stands(run, step, 15 * jitter.randint(3, 5), since=reached, every=15)
    assert world.job.conditions == ()
    await hub.stop()


async def test_stalled_early_once_the_pace_is_evident(world: World):
    await world.begins()
    run = SyntheticRun()
    await world.steps(run, 1, 3)
    await world.stands(run, 3, 62, since=world.clock())
    assert world.job.verdict is Verdict.STALLED


async def test_before_the_first_step_half_an_hour_is_allowed(world: World):
    await world.begins()
    run = SyntheticRun()
    began = world.clock()
    for _ in range(175):
        await world.passes(10)
        await world.at(run, 0, metrics={}, phase=Phase.INIT)
    assert world.job.verdict is Verdict.STARTING
    for _ in range(8):
        await world.passes(10)
        await world.at(run, 0, metrics={}, phase=Phase.INIT)
    condition = world.condition(ConditionType.STALLED)
    assert condition is not None
    assert condition.since == pytest.approx(began, abs=11)


@pytest.mark.parametrize("told_by", ["job", "run", "server"])
async def test_the_floor_is_a_setting_of_the_job_the_run_or_the_server(told_by: str):
    clock = FakeClock()
    settings = HubSettings(tick=3600.0, stall_floor=10.0 if told_by == "server" else 60.0)
    hub = Hub(MemoryStore(), clock=clock, settings=settings)
    await hub.start()
    world = World(hub, clock)
    await world.begins(stall_floor=10.0 if told_by == "job" else None)
    run = SyntheticRun()
    await world.at(run, 0, job=RunInfo(stall_floor=10.0 if told_by == "run" else None))
    await world.steps(run, 1, 30)
    await world.stands(run, 30, 9, since=world.clock())
    assert world.condition(ConditionType.STALLED) is None
    await world.stands(run, 30, 3, since=world.clock() - 9)
    assert world.condition(ConditionType.STALLED) is not None
    await hub.stop()


async def test_a_silent_run_is_silent_and_not_stalled(world: World):
    await world.begins()
    await world.steps(SyntheticRun(), 1, 50)
    for _ in range(300):
        await world.passes(1)
    assert [one.type for one in world.job.conditions] == [ConditionType.SILENT]


async def test_a_runner_that_sees_the_interpreter_stand_still_tells_where(world: World):
    from headway.protocol.lifecycle import Stuck

    await world.begins()
    run = SyntheticRun()
    await world.steps(run, 1, 50)
    dump = (
        'Timeout (0:00:30)!\nThread 0x00007f (most recent call first):\n  File "/home/ada/train.py", line 9 in spin\n'
    )
    for _ in range(70):
        world.clock.advance(1)
        await world.runner(LifecycleKind.ALIVE, stuck=Stuck(run=run.run, stack=dump))
        world.hub.tick()
    assert world.job.verdict is Verdict.STALLED
    text = world.job.verdict_text or ""
    assert "train.py:9 in spin" in text
    assert "interpreter lock" in text
    assert world.condition(ConditionType.SILENT) is not None
    await world.steps(run, 51, 52)
    assert world.job.verdict is Verdict.PROGRESSING


async def test_a_server_that_was_away_learns_no_gap_from_it(world: World):
    await world.begins()
    run = SyntheticRun(total=10**6)
    await world.steps(run, 1, 50)
    world.clock.advance(3600)  # the server was away, and the run went on
    await world.passes(0)
    await world.steps(run, 3650, 3660)
    await world.stands(run, 3660, 62, since=world.clock())
    assert world.job.verdict is Verdict.STALLED


async def test_what_was_learnt_of_the_pace_survives_a_restart_of_the_server():
    clock, store = FakeClock(), MemoryStore()
    first = Hub(store, clock=clock, settings=HubSettings(tick=3600.0))
    await first.start()
    world = World(first, clock)
    await world.begins()
    run = SyntheticRun()
    await world.steps(run, 1, 100)
    await first.stop()
    clock.advance(5)
    second = Hub(store, clock=clock, settings=HubSettings(tick=3600.0))
    await second.start()
    world.hub = second
    since = clock() - 5
    await world.stands(run, 100, 57, since=since)
    assert world.condition(ConditionType.STALLED) is not None
    assert world.condition(ConditionType.STALLED).since == pytest.approx(since)  # type: ignore[union-attr]
    await second.stop()


async def test_an_evaluation_that_is_declared_has_a_clock_of_its_own(world: World):
    await world.begins()
    run = SyntheticRun()
    for evaluation in range(3):
        await world.steps(run, 50 * evaluation + 1, 50 * evaluation + 50)
        await world.stands(run, 50 * evaluation + 50, 120, since=world.clock(), phase=Phase.EVAL)
        assert world.job.conditions == ()
    await world.steps(run, 151, 160)
    await world.stands(run, 160, 62, since=world.clock())
    assert world.job.verdict is Verdict.STALLED


async def test_attempts_that_end_before_the_step_reached_are_a_restart_loop(world: World):
    for number in range(1, 6):
        await world.begins(f"attempt-{number}", price_per_hour=3600.0)
        run = SyntheticRun(f"run-{number}", world.attempt)
        began = world.clock()
        await world.steps(run, 200 if number > 1 else 1, 212 if number < 5 else 205)
        if number == 2:
            first_for_nothing = began
        if number < 5:
            ending = Ending(kind=EndingKind.FAILED, exit_code=1, exception="OutOfMemoryError")
            await world.runner(LifecycleKind.ENDED, ending=ending, restarting=True)
            await world.passes(5)
            assert world.job.state is State.RESTARTING
    condition = world.condition(ConditionType.RESTART_LOOP)
    assert condition is not None
    assert condition.since == first_for_nothing
    assert condition.text.startswith("3 attempts in a row ended without passing step 212 (last steps: 212, 212, 212)")
    assert world.job.verdict is Verdict.RESTART_LOOP
    ran = 3 * 13 + 6
    assert world.job.ledger.without_progress.money == pytest.approx(ran, abs=2.0), "only time in Running counts"
    await world.steps(SyntheticRun("run-5", world.attempt), 206, 206)
    run = SyntheticRun("run-5", world.attempt)
    run.seq = 100
    await world.steps(run, 207, 213)
    assert world.condition(ConditionType.RESTART_LOOP) is None


async def test_a_rank_that_is_lost_or_behind_is_named(world: World):
    await world.begins()
    runs = [SyntheticRun(f"run-{rank}", rank=rank, world_size=4) for rank in range(4)]

    async def together(step: int, ranks: list[int], **more) -> None:
        for rank in ranks:
            t = world.clock() - world.began
            report = (
                runs[rank].at(step, t=t, **more) if rank == 0 else runs[rank].beat(step, t=t, stack=more.get("stack"))
            )
            await world.hub.ingest(KEY, report)

    for step in range(1, 60):
        await world.passes(1)
        await together(step, [0, 1, 2, 3])
    for step in range(60, 80):
        await world.passes(1)
        await together(step, [0, 1, 3])
    condition = world.condition(ConditionType.STRAGGLING_RANK)
    assert condition is not None
    assert "rank 2 has not been heard for" in condition.text
    assert "3 others have" in condition.text
    assert (condition.evidence["rank"], world.job.verdict) == (2, Verdict.STRAGGLING_RANK)
    for step in range(80, 90):
        await world.passes(1)
        await together(step, [0, 1, 2, 3])
    assert world.condition(ConditionType.STRAGGLING_RANK) is None

    for _ in range(63):  # rank 3 never ends step 90, and so the others never end 91
        await world.passes(1)
        await together(90, [0, 1, 2], last_step_age=0.0)
        await together(89, [3])
    condition = world.condition(ConditionType.STRAGGLING_RANK)
    assert condition is not None
    assert "rank 3 has stood at step 89" in condition.text


async def test_the_one_rank_that_stands_elsewhere_is_named(world: World):
    await world.begins()
    runs = [SyntheticRun(f"run-{rank}", rank=rank, world_size=4) for rank in range(4)]
    for step in [*range(1, 60), *[60] * 70]:
        await world.passes(1)
        for rank, run in enumerate(runs):
            stack = None if step < 60 else DATA_STACK if rank == 1 else STACK
            t = world.clock() - world.began
            await world.hub.ingest(
                KEY, run.at(step, t=t, metrics={}, stack=stack) if rank == 0 else run.beat(step, t=t, stack=stack)
            )
    world.hub.tick()
    condition = world.condition(ConditionType.STRAGGLING_RANK)
    assert condition is not None
    assert condition.text == "rank 1 stands at data.py:41 in read, the 3 others at train.py:88 in train_step"
    assert world.job.verdict is Verdict.STALLED


async def test_a_slow_down_is_found_with_its_onset(world: World):
    await world.begins()
    run = SyntheticRun(total=10**6)
    await world.steps(run, 1, 700)
    onset = world.clock()
    await world.steps(run, 701, 940, gap=1.25)
    condition = world.condition(ConditionType.SLOW)
    assert condition is not None
    assert world.clock() - onset <= 300
    assert condition.since == pytest.approx(onset, abs=15)
    assert condition.evidence["ratio"] == pytest.approx(1.25, abs=0.03)
    await world.steps(run, 941, 1100)
    assert world.condition(ConditionType.SLOW) is None


async def test_a_loss_of_zero_beside_a_gradient_that_is_no_number_is_not_finite(world: World):
    """D2."""
    await world.begins()
    run = SyntheticRun()
    await world.steps(run, 1, 20, metrics={"loss": 2.0, "grad_norm": 1.0})
    onset = world.clock() + 1
    await world.steps(run, 21, 22, metrics={"loss": 0.0, "grad_norm": float("nan")})
    await world.passes(1)
    assert world.job.verdict is Verdict.NON_FINITE
    condition = world.condition(ConditionType.NON_FINITE)
    assert condition is not None
    assert condition.since == pytest.approx(onset, abs=1)
    assert world.job.ledger.without_progress.device_hours is None
    begun, grads = world.clock(), {"loss": 1.9, "grad_norm": 1.0}
    await world.steps(run, 23, 28, metrics=grads)
    await world.passes(1)
    past = next(one for one in world.job.conditions if one.type is ConditionType.NON_FINITE)  # D4
    assert past.until is not None
    assert begun < past.until <= world.clock()
    assert world.job.verdict is not Verdict.NON_FINITE


async def test_a_metric_that_repeats_to_the_last_digit_is_frozen_until_it_moves(world: World):
    """D3 and D4."""
    await world.begins()
    run = SyntheticRun()
    await world.steps(run, 1, 30, metrics={"loss": 0.6931471805})
    await world.passes(1)
    assert world.condition(ConditionType.FROZEN) is not None
    await world.steps(run, 31, 32, metrics={"loss": 0.62})
    await world.passes(1)
    (past,) = (one for one in world.job.conditions if one.type is ConditionType.FROZEN)
    assert past.until is not None
    assert past.until > past.since


async def test_what_is_not_decided_says_so(world: World):
    await world.begins()
    run = SyntheticRun(total=4000)
    for step in range(1, 200):
        await world.passes(1)
        await world.at(run, step, metrics={"loss": 2.0 + 0.2 * ((step * 7919) % 13 - 6) / 6})
    await world.passes(1)
    job = world.job
    assert job.verdict in {Verdict.UNDECIDED, Verdict.PLATEAUED}
    assert "no measurable improvement" in (job.verdict_text or "")


async def test_at_risk_counts_from_the_last_checkpoint(world: World):
    await world.begins(price_per_hour=3600.0)
    run = SyntheticRun()
    await world.steps(run, 1, 10)
    await world.at(run, 10, metrics={}, checkpoint=Checkpoint(step=10))
    await world.steps(run, 11, 30)
    ledger = world.job.ledger
    assert ledger.at_risk.money == pytest.approx(20.0)
    assert ledger.spent.money == pytest.approx(30.0)
    assert ledger.remaining.money == pytest.approx(970.0, rel=0.1)


async def test_a_job_that_ends_stalled_keeps_what_it_cost(world: World):
    await world.begins(price_per_hour=3600.0)
    run = SyntheticRun()
    await world.steps(run, 1, 50)
    await world.stands(run, 50, 100, since=world.clock())
    await world.runner(LifecycleKind.ENDED, ending=Ending(kind=EndingKind.CANCELLED, signal="SIGTERM"))
    world.hub.tick()
    job = world.job
    assert job.state is State.STOPPED
    assert job.ledger.without_progress.money == pytest.approx(100.0)


async def test_a_job_that_waits_for_its_start_is_held_for_nothing(world: World):
    """It is known, and no process runs: no clock does either."""
    await world.hub.register(KEY, Registration(runner="runner", attempt="attempt-1", spec=Spec(price_per_hour=3600.0)))
    for _ in range(600):
        await world.passes(60)
    assert world.job.state is State.CREATED
    assert world.job.conditions == ()
    assert world.job.ledger.spent.money == 0.0
    await world.begins(price_per_hour=3600.0)
    run = SyntheticRun()
    await world.steps(run, 1, 60)
    job = world.job
    assert job.conditions == ()
    assert job.ledger.spent.money == pytest.approx(60.0)
    assert job.eta is not None
    assert job.eta.seconds == pytest.approx(940, rel=0.15)


async def test_a_paused_job_is_held_for_nothing_and_goes_on_as_it_was(world: World):
    await world.begins(price_per_hour=3600.0)
    run = SyntheticRun()
    await world.steps(run, 1, 400)
    await world.at(run, 400, metrics={}, checkpoint=Checkpoint(step=400))
    ending = Ending(kind=EndingKind.CANCELLED, signal="SIGTERM", step=400, total_steps=1000)
    await world.runner(LifecycleKind.ENDED, ending=ending, paused=True)
    before = world.job.ledger
    for _ in range(480):
        await world.passes(60)
    assert world.job.state is State.PAUSED
    assert world.job.conditions == ()
    assert world.job.eta is None
    assert world.job.ledger == before
    await world.begins("attempt-2", price_per_hour=3600.0)
    resumed = SyntheticRun(run="run-2", attempt="attempt-2")
    await world.steps(resumed, 401, 520)
    job = world.job
    assert job.state is State.RUNNING
    assert job.conditions == ()
    assert job.ledger.spent.money == pytest.approx(520.0, abs=3.0)
    assert job.eta is not None
    assert job.eta.seconds == pytest.approx(480, rel=0.15)
    await world.stands(resumed, 520, 70, since=world.clock())
    assert world.job.verdict is Verdict.STALLED


async def test_a_plateau_costs_nothing_while_the_job_is_paused(world: World):
    await world.begins(price_per_hour=3600.0)
    run = SyntheticRun(total=1000)
    rng = random.Random(2)
    for step in range(1, 401):
        level = max(2.0, 6.0 - 0.05 * step)
        await world.passes(1)
        await world.at(run, step, metrics={"loss": level * (1 + 0.002 * rng.gauss(0, 1))})
    assert world.job.verdict is Verdict.PLATEAUED
    ending = Ending(kind=EndingKind.CANCELLED, signal="SIGTERM", step=400, total_steps=1000)
    await world.runner(LifecycleKind.ENDED, ending=ending, paused=True)
    before = world.job.ledger.without_progress.money
    assert before is not None
    assert 250 < before < 350
    for _ in range(60):
        await world.passes(60)
    assert world.job.ledger.without_progress.money == pytest.approx(before, abs=1.0)


async def test_what_came_and_went_between_two_life_signs_is_in_the_next_answer(world: World):
    await world.begins()
    run = SyntheticRun()
    await world.steps(run, 1, 40)
    for step in (41, 42):
        await world.at(run, step, metrics={"loss": float("nan")})
    world.hub.tick()
    assert world.job.verdict is Verdict.NON_FINITE
    world.clock.advance(0.5)
    for step in range(43, 47):
        await world.at(run, step, metrics={"loss": 1.0})
    world.hub.tick()
    assert world.condition(ConditionType.NON_FINITE) is None
    alive = Lifecycle(kind=LifecycleKind.ALIVE, runner="runner", attempt="attempt-1")
    (told,) = (await world.hub.lifecycle(KEY, alive)).conditions
    assert told.type is ConditionType.NON_FINITE
    assert told.until is not None
    world.clock.advance(61.0)
    assert (await world.hub.lifecycle(KEY, alive)).conditions == ()
