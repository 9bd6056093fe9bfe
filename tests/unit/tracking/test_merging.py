"""Fewer points that say the same: counts, means and second moments of all that they stand for."""

import math
import random
from statistics import fmean

import pytest

from headway.insight.assess import RunInsight
from headway.protocol.points import Points
from headway.protocol.report import Cell, Point
from headway.tracking import merging
from headway.tracking.merging import MOST_UNREAD, Unread, merged


def pooled(cells: list[Cell]) -> Cell:
    return merging.pooled(*zip(*cells, strict=True))


def parts_of(points: list[Point], size: int = 7) -> list[Points]:
    return [Points.of(points[at : at + size]) for at in range(0, len(points), size)]


def cell_of(samples: list[float]) -> Cell:
    mean = fmean(samples)
    return Cell(mean, len(samples), sum((each - mean) ** 2 for each in samples))


def test_what_is_few_enough_stays_as_it_is():
    points = [Point(step, float(step), {"loss": Cell(1.0)}) for step in range(12)]

    assert merged(parts_of(points), 12) == points


def test_merged_points_stand_where_the_last_of_each_group_stood():
    points = [Point(step, step / 10, {"loss": Cell(float(step))}) for step in range(1, 101)]

    fewer = merged(parts_of(points), 12)

    assert len(fewer) == 12
    assert fewer[-1].step == 100
    assert fewer[-1].t == pytest.approx(10.0)
    assert [point.step for point in fewer] == sorted(point.step for point in fewer)
    assert sum(point.metrics["loss"].n for point in fewer) == 100


def test_pooled_cells_are_the_cell_of_all_samples():
    random.seed(5)
    groups = [[random.gauss(2.0, 0.5) for _ in range(size)] for size in (1, 9, 4, 30)]

    whole = cell_of([sample for group in groups for sample in group])
    together = pooled([cell_of(group) for group in groups])

    assert together.n == whole.n
    assert together.mean == pytest.approx(whole.mean)
    assert together.m2 == pytest.approx(whole.m2)


def test_what_is_not_finite_is_counted_and_left_out_of_the_mean():
    together = pooled([Cell(1.0, 2, 0.0, 0), Cell(math.nan, 3, 0.0, 3), Cell(4.0, 5, 1.0, 4)])

    assert together == Cell(2.0, 10, pytest.approx(7.0), 7)
    assert math.isnan(pooled([Cell(math.nan, 1, 0.0, 1), Cell(math.nan, 1, 0.0, 1)]).mean)
    assert pooled([Cell(math.inf, 1, 0.0, 1)] * 3).mean == math.inf


def test_a_value_that_repeats_still_does_to_the_bit():
    assert pooled([Cell(0.1, n) for n in (3, 7, 9)]).mean == 0.1


def test_metrics_that_only_some_points_have_are_kept():
    points = [Point(step, float(step), {"loss": Cell(1.0)}) for step in range(1, 41)]
    points[17] = Point(18, 18.0, {"loss": Cell(1.0), "eval_loss": Cell(3.0)})

    found = [point.metrics["eval_loss"] for point in merged(parts_of(points), 4) if "eval_loss" in point.metrics]

    assert found == [Cell(3.0)]


def test_the_learning_rate_and_the_epoch_are_the_newest():
    points = [
        Point(step, float(step), {"learning_rate": Cell(1.0 / step), "epoch": Cell(step / 10)}) for step in range(1, 21)
    ]

    last = merged(parts_of(points), 2)[-1]

    assert last.metrics == {"learning_rate": Cell(0.05), "epoch": Cell(2.0)}


def test_trends_are_looked_at_after_the_last_point_that_comes_at_once():
    random.seed(7)
    points = [Point(step, float(step), {"loss": Cell(1.0 + random.gauss(0, 0.01))}) for step in range(1, 401)]
    insight = RunInsight()
    for point in points[:-1]:
        insight.observe(point, total_steps=500, more=True)
    before = insight.assess(400.0).text

    insight.observe(points[-1], total_steps=500)

    assert before != insight.assess(400.0).text


def test_what_waits_is_read_once_and_never_grows_beyond_a_bound():
    unread = Unread()
    assert unread.take(12) == []
    points = [Point(step, float(step), {"loss": Cell(float(step))}) for step in range(1, 40 * MOST_UNREAD + 1)]
    for part in parts_of(points, 100):
        unread.add(part)
        assert sum(map(len, unread._parts)) <= MOST_UNREAD
    fewer = unread.take(12)
    assert len(fewer) <= 12
    assert fewer[-1].step == points[-1].step
    assert sum(point.metrics["loss"].n for point in fewer) == len(points)
    assert unread.take(12) == []


def test_parts_without_points_or_with_other_metrics_are_merged():
    parts = [
        Points.of([]),
        Points.of([Point(step, float(step), {"loss": Cell(1.0)}) for step in range(1, 21)]),
        Points.of([Point(21, 21.0, {})]),
        Points.of([Point(step, float(step), {"loss": Cell(1.0), "eval_loss": Cell(2.0)}) for step in range(22, 31)]),
    ]
    fewer = merged(parts, 3)
    assert [point.step for point in fewer] == [10, 20, 30]
    assert [point.metrics["loss"].n for point in fewer] == [10, 10, 9]
    assert fewer[-1].metrics["eval_loss"] == Cell(2.0, 9)
    assert merged([Points.of([])], 3) == []
