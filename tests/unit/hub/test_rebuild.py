"""After a restart every running job wants its history read back: one after the other, whoever asks for how many."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import JobKey
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

SETTINGS = HubSettings(tick=3600.0)
KEYS = [JobKey("local", f"job-{number}") for number in range(8)]


class CountingStore(MemoryStore):
    """Knows how many readings there were at once, at most."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._reading = 0
        self.most = 0

    def series(self, *given: Any) -> Any:
        with self._lock:
            self._reading += 1
            self.most = max(self.most, self._reading)
        time.sleep(0.01)
        found = super().series(*given)
        with self._lock:
            self._reading -= 1
        return found


async def test_histories_are_read_back_one_after_the_other():
    store, clock = CountingStore(), FakeClock()
    hub = Hub(store, clock=clock, settings=SETTINGS)
    await hub.start()
    runs = {key: SyntheticRun(run=f"run-{key.name}", total=1000) for key in KEYS}
    for step in range(1, 10):
        clock.advance(1.0)
        for key, run in runs.items():
            await hub.ingest(key, run.at(step), create=True)
    await hub.stop()
    assert store.most == 0
    again = Hub(store, clock=clock, settings=SETTINGS)
    await again.start()
    await asyncio.gather(*(again.ingest(key, run.at(10)) for key, run in runs.items()))
    async with asyncio.timeout(10):
        while any(again._roster.entry(key).job.judge.insight is None for key in KEYS):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
    assert store.most == 1
    await again.stop()


async def test_a_hub_that_stops_does_not_wait_for_histories_nobody_reads_yet():
    store, clock = CountingStore(), FakeClock()
    hub = Hub(store, clock=clock, settings=SETTINGS)
    await hub.start()
    runs = {key: SyntheticRun(run=f"run-{key.name}", total=1000) for key in KEYS}
    for key, run in runs.items():
        await hub.ingest(key, run.at(1), create=True)
    await hub.stop()
    again = Hub(store, clock=clock, settings=SETTINGS)
    await again.start()
    await asyncio.gather(*(again.ingest(key, run.at(2)) for key, run in runs.items()))
    await again.stop()
    third = Hub(store, clock=clock, settings=SETTINGS)
    await third.start()
    await third.ingest(KEYS[0], runs[KEYS[0]].at(3))
    async with asyncio.timeout(10):
        while third._roster.entry(KEYS[0]).job.judge.insight is None:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
    await third.stop()
