"""Curves that come in dense reports are judged from merged points, and judged alike."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import JobKey, Spec
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Cell, Point, Progress, Report, RunReport
from headway.protocol.verdict import ConditionType
from headway.store.memory import MemoryStore
from headway.testing.clock import FakeClock
from headway.testing.curves import healthy, with_plateau

CURVES = Path(__file__).parents[4] / "shared" / "curves"
KEY = JobKey("local", "job")
ALARMS = {ConditionType.PLATEAUED, ConditionType.DIVERGING, ConditionType.NON_FINITE, ConditionType.OVERFITTING}
PER_REPORT = 10
INTERVAL = 0.1


async def alarms(points: list[Point], total: int) -> dict[ConditionType, float]:
    """Share of the run at which each alarm was first seen, when ten points come every tenth of a second.

    The hub looks once a second, so that at each look a hundred points wait: more than are read one by one.
    """
    clock = FakeClock()
    hub = Hub(MemoryStore(), clock=clock, settings=HubSettings(tick=3600.0))
    await hub.start()
    await hub.register(KEY, Registration(runner="runner", attempt="a", spec=Spec()))
    await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.STARTED, runner="runner", attempt="a"))
    found: dict[ConditionType, float] = {}
    began = clock()
    for seq, at in enumerate(range(0, len(points), PER_REPORT), 1):
        clock.advance(INTERVAL)
        t = clock() - began
        some = tuple(
            point._replace(t=t - INTERVAL * (1 - (index + 1) / PER_REPORT))
            for index, point in enumerate(points[at : at + PER_REPORT])
        )
        progress = Progress(step=some[-1].step, total_steps=total, last_step_age=0.0)
        said = RunReport(
            run="run", seq=seq, attempt="a", rank=0, world_size=1, sent_after=t, progress=progress, points=some
        )
        await hub.ingest(KEY, Report(headway=said))
        if seq % 10 == 0:
            await hub.lifecycle(KEY, Lifecycle(kind=LifecycleKind.ALIVE, runner="runner", attempt="a"))
            hub.tick()
            for condition in hub.job(KEY).conditions:
                found.setdefault(condition.type, some[-1].step / total)
    hub.tick()
    await hub.stop()
    return {kind: share for kind, share in found.items() if kind in ALARMS}


def dense(points: list[Point], times: int) -> list[Point]:
    """As if each step had been said, where the log holds every ``times``-th: the values between are on the line."""
    filled = []
    for before, after in pairwise(points):
        for part in range(times):
            share = part / times
            metrics = {
                name: Cell(cell.mean + share * (after.metrics[name].mean - cell.mean))
                for name, cell in before.metrics.items()
                if name in after.metrics
            }
            filled.append(Point(before.step * times + part * (after.step - before.step), 0.0, metrics))
    return filled


def shared(name: str) -> tuple[list[Point], int]:
    """Points and total of a labelled curve; the test is skipped without it."""
    if not (CURVES / "LABELS.csv").exists():
        pytest.skip("the labelled curves are not here")
    with (CURVES / "LABELS.csv").open(encoding="utf-8") as file:
        total = next(int(row["total_steps"]) for row in csv.DictReader(file) if row["name"] == name)
    with (CURVES / f"{name}.csv").open(encoding="utf-8") as file:
        points = [
            Point(int(float(row["step"])), 0.0, cells)
            for row in csv.DictReader(file)
            if (cells := {key: Cell(float(value)) for key, value in row.items() if value and key != "step"})
        ]
    return points, total


@pytest.mark.parametrize(
    "name", ["gpt2_llmc_baseline", "gpt2_1b_20344", "gpt2_fp4_19073", "ppo_hopper_1", "pinn_v9", "gpt2_muon_6200"]
)
async def test_healthy_curves_stay_quiet(name: str):
    points, total = shared(name)
    assert {kind for kind, at in (await alarms(points, total)).items() if at < 0.95} == set()


@pytest.mark.parametrize(
    ("name", "kind", "onset"),
    [
        ("pinn_v28_long", ConditionType.PLATEAUED, 0.32),
        ("w2v_1b_npsc_nst_1015", ConditionType.OVERFITTING, 0.40),
        ("bert_mnli_490", ConditionType.OVERFITTING, 0.16),
    ],
)
async def test_bad_curves_are_found_and_none_too_early(name: str, kind: ConditionType, onset: float):
    points, total = shared(name)
    found = await alarms(points, total)
    assert onset - 0.02 < found.get(kind, 1.0) < 0.95
    assert all(at > onset - 0.02 for at in found.values())


async def test_a_run_of_many_points_is_judged_the_same_however_dense_it_reports():
    curve = with_plateau(healthy(0), 0.4)
    points = dense(list(curve.points), 8)
    found = await alarms(points, curve.total_steps * 8)
    assert set(found) == {ConditionType.PLATEAUED}
    assert 0.4 < found[ConditionType.PLATEAUED] < 0.9
    quiet = healthy(0)
    assert await alarms(dense(list(quiet.points), 8), quiet.total_steps * 8) == {}
