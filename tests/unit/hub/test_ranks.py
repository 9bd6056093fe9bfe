"""Several processes of one job: what one of them starts is not it, and who waits for rank 0 speaks for the job."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import JobKey
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.verdict import Condition, ConditionType
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

KEY = JobKey("local", "job")
STACK = '  File "/opt/job/train.py", line 88, in train_step\n    dist.all_reduce(gradient)\n'


class Two:
    """Two ranks, and a clock."""

    def __init__(self, hub: Hub, clock: FakeClock) -> None:
        self.hub, self.clock, self.began = hub, clock, clock()
        self.ranks = [SyntheticRun(f"run-{rank}", rank=rank, world_size=2) for rank in range(2)]

    async def begin(self) -> None:
        await self.hub.register(KEY, Registration(runner="runner", attempt="attempt-1"))
        await self.tell(LifecycleKind.STARTED)

    async def tell(self, kind: LifecycleKind) -> None:
        await self.hub.lifecycle(KEY, Lifecycle(kind=kind, runner="runner", attempt="attempt-1"))

    async def second(self, step: int, *who: int, stack: str | None = None, age: float | None = None) -> None:
        """One second: rank 0 reports each, rank 1 beats every fifth."""
        self.clock.advance(1.0)
        await self.tell(LifecycleKind.ALIVE)
        t = self.clock() - self.began
        if 0 in who:
            await self.hub.ingest(KEY, self.ranks[0].at(step, t=t, last_step_age=age or 0.0))
        if 1 in who and int(t) % 5 == 0:
            await self.hub.ingest(KEY, self.ranks[1].beat(step, t=t, stack=stack, last_step_age=age))
        self.hub.tick()

    def condition(self, kind: ConditionType) -> Condition | None:
        return next((one for one in self.hub.job(KEY).conditions if one.type is kind and one.until is None), None)


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    clock = FakeClock()
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0))
    await hub.start()
    made = Two(hub, clock)
    await made.begin()
    yield made
    await hub.stop()


async def test_what_a_rank_starts_beside_itself_is_not_taken_for_it(two: Two) -> None:
    probe = SyntheticRun("probe", rank=1, world_size=2)
    for step in range(1, 300):
        await two.second(step, 0, 1)
        if 60 <= step < 280 and step % 5 == 0:
            await two.hub.ingest(KEY, probe.beat(3, t=two.clock() - two.began))
        assert two.condition(ConditionType.STRAGGLING_RANK) is None, step
    assert two.hub.job(KEY).progress.step == 299


async def test_who_waits_for_a_silent_rank_0_tells_that_the_job_stands(two: Two) -> None:
    for step in range(1, 121):
        await two.second(step, 0, 1)
    for second in range(1, 90):  # rank 0 is held; rank 1 came one step further
        await two.second(121, 1, stack=STACK if second > 30 else None, age=float(second))
    stalled, straggling = two.condition(ConditionType.STALLED), two.condition(ConditionType.STRAGGLING_RANK)
    assert stalled is not None
    assert straggling is not None
    assert "train.py:88 in train_step" in stalled.text
    assert stalled.since_step == 121
    assert straggling.evidence["rank"] == 0


async def test_a_rank_that_counts_no_steps_tells_nothing_of_those_of_rank_0(two: Two) -> None:
    for step in range(1, 121):
        await two.second(step, 0)
        await two.hub.ingest(KEY, two.ranks[1].beat(0, t=two.clock() - two.began))
    for _ in range(90):  # nothing is heard of rank 0: it may well be training
        await two.second(0)
        await two.hub.ingest(KEY, two.ranks[1].beat(0, t=two.clock() - two.began, stack=STACK))
    assert two.condition(ConditionType.STALLED) is None
    assert two.condition(ConditionType.SILENT) is not None or two.condition(ConditionType.STRAGGLING_RANK) is not None
