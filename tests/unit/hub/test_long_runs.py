"""A day, and clocks that are set: nothing that only time did is held against a job. Time is counted, not waited for."""

from __future__ import annotations

import math
import tracemalloc

import pytest

from headway.hub.clock import SteadyClock
from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import Job, JobKey
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import EndingKind, Phase
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

KEY = JobKey("local", "job")
RUNNER = {"runner": "runner", "attempt": "attempt-1"}
CALM = {"Starting", "Progressing", "Finishing", "Running"}
HOUR = 3600.0


async def opened(store: MemoryStore, clock: FakeClock) -> Hub:
    hub = Hub(store, clock=clock, settings=HubSettings(tick=HOUR))
    await hub.start()
    return hub


def alarms(job: Job) -> set[str]:
    return {str(job.verdict), str(job.state)} - CALM


class TestADay:
    """1,380 steps of a minute, an evaluation of five minutes every 120 steps, a report every minute, a restart at noon."""

    STEPS = 1380
    EVERY = 120
    EVALUATION = 300.0
    BEAT = 60.0

    def schedule(self):
        """(time, steps done, phase) of each report."""
        t, done, next_step = 0.0, 0, 60.0
        pause = 0.0
        while done < self.STEPS:
            t += self.BEAT
            if t < pause:
                yield t, done, Phase.EVAL
                continue
            if t >= next_step:
                done += 1
                next_step = t + 60.0
                if done % self.EVERY == 0:
                    pause = t + self.EVALUATION
                    next_step = pause + 60.0
            yield t, done, Phase.TRAIN

    async def test_it_passes_without_an_alarm(self):
        clock, store = FakeClock(), MemoryStore()
        begin = clock.now
        hub = await opened(store, clock)
        await hub.register(KEY, Registration(**RUNNER))
        await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.STARTED, **RUNNER))
        run = SyntheticRun(total=self.STEPS)
        plan = list(self.schedule())
        length, restarted, last_step_at, step = plan[-1][0], False, 0.0, 0
        said: set[str] = set()
        sizes: list[int] = []
        off: list[float] = []
        tracemalloc.start()
        try:
            for t, done, phase in plan:
                clock.now = begin + t
                if done > step:
                    step, last_step_at = done, t
                loss = 2.0 + 3.0 / (1 + step / 200) + 0.05 * math.sin(step * 12.9898)
                metrics = {"loss": loss} if last_step_at == t else {}
                age = t - last_step_at if step else None
                await hub.ingest(KEY, run.at(step, t=t, metrics=metrics, phase=phase, last_step_age=age))
                await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.ALIVE, **RUNNER))
                hub.tick()
                job = hub.job(KEY)
                said |= alarms(job)
                if t % HOUR == 0:
                    sizes.append(tracemalloc.get_traced_memory()[0])
                    if t >= 3 * HOUR and job.eta is not None and job.eta.seconds is not None:
                        off.append(abs(job.eta.seconds - (length - t)) / length)
                if not restarted and t >= 12 * HOUR:
                    restarted = True
                    await hub.stop()
                    clock.advance(5.0)
                    hub = await opened(store, clock)
        finally:
            tracemalloc.stop()
        assert said == set()
        assert restarted
        assert len(off) >= 15, "the time left is known nearly all the time"
        assert max(off) < 0.05, "of the whole, in spite of the evaluations"
        late, early = sizes[-1], sizes[3]
        assert late - early < 8e6, "nothing grows with the reports but the history in the store"
        await hub.ingest(KEY, run.end(EndingKind.COMPLETED, self.STEPS, t=length))
        await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.ENDED, ending=None, **RUNNER))
        job = hub.job(KEY)
        assert (job.progress.percent, len(job.attempts)) == (100, 1)
        assert job.attempts[0].started_at == pytest.approx(begin, abs=5.0)
        await hub.stop()


class TestAClockThatIsSet:
    @pytest.mark.parametrize("jump", [-5 * HOUR, 5 * HOUR, 400 * 24 * HOUR])
    def test_it_is_not_seen_while_the_server_runs(self, monkeypatch, jump):
        wall, steady = [1.8e9], [1000.0]
        monkeypatch.setattr("headway.hub.clock.time.time", lambda: wall[0])
        monkeypatch.setattr("headway.hub.clock.time.monotonic", lambda: steady[0])
        clock = SteadyClock()
        assert clock() == pytest.approx(1.8e9)
        wall[0] += jump
        steady[0] += 7.0
        assert clock() == pytest.approx(1.8e9 + 7.0)

    @pytest.mark.parametrize("with_runner", [True, False])
    @pytest.mark.parametrize("jump", [-5 * HOUR, 5 * HOUR])
    async def test_across_a_restart_the_run_goes_on_as_if_nothing_was(self, jump, with_runner):
        clock, store = FakeClock(), MemoryStore()
        hub = await opened(store, clock)
        run = SyntheticRun(total=2000)

        async def go(hub: Hub, steps: range) -> None:
            for step in steps:
                clock.advance(1.0)
                await hub.ingest(KEY, run.at(step), create=True)
                if with_runner:
                    await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.ALIVE, **RUNNER))
                hub.tick()
                assert alarms(hub.job(KEY)) == set(), step

        if with_runner:
            await hub.register(KEY, Registration(**RUNNER))
            await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.STARTED, **RUNNER))
        await go(hub, range(1, 301))
        await hub.stop()
        clock.now += jump  # set while the server was down
        hub = await opened(store, clock)
        hub.tick()
        assert alarms(hub.job(KEY)) == set()
        await go(hub, range(301, 601))
        job = hub.job(KEY)
        assert job.state == "Running"
        assert job.verdict == "Progressing"
        assert job.last_contact_age is not None
        assert 0 <= job.last_contact_age < 5
        assert job.progress.last_step_age is not None
        assert 0 <= job.progress.last_step_age < 5
        assert job.eta is not None
        assert job.eta.seconds == pytest.approx(1400, rel=0.1)
        assert [round(point.t) for series in await hub.series(KEY, query()) for point in series.points][-1] == 600
        await hub.stop()


def query():
    from headway.protocol.history import SeriesQuery

    return SeriesQuery(points=10_000)
