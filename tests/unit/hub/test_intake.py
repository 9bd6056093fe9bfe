"""Spooled reports are taken in once, in order, and not while their writer lives."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headway.errors import UnavailableError
from headway.hub.hub import Hub, HubSettings
from headway.hub.intake import take_in
from headway.protocol.codec import encode
from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey, JobQuery
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Ending, EndingKind
from headway.protocol.wire import encode_report
from headway.reporter.transports.spool import SpoolHeader, SpoolWriter, written
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun, transformers_post

KEY = JobKey("local", "job")
HEADER = SpoolHeader("local", "job", "run-a", "attempt-1")


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    hub = Hub(MemoryStore(), settings=HubSettings(tick=3600.0))
    await hub.start()
    yield hub
    await hub.stop()


def spool(folder: Path, steps: range, run: SyntheticRun | None = None) -> SpoolWriter:
    run = run or SyntheticRun()
    writer = SpoolWriter(folder / "run-a.jsonl", HEADER)
    for step in steps:
        writer.append(encode_report(run.at(step)))
    return writer


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def steps(hub: Hub) -> list[int]:
    return [point.step for series in await hub.series(KEY, SeriesQuery()) for point in series.points]


async def test_what_was_spooled_is_taken_in_and_the_file_goes(hub: Hub, tmp_path: Path):
    run = SyntheticRun(total=10)
    writer = spool(tmp_path, range(1, 11), run)
    writer.append(encode_report(run.end(EndingKind.COMPLETED, 10)))
    writer.close()
    assert await take_in(tmp_path, hub, hub._clock) == 11
    assert await steps(hub) == list(range(1, 11))
    assert hub.job(KEY).summary == "Complete"
    assert files(tmp_path) == []
    assert await take_in(tmp_path, hub, hub._clock) == 0


async def test_a_file_whose_writer_lives_is_left_alone(hub: Hub, tmp_path: Path):
    writer = spool(tmp_path, range(1, 4))
    assert await take_in(tmp_path, hub, hub._clock) == 0
    writer.close()
    assert await take_in(tmp_path, hub, hub._clock) == 3


async def test_what_was_meant_for_another_server_is_left_for_it(hub: Hub, tmp_path: Path):
    for name, server in (("there", "https://headway.example"), ("here", "http://127.0.0.1:7447"), ("any", None)):
        writer = SpoolWriter(tmp_path / f"{name}.jsonl", HEADER._replace(name=name, server=server))
        writer.append(encode_report(SyntheticRun(name).at(1)))
        writer.close()
    assert await take_in(tmp_path, hub, hub._clock, lambda url: url == "http://127.0.0.1:7447") == 2
    assert files(tmp_path) == ["there.jsonl"]
    assert {job.name for job in hub.jobs(JobQuery()).items} == {"here", "any"}


async def test_what_was_spooled_does_not_look_fresh(tmp_path: Path):
    clock = FakeClock(time.time())
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0))
    await hub.start()
    spool(tmp_path, range(1, 2)).close()
    clock.advance(100.0)
    await take_in(tmp_path, hub, clock)
    assert hub.job(KEY).last_contact_age == pytest.approx(100.0, abs=5.0)
    assert hub.job(KEY).verdict == "Silent"
    await hub.stop()


class _Failing:
    """A hub that fails at the third report."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._calls = 0
        self.register, self.lifecycle = hub.register, hub.lifecycle

    async def ingest(self, key, report, envelope, *, create):
        self._calls += 1
        if self._calls == 3:
            raise UnavailableError("the disk is full")
        return await self._hub.ingest(key, report, envelope, create=create)


async def test_interrupted_it_begins_again_and_counts_nothing_twice(hub: Hub, tmp_path: Path):
    spool(tmp_path, range(1, 6)).close()
    with pytest.raises(UnavailableError):
        await take_in(tmp_path, _Failing(hub), hub._clock)
    assert await steps(hub) == [1, 2]
    assert await take_in(tmp_path, hub, hub._clock) == 5
    assert await steps(hub) == [1, 2, 3, 4, 5]


