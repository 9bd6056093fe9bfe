"""The hub: nothing is acknowledged that is not persisted, and nothing persisted is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from headway.errors import ConflictError, InvalidError, NotFoundError, StoreCorruptError, UnavailableError
from headway.hub.hub import Hub, HubSettings
from headway.hub.persist import ENOUGH
from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.codec import encode
from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey, JobQuery, Spec, State
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Ending, EndingKind, Envelope, Report, RunInfo
from headway.protocol.verdict import Verdict
from headway.store.base import Completion, Done, Write
from headway.store.memory import MemoryStore
from headway.store.sqlite import SqliteStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun, transformers_post

KEY = JobKey("local", "job")


class FragileStore(MemoryStore):
    """A store whose disk can be full, and whose commits can be held back."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.held: list[tuple[Write, object]] | None = None
        self.submitted: list[Write] = []
        self._heard: Done | None = None

    def open(self, done: Done) -> None:
        self._heard = done
        super().open(done)

    def submit(self, write: Write, tag: object) -> None:
        self.submitted.append(write)
        if self.held is not None:
            self.held.append((write, tag))
        elif self.full:
            self.answer([Completion(tag, UnavailableError("no space is left"))])
        else:
            super().submit(write, tag)

    def answer(self, completions: Sequence[Completion]) -> None:
        assert self._heard is not None
        self._heard(completions)

    def release(self, *, fail: bool = False) -> None:
        held, self.held = self.held or [], None
        for write, tag in held:
            if fail:
                self.answer([Completion(tag, UnavailableError("no space is left"))])
            else:
                super().submit(write, tag)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store() -> FragileStore:
    return FragileStore()


SETTINGS = HubSettings(tick=3600.0)


@pytest.fixture
async def hub(store: FragileStore, clock: FakeClock) -> AsyncIterator[Hub]:
    hub = Hub(store, clock=clock, settings=SETTINGS)
    await hub.start()
    yield hub
    await hub.stop()


def registration(attempt: str = "attempt-1", runner: str = "runner", **more) -> Registration:
    return Registration(runner=runner, attempt=attempt, **more)


async def tell(hub: Hub, kind: LifecycleKind, attempt: str = "attempt-1", runner: str = "runner", **more):
    return await hub.lifecycle(KEY, Lifecycle(kind=kind, runner=runner, attempt=attempt, **more))


def ended(code: int = 0) -> Ending:
    return Ending(kind=EndingKind.FAILED if code else EndingKind.COMPLETED, exit_code=code)


async def test_a_report_is_answered_with_what_was_persisted(hub: Hub, store: FragileStore):
    run = SyntheticRun()
    answer = await hub.ingest(KEY, run.at(1), create=True)
    assert (answer.ack, answer.interval, answer.want) == (1, 1.0, ("job",))
    answer = await hub.ingest(KEY, run.at(2, job=RunInfo(framework="pytorch")))
    assert (answer.ack, answer.want) == (2, ())
    (series,) = await hub.series(KEY, SeriesQuery())
    assert [point.step for point in series.points] == [1, 2]
    assert await hub.metrics(KEY) == ["loss"]
    assert len(list(store.load())) == 1


async def test_an_unknown_job_is_not_found_unless_it_may_be_made(hub: Hub):
    with pytest.raises(NotFoundError):
        await hub.ingest(KEY, SyntheticRun().at(1))
    stop = hub.act(KEY, ActionKind.STOP, ActionRequest())
    for call in (hub.series(KEY, SeriesQuery()), hub.metrics(KEY), hub.delete(KEY), stop):
        with pytest.raises(NotFoundError):
            await call
    with pytest.raises(NotFoundError):
        hub.job(KEY)
    with pytest.raises(InvalidError):
        await hub.ingest(JobKey("local", "a\0b"), SyntheticRun().at(1), create=True)
    with pytest.raises(InvalidError):
        await hub.ingest(JobKey("local", ""), SyntheticRun().at(1), create=True)


