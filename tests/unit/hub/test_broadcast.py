"""Watchers: a snapshot, then what changed, at most one message an interval, and no memory for the slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from headway.hub.broadcast import PART, Subscription
from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import Changes, JobKey
from headway.protocol.report import Checkpoint, EndingKind
from headway.protocol.row import RowChanges
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

INTERVAL = 0.05
Told = TypeVar("Told", Changes, RowChanges)
A, B = JobKey("local", "a"), JobKey("other", "b")


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    hub = Hub(
        MemoryStore(),
        clock=FakeClock(),
        settings=HubSettings(tick=3600.0, broadcast_interval=INTERVAL, replay=8),
    )
    await hub.start()
    yield hub
    await hub.stop()


async def hear(subscription: Subscription[Told]) -> Told:
    async with asyncio.timeout(5.0):
        return await anext(subscription)


async def quiet(subscription: Subscription[Told]) -> bool:
    """Whether nothing is heard for several intervals."""
    try:
        async with asyncio.timeout(3 * INTERVAL):
            await anext(subscription)
    except TimeoutError:
        return True
    return False


def names(changes: Changes) -> list[str]:
    return [job.name for job in changes.jobs]


async def settle() -> None:
    await asyncio.sleep(2 * INTERVAL)


async def test_a_snapshot_then_changes(hub: Hub):
    run = SyntheticRun()
    await hub.ingest(A, run.at(1), create=True)
    await settle()
    watcher = hub.subscribe()
    first = await hear(watcher)
    assert (first.snapshot, names(first)) == (True, ["a"])
    assert await quiet(watcher)
    await hub.ingest(A, run.at(2))
    second = await hear(watcher)
    assert (second.snapshot, second.jobs[0].progress.step) == (False, 2)
    watcher.close()


async def test_a_snapshot_of_nothing_is_heard_at_once(hub: Hub):
    assert await hear(hub.subscribe()) == Changes(id=(await hear(hub.subscribe())).id, snapshot=True, server_time=1.8e9)


async def test_many_changes_are_one_message(hub: Hub):
    run = SyntheticRun()
    watcher = hub.subscribe()
    await hear(watcher)
    loop = asyncio.get_running_loop()
    begin, messages, step = loop.time(), [], 0
    while loop.time() - begin < 6 * INTERVAL:
        step += 1
        await hub.ingest(A, run.at(step), create=True)
        if watcher._news.is_set():
            messages.append(await hear(watcher))
    elapsed = loop.time() - begin
    assert 2 <= len(messages) <= elapsed / INTERVAL + 2
    last = messages[-1]
    while last.jobs[0].progress.step != step:  # the newest state is always told in the end
        last = await hear(watcher)


async def test_a_deleted_job_is_told(hub: Hub):
    run = SyntheticRun()
    await hub.ingest(A, run.at(1), create=True)
    await hub.ingest(A, run.end(EndingKind.FAILED, 1))
    watcher = hub.subscribe()
    await hear(watcher)
    await settle()
    await hub.delete(A)
    while not (changes := await hear(watcher)).deleted:
        pass
    assert (changes.deleted, changes.jobs) == ((A,), ())


async def test_a_watcher_hears_only_what_it_asked_for(hub: Hub):
    one, space = hub.subscribe(namespace="local", name="a"), hub.subscribe(namespace="other")
    await hear(one)
    await hear(space)
    await hub.ingest(A, SyntheticRun().at(1), create=True)
    assert names(await hear(one)) == ["a"]
    assert await quiet(space)
    await hub.ingest(B, SyntheticRun().at(1), create=True)
    assert names(await hear(space)) == ["b"]
    assert await quiet(one)


async def test_all_who_watch_the_same_are_handed_the_same_object(hub: Hub):
    watchers = [hub.subscribe() for _ in range(3)]
    snapshots = [await hear(one) for one in watchers]
    assert all(one is snapshots[0] for one in snapshots)
    await hub.ingest(A, SyntheticRun().at(1), create=True)
    changes = [await hear(one) for one in watchers]
    assert all(one is changes[0] for one in changes)


async def test_a_slow_watcher_gets_one_message_with_the_present_state(hub: Hub):
    run = SyntheticRun()
    slow = hub.subscribe()
    await hear(slow)
    for step in range(1, 5):
        await hub.ingest(A, run.at(step), create=True)
        await hub.ingest(B, SyntheticRun("other").at(step), create=True)
        await settle()
    changes = await hear(slow)
    assert (changes.snapshot, names(changes)) == (False, ["a", "b"])
    assert changes.jobs[0].progress.step == 4
    assert await quiet(slow)


async def test_a_watcher_that_was_away_too_long_gets_a_snapshot(hub: Hub):
    run = SyntheticRun()
    slow = hub.subscribe()
    await hear(slow)
    for step in range(1, 12):
        await hub.ingest(A, run.at(step), create=True)
        await asyncio.sleep(1.2 * INTERVAL)
    assert (await hear(slow)).snapshot


async def test_a_stream_that_broke_off_goes_on_where_it_was(hub: Hub):
    run = SyntheticRun()
    await hub.ingest(A, run.at(1), create=True)
    await hub.ingest(B, SyntheticRun("other").at(1), create=True)
    await settle()
    watcher = hub.subscribe()
    first = await hear(watcher)
    watcher.close()
    await hub.ingest(A, run.at(2))
    await settle()
    changes = await hear(hub.subscribe(last_event_id=first.id))
    assert (changes.snapshot, names(changes)) == (False, ["a"])
    assert await quiet(hub.subscribe(last_event_id=changes.id))


@pytest.mark.parametrize("last", ["", "x", "0-0", "deadbeef-1", "-", "1", "é-٣", "-1-1"])
async def test_an_id_that_is_not_known_gets_a_snapshot(hub: Hub, last: str):
    assert (await hear(hub.subscribe(last_event_id=last))).snapshot


async def test_an_id_from_the_future_gets_a_snapshot(hub: Hub):
    epoch = (await hear(hub.subscribe())).id.rpartition("-")[0]
    for number in ("7", "9" * 30):
        assert (await hear(hub.subscribe(last_event_id=f"{epoch}-{number}"))).snapshot


async def test_closing_ends_the_iteration_and_is_forgotten(hub: Hub):
    watcher = hub.subscribe()
    await hear(watcher)
    waiting = asyncio.ensure_future(anext(watcher, None))
    await asyncio.sleep(0)
    assert hub.stats().watchers == 1
    watcher.close()
    watcher.close()
    assert await waiting is None
    assert hub.stats().watchers == 0


async def test_the_end_of_the_hub_ends_all_streams():
    hub = Hub(MemoryStore(), clock=FakeClock())
    await hub.start()
    watcher = hub.subscribe()
    heard = [changes async for changes in _until_stopped(hub, watcher)]
    assert len(heard) == 1


async def _until_stopped(hub: Hub, watcher: Subscription) -> AsyncIterator[Changes]:
    async for changes in watcher:
        yield changes
        await hub.stop()


async def test_silence_is_broadcast(hub: Hub):
    clock = hub._clock
    assert isinstance(clock, FakeClock)
    await hub.ingest(A, SyntheticRun().at(1), create=True)
    await settle()
    watcher = hub.subscribe()
    await hear(watcher)
    clock.advance(4.0)
    hub.tick()
    clock.advance(4.0)
    hub.tick()
    assert (await hear(watcher)).jobs[0].verdict == "Silent"


async def test_rows_are_what_lists_show_of_the_documents(hub: Hub):
    run = SyntheticRun(total=100)
    metrics = {"train_loss": 0.5, "grad_norm": 1.0}
    await hub.ingest(A, run.at(40, metrics=metrics, checkpoint=Checkpoint(step=30, path="/x")), create=True)
    await settle()
    watcher = hub.subscribe_rows()
    first = await hear(watcher)
    (row,) = first.rows
    job = hub.job(A)
    assert (first.snapshot, first.more) == (True, False)
    assert (row.namespace, row.name, row.uid, row.state) == (*A, job.uid, job.state)
    assert (row.progress.percent, row.progress.step, row.progress.total_steps) == (40, 40, 100)
    assert row.metrics == {"train_loss": 0.5}
    assert row.checkpoint == Checkpoint(step=30)
    assert row.at == hub_now(hub)
    await hub.ingest(A, run.at(41, metrics=metrics))
    second = await hear(watcher)
    assert (second.snapshot, [row.progress.step for row in second.rows]) == (False, [41])
    await hub.ingest(A, run.end(EndingKind.FAILED, 41))
    assert [row.state for row in (await hear(watcher)).rows] == ["Failed"]
    await hub.delete(A)
    assert (await hear(watcher)).deleted == (A,)
    watcher.close()


def hub_now(hub: Hub) -> float:
    return hub.job(A).created_at  # the fake clock stands still


async def test_a_snapshot_of_rows_comes_in_parts_newest_jobs_first(hub: Hub):
    keys = [JobKey("local", f"job-{number:04}") for number in range(PART + 3)]
    runs = {key: SyntheticRun(run=f"run-{key.name}") for key in keys}
    for key, run in runs.items():
        await hub.ingest(key, run.at(1), create=True)
    await settle()
    one, other = hub.subscribe_rows(), hub.subscribe_rows()
    first, second = await hear(one), await hear(one)
    assert [(each.snapshot, each.more, len(each.rows)) for each in (first, second)] == [
        (True, True, PART),
        (True, False, 3),
    ]
    assert [row.name for each in (first, second) for row in each.rows] == [key.name for key in reversed(keys)]
    assert await hear(other) is first
    await hub.ingest(keys[0], runs[keys[0]].at(5))
    assert await hear(other) is second  # what it had begun with goes on; the change comes after it
    await settle()
    assert [row.progress.step for row in (await hear(other)).rows] == [5]
    assert [row.progress.step for row in (await hear(one)).rows] == [5]


async def test_a_row_is_made_once_for_each_change(hub: Hub):
    run = SyntheticRun()
    await hub.ingest(A, run.at(1), create=True)
    await hub.ingest(B, SyntheticRun(run="other").at(1), create=True)
    await settle()
    before = {row.name: row for row in (await hear(hub.subscribe_rows())).rows}
    await hub.ingest(A, run.at(2))
    await settle()
    after = {row.name: row for row in (await hear(hub.subscribe_rows())).rows}
    assert after["b"] is before["b"]
    assert after["a"].progress.step == 2
