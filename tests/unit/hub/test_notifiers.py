"""Events: one for each onset, one for each recovery, none for the end of a job."""

from __future__ import annotations

import logging

import pytest

from headway.hub.hub import Hub, HubSettings
from headway.protocol.codec import decode, encode
from headway.protocol.events import ConditionEvent, EventKind
from headway.protocol.job import JobKey
from headway.protocol.report import EndingKind
from headway.protocol.verdict import ConditionType
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

KEY = JobKey("local", "job")


async def test_listeners_hear_each_onset_and_recovery_once(caplog: pytest.LogCaptureFixture):
    clock = FakeClock()
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0))
    await hub.start()
    heard: list[ConditionEvent] = []

    def broken(event: ConditionEvent) -> None:
        raise RuntimeError("mail is down")

    hub.notifiers.add(broken)
    remove = hub.notifiers.add(heard.append)
    run = SyntheticRun(total=10)
    await hub.ingest(KEY, run.at(1), create=True)
    with caplog.at_level(logging.CRITICAL, logger="headway.hub.notifiers"):
        for _ in range(80):
            clock.advance(1)
            hub.tick()
        await hub.ingest(KEY, run.at(2, t=80.0))
        hub.tick()
    assert [(one.kind, one.condition.type) for one in heard] == [
        (EventKind.ONSET, ConditionType.SILENT),
        (EventKind.RECOVERY, ConditionType.SILENT),
    ]
    onset, recovery = heard
    assert (onset.job.namespace, onset.job.name) == KEY
    assert (onset.condition.until, recovery.condition.until) == (None, 1_800_000_080.0)
    assert decode(ConditionEvent, encode(onset)) == onset

    await hub.ingest(KEY, run.at(12, t=200.0))
    hub.tick()
    assert [one.condition.type for one in heard[2:]] == [ConditionType.TOTAL_WRONG]
    await hub.ingest(KEY, run.end(EndingKind.COMPLETED, 12, t=201.0))
    hub.tick()
    assert len(heard) == 3, "the end of the job is no recovery"
    remove()
    await hub.stop()