async def test_an_empty_report_is_answered_and_changes_nothing(hub: Hub):
    answer = await hub.ingest(KEY, Report(warnings=("mended",)), create=True)
    assert (answer.ack, answer.warnings) == (None, ("mended",))
    assert hub.jobs(JobQuery()).total == 0


async def test_nothing_is_acknowledged_before_it_is_committed(hub: Hub, store: FragileStore):
    store.held = []
    waiting = asyncio.ensure_future(hub.ingest(KEY, SyntheticRun().at(1), create=True))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    store.release()
    assert (await waiting).ack == 1


async def test_reports_that_come_during_a_commit_are_encoded_once(hub: Hub, store: FragileStore):
    run = SyntheticRun()
    store.held = []
    waiting = [asyncio.ensure_future(hub.ingest(KEY, run.at(step), create=True)) for step in range(1, 4)]
    await asyncio.sleep(0.05)
    assert [write.document is not None for write in store.submitted] == [False, False, True], "those of one turn"
    waiting += [asyncio.ensure_future(hub.ingest(KEY, run.at(step))) for step in range(4, 11)]
    await asyncio.sleep(0.05)
    assert len(store.submitted) == 3, "those that come during its commit wait for it"
    store.release()
    assert [answer.ack for answer in await asyncio.gather(*waiting)] == list(range(1, 11))
    assert len([write for write in store.submitted if write.document is not None]) == 2
    (series,) = await hub.series(KEY, SeriesQuery())
    assert len(series.points) == 10


async def test_reports_of_many_jobs_in_one_turn_share_commits(tmp_path: Path, clock: FakeClock):
    hub = Hub(store := SqliteStore(tmp_path), clock=clock, settings=SETTINGS)
    await hub.start()
    reports = [(JobKey("local", f"job-{n}"), SyntheticRun().at(1)) for n in range(100)]
    await asyncio.gather(*(hub.ingest(key, report, create=True) for key, report in reports))
    assert store.stats().writes == 100
    assert store.stats().commits <= 1 + 100 // ENOUGH + 1
    await hub.stop()


async def test_one_who_cannot_be_told_keeps_nobody_else_waiting(hub: Hub, caplog: pytest.LogCaptureFixture):
    def heard(error: UnavailableError | None) -> None:
        raise RuntimeError("the line is dead")

    run = SyntheticRun()
    hub.take(KEY, run.at(1), heard, create=True)
    answer = await hub.ingest(KEY, run.at(2))
    assert answer.ack == 2
    assert "could not be told" in caplog.text


async def test_a_failed_write_leaves_what_was_persisted(hub: Hub, store: FragileStore):
    run = SyntheticRun()
    await hub.ingest(KEY, run.at(1), create=True)
    before = encode(hub.job(KEY))
    await asyncio.sleep(0.02)  # what was judged for it is kept
    store.full = True
    lost = run.at(2)
    with pytest.raises(UnavailableError, match="no space"):
        await hub.ingest(KEY, lost)
    assert encode(hub.job(KEY)) == before
    store.full = False
    assert (await hub.ingest(KEY, lost)).ack == 2
    (series,) = await hub.series(KEY, SeriesQuery())
    assert [point.step for point in series.points] == [1, 2]


async def test_a_full_disk_makes_nobody_silent_or_lost(hub: Hub, store: FragileStore, clock: FakeClock):
    run = SyntheticRun()
    await hub.register(KEY, registration())
    await tell(hub, LifecycleKind.STARTED)
    await hub.ingest(KEY, run.at(1))
    store.full = True
    for step in range(2, 40):
        clock.advance(1.0)
        await tell(hub, LifecycleKind.ALIVE)
        with pytest.raises(UnavailableError):
            await hub.ingest(KEY, run.at(step))
        hub.tick()
        assert (hub.job(KEY).state, hub.job(KEY).conditions) == (State.RUNNING, ())
    assert hub.job(KEY).progress.step == 1


