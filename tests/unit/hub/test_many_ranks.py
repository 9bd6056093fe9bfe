"""A thousand ranks of one job beat at one server: seldom, spread over time, and each word of theirs costs little."""

from __future__ import annotations

import heapq
import random
import tracemalloc
from collections import Counter
from time import process_time

from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import JobKey
from headway.protocol.limits import BEATS_PER_SECOND, beat_interval
from headway.protocol.report import Device
from headway.protocol.verdict import ConditionType
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.reports import SyntheticRun

RANKS = 1000
KEY = JobKey("local", "big")
DEVICE = Device(name="NVIDIA H200", memory_used=80 << 30, memory_total=141 << 30)


async def test_a_thousand_ranks_send_fewer_than_fifty_requests_a_second_and_the_silent_one_is_named() -> None:
    clock = FakeClock()
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0, broadcast_interval=1.0))
    await hub.start()
    began, rng = clock(), random.Random(1)
    runs = [SyntheticRun(run=f"run-{rank}", rank=rank, world_size=RANKS, total=100_000) for rank in range(RANKS)]
    # As the reporter does it: each at its place, and no process starts at quite the same time as another.
    due = [(began + 0.9 * rank / BEATS_PER_SECOND + rng.uniform(0, 2), rank) for rank in range(RANKS)]
    heapq.heapify(due)
    requests: Counter[int] = Counter()
    spent, beats, lost = 0.0, 0, 700
    ticked = began
    try:
        while due and due[0][0] < began + 300:
            at, rank = heapq.heappop(due)
            clock.advance(at - clock())
            elapsed = clock() - began
            requests[int(elapsed)] += 1
            run, step = runs[rank], int(elapsed)
            report = run.at(step, t=elapsed) if rank == 0 else run.beat(step, t=elapsed, device=DEVICE)
            before = process_time()
            answer = await hub.ingest(KEY, report, create=True)
            spent, beats = spent + (process_time() - before) * (rank > 0), beats + (rank > 0)
            if rank != lost or elapsed < 100:
                heapq.heappush(due, (clock() + answer.interval, rank))
            if clock() - ticked >= 1.0:
                ticked = clock()
                hub.tick()
                early = [each.type for each in hub.job(KEY).conditions] if elapsed < 100 else []
                assert ConditionType.STRAGGLING_RANK not in early
        job = hub.job(KEY)
    finally:
        await hub.stop()
    assert max(requests.values()) < 50
    (straggling,) = [
        each for each in job.conditions if each.type is ConditionType.STRAGGLING_RANK and each.until is None
    ]
    assert straggling.evidence["rank"] == lost
    assert straggling.evidence["lost"] == 1
    assert straggling.since - began < 100 + 2 * beat_interval(RANKS)
    assert len(job.ranks) == RANKS
    assert job.ranks[1].device_name == "NVIDIA H200"
    assert job.ranks[1].memory_used == 80 << 30
    assert spent / beats < 0.02, (
        f"{spent / beats * 1e3:.2f} ms of CPU a beat: something goes through all ranks again and again"
    )
    print(f"{max(requests.values())} requests in the busiest second, {spent / beats * 1e6:.0f} us of CPU a beat")


async def test_a_rank_costs_the_server_a_few_kilobytes() -> None:
    hub = Hub(MemoryStore(), clock=FakeClock(), settings=HubSettings(tick=3600.0))
    await hub.start()
    try:
        writer = SyntheticRun(rank=0, world_size=RANKS)
        await hub.ingest(KEY, writer.at(1), create=True)
        tracemalloc.start()
        for rank in range(1, RANKS):
            run = SyntheticRun(run=f"run-{rank}", rank=rank, world_size=RANKS)
            for step in range(1, 4):
                await hub.ingest(KEY, run.beat(step, t=float(step), device=DEVICE))
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    finally:
        await hub.stop()
    print(f"{size / RANKS / 1024:.1f} KiB a rank")
    assert size / RANKS < 8 * 1024
