"""What watching costs in memory: little a metric however long a run is, and little a job."""

from __future__ import annotations

import gc
import math
import random
import tracemalloc

from headway.insight.assess import RunInsight
from headway.insight.watch import MetricWatch
from headway.protocol.report import Cell, Point
from headway.tracking.conditions.judge import Judge


def grown(make, count: int) -> float:
    """Bytes that each of ``count`` things made by ``make`` holds on to."""
    make()  # caches are filled once, for all
    gc.collect()
    tracemalloc.start()
    try:
        kept = [make() for _ in range(count)]
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()


def metric_of_many_points() -> MetricWatch:
    watch = MetricWatch("loss", {})
    for step in range(60_000):
        watch.series.add(float(step), 2.0 + (step * 7919 % 13) * 0.01)
    return watch


def job_of_some_points() -> Judge:
    rng = random.Random(1)
    judge = Judge()
    judge.insight = RunInsight()
    for step in range(1, 601):
        loss = (2 + 8 * (step + 10) ** -0.4) * (1 + 0.01 * rng.gauss(0, 1))
        metrics = {"loss": Cell(loss), "lr": Cell(1e-4), "grad_norm": Cell(1 + 0.1 * rng.gauss(0, 1))}
        if step % 20 == 0:
            metrics["eval_loss"] = Cell(1.1 * loss)
        judge.observe("a", start=0.0, step=step, began=0, t=float(step), sent=1e6 + step, usual_gap=1.0)
        judge.read([Point(step, float(step), metrics)], total=4000)
        if step % 10 == 0:
            judge.assess(1e6 + step, judge.estimate(1e6 + step, 4000))
    return judge


def test_a_metric_of_many_points_costs_less_than_forty_kilobytes():
    """Twice as many points cost at most 64 buckets of three numbers more, so the bound holds at a million, too."""
    doublings = math.log2(1_000_000 / 60_000)
    assert grown(metric_of_many_points, 1) < 40_000 - doublings * 64 * 3 * 8


def test_a_running_job_costs_less_than_a_third_of_what_a_thousand_of_them_may():
    """1,000 running jobs in less than 300 MB; the server itself, with 10,000 jobs, takes less than 200."""
    assert grown(job_of_some_points, 3) < 100_000