async def test_what_was_built_on_a_failed_write_fails_with_it(hub: Hub, store: FragileStore):
    run = SyntheticRun()
    await hub.ingest(KEY, run.at(1), create=True)
    store.held = []
    reports = [run.at(step) for step in (2, 3, 4)]
    waiting = [asyncio.ensure_future(hub.ingest(KEY, report)) for report in reports]
    await asyncio.sleep(0.02)
    store.release(fail=True)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in outcomes] == [UnavailableError] * 3
    assert hub.job(KEY).progress.step == 1
    for report in reports:
        await hub.ingest(KEY, report)
    (series,) = await hub.series(KEY, SeriesQuery())
    assert [point.step for point in series.points] == [1, 2, 3, 4]


async def test_a_job_whose_first_write_fails_is_not_there(hub: Hub, store: FragileStore):
    store.full = True
    with pytest.raises(UnavailableError):
        await hub.ingest(KEY, SyntheticRun().at(1), create=True)
    assert hub.jobs(JobQuery()).total == 0
    store.full = False
    await hub.ingest(KEY, SyntheticRun().at(1), create=True)
    assert hub.jobs(JobQuery()).total == 1


async def test_one_report_sent_twice_is_one(hub: Hub):
    report = SyntheticRun().at(1)
    assert (await hub.ingest(KEY, report, create=True)).ack == (await hub.ingest(KEY, report)).ack == 1
    (series,) = await hub.series(KEY, SeriesQuery())
    assert len(series.points) == 1
    assert hub.stats().duplicates == 1


async def test_points_come_into_the_history_although_their_report_was_counted_before_its_write_failed(
    hub: Hub, store: FragileStore
):
    """Of several writes of one commit the last, with the document, may succeed although an earlier one failed."""
    run = SyntheticRun()
    await hub.ingest(KEY, run.at(1), create=True)
    store.held = []
    blocker = asyncio.ensure_future(hub.ingest(KEY, run.at(2)))
    reports = [run.at(3), run.at(4)]
    await asyncio.sleep(0.02)
    first, store.held = store.held, []
    waiting = [asyncio.ensure_future(hub.ingest(KEY, report)) for report in reports]
    await asyncio.sleep(0.02)
    for write, tag in first:
        MemoryStore.submit(store, write, tag)
    await blocker
    (_, tag), (kept, kept_tag) = store.held
    store.held = None
    store.answer([Completion(tag, UnavailableError("no space is left"))])
    MemoryStore.submit(store, kept, kept_tag)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in outcomes] == [UnavailableError] * 2
    for report in reports:
        await hub.ingest(KEY, report)
    (series,) = await hub.series(KEY, SeriesQuery())
    assert [point.step for point in series.points] == [1, 2, 3, 4]


async def test_beats_of_other_ranks_are_not_written(hub: Hub, store: FragileStore):
    await hub.ingest(KEY, SyntheticRun(world_size=8).at(1), create=True)
    beats = SyntheticRun("run-5", rank=5, world_size=8)
    await hub.ingest(KEY, beats.beat(1))
    writes = len(store.submitted)
    answer = await hub.ingest(KEY, beats.beat(1))
    assert (answer.ack, answer.want) == (2, ("job",))
    assert len(store.submitted) == writes
    assert [rank.rank for rank in hub.job(KEY).ranks] == [0, 5]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_server_restarts(kind: str, tmp_path: Path, clock: FakeClock):
    """C8: the same jobs, progress, verdicts and history are there."""
    memory = MemoryStore()

    def opened() -> Hub:
        return Hub(memory if kind == "memory" else SqliteStore(tmp_path), clock=clock, settings=SETTINGS)

    hub = opened()
    await hub.start()
    first, second = SyntheticRun("a", "attempt-1"), SyntheticRun("b", "attempt-2")
    for step in range(1, 50):
        clock.advance(1.0)
        await hub.ingest(KEY, first.at(step), create=True)
    for step in range(40, 60):
        clock.advance(1.0)
        await hub.ingest(KEY, second.at(step, t=step - 39.0))
    for step in range(1, 4):
        await hub.ingest(JobKey("other", "stock"), transformers_post(step, 10, loss=1.0), create=True)
    silent = JobKey("local", "silent")
    await hub.ingest(silent, SyntheticRun().at(5), create=True)
    clock.advance(20.0)
    await hub.ingest(KEY, second.at(60, t=40.0))
    await hub.act(KEY, ActionKind.STOP, ActionRequest(reason="enough"))
    hub.tick()
    before = [encode(job) for job in hub.jobs(JobQuery()).items]
    series = await hub.series(KEY, SeriesQuery())
    await hub.stop()
    again = opened()
    await again.start()
    assert [_lasting(job) for job in [encode(one) for one in again.jobs(JobQuery()).items]] == [
        _lasting(job) for job in before
    ]
    assert await again.series(KEY, SeriesQuery()) == series
    assert again.job(silent).verdict is Verdict.SILENT
    answer = await again.ingest(KEY, second.at(61, t=41.0))
    assert [one.reason for one in answer.directives] == ["enough"]
    clock.advance(60.0)
    again.tick()
    await again.stop()