async def test_posts_of_stock_clients_keep_the_identity_that_a_relay_gave_them(hub: Hub, tmp_path: Path):
    writer = SpoolWriter(tmp_path / "relay.jsonl", HEADER)
    for seq, step in enumerate((10, 20, 20), start=1):
        post = encode_report(transformers_post(step, 100, loss=1.0))
        writer.append(post, attempt="runner-1", run="relay", seq=min(seq, 2))
    writer.close()
    await take_in(tmp_path, hub, hub._clock)
    assert [one.id for one in hub.job(KEY).attempts] == ["runner-1"]
    assert await steps(hub) == [10, 20]


async def test_a_report_that_is_wrong_does_not_keep_the_others_out(hub: Hub, tmp_path: Path):
    writer = SpoolWriter(tmp_path / "run-a.jsonl", HEADER)
    run = SyntheticRun()
    for body in (encode_report(run.at(1)), {"headway": {"version": 1}}, encode_report(run.at(2))):
        writer.append(body)
    writer.close()
    assert await take_in(tmp_path, hub, hub._clock) == 2
    assert await steps(hub) == [1, 2]


async def test_a_runner_that_found_no_server_is_told_of_in_the_past(hub: Hub, tmp_path: Path):
    now = hub._clock()
    await hub.ingest(KEY, SyntheticRun("new", "z").at(500), create=True)
    old = Registration(runner="runner", attempt="a", log="/old.log")
    ended = Ending(kind=EndingKind.FAILED, exit_code=1)
    lines = [
        {"at": now - 3600.0, "registration": encode(old)},
        {"at": now - 3599.0, "lifecycle": encode(Lifecycle(kind=LifecycleKind.STARTED, runner="runner", attempt="a"))},
        {"at": now - 3500.0, "body": encode_report(SyntheticRun("old", "a").at(400))},
        {
            "at": now - 3400.0,
            "lifecycle": encode(Lifecycle(kind=LifecycleKind.ENDED, runner="runner", attempt="a", ending=ended)),
        },
    ]
    header = {"spool": 1, **written(HEADER)}
    text = "".join(json.dumps(line) + "\n" for line in [header, *lines])
    (tmp_path / "runner.jsonl").write_text(text)
    await take_in(tmp_path, hub, hub._clock)
    job = hub.job(KEY)
    assert [(one.id, one.last_step) for one in job.attempts] == [("a", 400), ("z", 500)]
    assert job.attempts[0].ending is not None
    assert job.attempts[0].ending.exit_code == 1
    assert job.attempts[0].ended_at == pytest.approx(now - 3400.0, abs=5.0)
    assert (job.state, job.progress.step, job.log) == ("Running", 500, None)


async def test_what_is_no_spool_file_is_put_aside(hub: Hub, tmp_path: Path):
    (tmp_path / "odd.jsonl").write_text("hello\n")
    (tmp_path / "empty.jsonl").write_text("")
    assert await take_in(tmp_path, hub, hub._clock) == 0
    assert files(tmp_path) == ["empty.unreadable", "odd.unreadable"]


async def test_a_folder_that_is_not_there_holds_nothing(hub: Hub, tmp_path: Path):
    assert await take_in(tmp_path / "none", hub, hub._clock) == 0


async def test_a_hub_with_a_spool_folder_takes_reports_in_by_itself(tmp_path: Path):
    spool(tmp_path, range(1, 4)).close()
    hub = Hub(MemoryStore(), settings=HubSettings(spool=tmp_path, spool_interval=0.02))
    await hub.start()
    async with asyncio.timeout(5.0):
        while hub.stats().spooled_reports < 3:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
    assert await steps(hub) == [1, 2, 3]
    await hub.stop()
