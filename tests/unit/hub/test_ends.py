"""When a job will end, as everyone is told it: from reports, through the hub."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import Eta, JobKey
from headway.protocol.report import Phase
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun, transformers_post

KEY = JobKey("local", "job")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def hub(clock: FakeClock) -> AsyncIterator[Hub]:
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0))
    await hub.start()
    yield hub
    await hub.stop()


async def told(
    hub: Hub,
    clock: FakeClock,
    pace: Callable[[int], float],
    *,
    until: int,
    total: int = 1000,
    pause: Callable[[int], float] = lambda _: 0.0,
    declared: bool = False,
    stock: bool = False,
) -> dict[int, tuple[float, Eta | None]]:
    """What is told at each step, with the seconds truly left: a report per step, and every 5 s in a pause that is declared."""
    run = SyntheticRun(total=total)
    moments = [0.0]
    for step in range(1, total + 1):
        moments.append(moments[-1] + pace(step) + pause(step - 1))
    end = moments[-1] + pause(total)
    seen: dict[int, tuple[float, Eta | None]] = {}
    now = 0.0
    for step in range(1, until + 1):
        while declared and pause(step - 1) and now + 5.0 < moments[step] - pace(step):
            clock.advance(5.0)
            now += 5.0
            age = now - moments[step - 1]
            await hub.ingest(KEY, run.at(step - 1, t=now, metrics={}, phase=Phase.EVAL, last_step_age=age))
        clock.advance(moments[step] - now)
        now = moments[step]
        report = transformers_post(step, total, loss=1.0) if stock else run.at(step, t=now)
        await hub.ingest(KEY, report, create=True)
        seen[step] = (end - now, hub.job(KEY).eta)
    return seen


def known(at: tuple[float, Eta | None]) -> tuple[float, Eta]:
    assert at[1] is not None
    return at[0], at[1]


@pytest.mark.parametrize("stock", [False, True])
async def test_a_compilation_in_the_first_step_is_not_counted(hub: Hub, clock: FakeClock, stock: bool):
    """B5."""
    seen = await told(hub, clock, lambda step: 300.0 if step == 1 else 1.0, until=30, stock=stock)
    assert seen[1][1] is None
    assert seen[2][1] is None
    left, eta = known(seen[20])
    assert left == 980
    assert 900 <= eta.seconds <= 1100


@pytest.mark.parametrize("way", ["declared", "undeclared", "stock client"])
async def test_evaluations_still_to_come_are_counted(hub: Hub, clock: FakeClock, way: str):
    """B6."""
    seen = await told(
        hub,
        clock,
        lambda _: 1.0,
        until=560,
        pause=lambda step: 60.0 if step and step % 100 == 0 else 0.0,
        declared=way == "declared",
        stock=way == "stock client",
    )
    for step in (500, 501, 530, 560):
        left, eta = known(seen[step])
        assert eta.seconds == pytest.approx(left, rel=0.15), step


@pytest.mark.parametrize("stock", [False, True])
async def test_a_node_that_degrades_is_followed_within_twenty_steps(hub: Hub, clock: FakeClock, stock: bool):
    """B7."""
    seen = await told(hub, clock, lambda step: 1.0 if step <= 500 else 2.0, until=620, stock=stock)
    for step in (400, 499):
        assert known(seen[step])[1].seconds == pytest.approx(1000 - step, rel=0.05)
    for step in range(520, 621):
        left, eta = known(seen[step])
        assert left == 2.0 * (1000 - step)
        assert eta.seconds == pytest.approx(left, rel=0.2), step


async def test_it_may_have_degraded_for_a_while_only_and_that_is_told(hub: Hub, clock: FakeClock):
    seen = await told(hub, clock, lambda step: 1.0 if step <= 500 else 2.0, until=800)
    _, eta = known(seen[530])
    assert eta.low < 1.3 * 470, "the pace may come back to what it was"
    assert known(seen[800])[1].low > 1.6 * 200, "not any more"


async def test_the_finish_is_now_and_what_is_left(hub: Hub, clock: FakeClock):
    seen = await told(hub, clock, lambda _: 2.0, until=300)
    _, eta = known(seen[300])
    assert eta.finish_at == pytest.approx(clock() + 1400, abs=15)
    assert 0 <= eta.low <= eta.seconds <= eta.high


async def test_one_step_before_the_end_something_is_left(hub: Hub, clock: FakeClock):
    seen = await told(hub, clock, lambda _: 0.4, until=999)
    left, eta = known(seen[999])
    assert left == pytest.approx(0.4)
    assert 0 < eta.seconds < 1