def _lasting(job: dict) -> dict:
    return {name: value for name, value in job.items() if name != "eta"} | {"hasEta": job["eta"] is not None}


async def test_insight_is_rebuilt_from_the_history_after_a_restart(store: FragileStore, clock: FakeClock):
    hub = Hub(store, clock=clock, settings=SETTINGS)
    await hub.start()
    run = SyntheticRun(total=10_000)
    for step in range(1, 60):
        clock.advance(1.0)
        await hub.ingest(KEY, run.at(step, metrics={"loss": 5.0 / step}), create=True)
    await hub.stop()
    again = Hub(store, clock=clock, settings=SETTINGS)
    await again.start()
    await again.ingest(KEY, run.at(60, metrics={"loss": float("nan")}))
    await _until(lambda: again._roster.entry(KEY).job.judge.insight is not None)
    await again.ingest(KEY, run.at(61, metrics={"loss": float("nan")}))
    await again.ingest(KEY, run.at(62, metrics={"loss": float("nan")}))
    assert again.job(KEY).verdict is Verdict.NON_FINITE
    await again.stop()


async def _until(true, seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.005)


async def test_a_loss_that_is_not_finite_turns_the_verdict_within_two_reports(hub: Hub, clock: FakeClock):
    """D1."""
    run = SyntheticRun()
    for step in range(1, 30):
        clock.advance(1.0)
        await hub.ingest(KEY, run.at(step, metrics={"loss": 1.0 / step, "accuracy": 0.5}), create=True)
    assert hub.job(KEY).verdict is not Verdict.NON_FINITE
    for step in (30, 31):
        await hub.ingest(KEY, run.at(step, metrics={"loss": float("nan"), "accuracy": 0.5}))
    shown = hub.job(KEY)
    assert shown.verdict is Verdict.NON_FINITE
    assert shown.metrics["accuracy"] == 0.5


async def test_an_eta_that_converges(hub: Hub, clock: FakeClock):
    run = SyntheticRun(total=100)
    for step in range(1, 51):
        clock.advance(2.0)
        await hub.ingest(KEY, run.at(step, t=2.0 * step), create=True)
    eta = hub.job(KEY).eta
    assert eta is not None
    assert 90 <= eta.seconds <= 110
    assert eta.low <= eta.seconds <= eta.high
    assert eta.finish_at == pytest.approx(clock() + eta.seconds)


async def test_resumed_at_900_the_eta_is_right_or_absent(hub: Hub, clock: FakeClock):
    """B1."""
    run = SyntheticRun(total=1000)
    await hub.ingest(KEY, run.at(900, t=0.0, metrics={}), create=True)
    assert hub.job(KEY).progress.percent == 90
    for step in range(901, 906):
        clock.advance(10.0)
        await hub.ingest(KEY, run.at(step, t=10.0 * (step - 900)))
        eta = hub.job(KEY).eta
        assert eta is None or 890 <= eta.seconds <= 1090
        assert hub.job(KEY).progress.percent == 90


class TestRunners:
    async def test_a_job_from_registration_to_its_end(self, hub: Hub, clock: FakeClock):
        spec = Spec(nodes=2, devices_per_node=4, price_per_hour=55.0)
        job, heartbeat = await hub.register(KEY, registration(spec=spec, log="/tmp/log", host="node-1"))
        assert (job.state, job.log, job.host, heartbeat) == (State.CREATED, "/tmp/log", "node-1", 2.0)
        await tell(hub, LifecycleKind.STARTED)
        clock.advance(3600.0)
        await tell(hub, LifecycleKind.ENDED, ending=ended())
        job = hub.job(KEY)
        assert (job.state, job.started_at, job.ended_at) == (State.COMPLETE, clock() - 3600.0, clock())
        assert (job.ledger.spent.money, job.ledger.spent.device_hours) == (55.0, 8.0)

    async def test_a_second_living_runner_is_refused(self, hub: Hub, clock: FakeClock):
        await hub.register(KEY, registration())
        await tell(hub, LifecycleKind.STARTED)
        with pytest.raises(ConflictError):
            await hub.register(KEY, registration("attempt-2", "other"))
        await hub.register(KEY, registration("attempt-1", "other-node"))
        await hub.register(KEY, registration("attempt-2"))
        assert [one.id for one in hub.job(KEY).attempts] == ["attempt-1", "attempt-2"]

    async def test_an_ended_or_lost_job_takes_the_next_attempt(self, hub: Hub, clock: FakeClock):
        await hub.register(KEY, registration())
        await tell(hub, LifecycleKind.STARTED)
        await tell(hub, LifecycleKind.ENDED, ending=ended(1))
        await hub.register(KEY, registration("attempt-2", "second"))
        await tell(hub, LifecycleKind.STARTED, "attempt-2", "second")
        assert hub.job(KEY).state is State.RUNNING
        clock.advance(10.0)
        hub.tick()
        assert hub.job(KEY).state is State.LOST
        await hub.register(KEY, registration("attempt-3", "third"))
        assert len(hub.job(KEY).attempts) == 3

    async def test_stop_is_repeated_until_both_have_heard(self, hub: Hub):
        run = SyntheticRun()
        await hub.register(KEY, registration())
        await tell(hub, LifecycleKind.STARTED)
        await hub.ingest(KEY, run.at(1))
        await hub.act(KEY, ActionKind.STOP, ActionRequest(by="me", reason="enough", notice=5.0, grace=10.0))
        (directive,) = (await hub.ingest(KEY, run.at(2))).directives
        (command,) = (await tell(hub, LifecycleKind.ALIVE)).commands
        assert (directive.id, directive.reason) == (command.id, "enough")
        assert (command.by, command.notice, command.grace) == ("me", 5.0, 10.0)
        assert (await hub.ingest(KEY, run.at(3))).directives == (directive,)
        assert (await tell(hub, LifecycleKind.ALIVE)).commands == (command,)
        assert (await hub.ingest(KEY, run.at(4, acks=(directive.id,)))).directives == ()
        assert (await tell(hub, LifecycleKind.ALIVE, acks=(command.id,))).commands == ()
        await tell(hub, LifecycleKind.ENDED, ending=ended())
        assert hub.job(KEY).state is State.STOPPED
        with pytest.raises(ConflictError):
            await hub.act(KEY, ActionKind.STOP, ActionRequest())

    async def test_only_the_run_that_writes_is_asked(self, hub: Hub):
        await hub.ingest(KEY, SyntheticRun(world_size=2).at(1), create=True)
        await hub.act(KEY, ActionKind.STOP, ActionRequest())
        answer = await hub.ingest(KEY, SyntheticRun("run-1", rank=1, world_size=2).beat(1))
        assert answer.directives == ()

    async def test_a_sign_of_life_is_not_written(self, hub: Hub, store: FragileStore):
        await hub.register(KEY, registration())
        await tell(hub, LifecycleKind.STARTED)
        writes = len(store.submitted)
        for _ in range(5):
            await tell(hub, LifecycleKind.ALIVE)
        assert len(store.submitted) == writes

    async def test_a_gap_in_the_servers_own_time_is_not_the_runners(self, hub: Hub, clock: FakeClock):
        await hub.register(KEY, registration())
        await tell(hub, LifecycleKind.STARTED)
        clock.advance(10_000.0)
        hub.tick()
        assert hub.job(KEY).state is State.RUNNING
        clock.advance(10.0)
        hub.tick()
        assert hub.job(KEY).state is State.LOST
        await tell(hub, LifecycleKind.ALIVE)
        assert hub.job(KEY).state is State.RUNNING


class TestDeleting:
    async def test_a_running_job_is_kept(self, hub: Hub):
        await hub.ingest(KEY, SyntheticRun().at(1), create=True)
        with pytest.raises(ConflictError):
            await hub.delete(KEY)

    async def test_an_ended_job_goes_with_its_history(self, hub: Hub, store: FragileStore):
        run = SyntheticRun()
        await hub.ingest(KEY, run.at(1), create=True)
        await hub.ingest(KEY, run.end(EndingKind.FAILED, 1))
        await hub.delete(KEY)
        assert hub.jobs(JobQuery()).total == 0
        assert list(store.load()) == []
        hub.tick()
        await hub.ingest(KEY, SyntheticRun().at(7), create=True)
        (series,) = await hub.series(KEY, SeriesQuery())
        assert [point.step for point in series.points] == [7]

    async def test_a_failure_keeps_it(self, hub: Hub, store: FragileStore):
        run = SyntheticRun()
        await hub.ingest(KEY, run.at(1), create=True)
        await hub.ingest(KEY, run.end(EndingKind.FAILED, 1))
        store.full = True
        with pytest.raises(UnavailableError):
            await hub.delete(KEY)
        assert hub.job(KEY).state is State.FAILED


async def test_before_the_start_and_after_the_end_it_is_unavailable(store: FragileStore, clock: FakeClock):
    hub = Hub(store, clock=clock, settings=SETTINGS)
    with pytest.raises(UnavailableError):
        await hub.ingest(KEY, SyntheticRun().at(1), create=True)
    await hub.start()
    await hub.ingest(KEY, SyntheticRun().at(1), create=True)
    await hub.stop()
    with pytest.raises(UnavailableError):
        await hub.ingest(KEY, SyntheticRun().at(2))


async def test_a_job_that_cannot_be_understood_does_not_keep_the_others_away(store: FragileStore, clock: FakeClock):
    hub = Hub(store, clock=clock, settings=SETTINGS)
    await hub.start()
    await hub.ingest(KEY, SyntheticRun().at(1), create=True)
    await hub.ingest(JobKey("local", "broken"), SyntheticRun().at(1), create=True)
    await hub.stop()
    store.open(lambda _: None)
    store.submit(Write(key=JobKey("local", "broken"), document=b"?"), None)
    store.close()
    again = Hub(store, clock=clock, settings=SETTINGS)
    await again.start()
    assert [job.name for job in again.jobs(JobQuery()).items] == ["job"]
    with pytest.raises(StoreCorruptError):
        await again.ingest(JobKey("local", "broken"), SyntheticRun().at(2), create=True)
    await again.delete(JobKey("local", "broken"))
    await again.ingest(JobKey("local", "broken"), SyntheticRun().at(2), create=True)
    await again.stop()


async def test_a_spooled_report_carries_its_age(hub: Hub, clock: FakeClock):
    await hub.ingest(KEY, SyntheticRun().at(1, t=5.0), Envelope(age=100.0), create=True)
    job = hub.job(KEY)
    assert (job.last_contact_age, job.started_at) == (100.0, clock() - 105.0)
