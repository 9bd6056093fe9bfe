"""A learning rate that has come to nothing: as planned at the end of a run, for nothing before."""

from __future__ import annotations

import math
import random

from headway.insight.assess import RunInsight
from headway.protocol.report import Cell, Point
from headway.protocol.verdict import Verdict


def verdicts(decayed_by: float, *, total: int = 4000) -> dict[int, Verdict]:
    """What is said at each point of a run whose learning rate and progress end after ``decayed_by`` of it."""
    noise = random.Random(1)
    insight = RunInsight()
    insight.begin_attempt(0.0)
    end = decayed_by * total
    said = {}
    for step in range(10, total + 1, 10):
        share = min(1.0, step / end)
        rate = 1e-3 * (0.0005 + 0.9995 * (1 + math.cos(math.pi * share)) / 2)
        loss = 1.5 + 2.0 * (1 - share) ** 2
        cells = {"loss": Cell(loss * (1 + 0.003 * noise.gauss(0, 1))), "learning_rate": Cell(rate)}
        insight.observe(Point(step, float(step), cells), total_steps=total)
        said[step] = insight.assess(float(step)).verdict
    return said


def test_a_learning_rate_that_ends_early_leaves_a_plateau() -> None:
    said = verdicts(0.2)
    first = next(step for step, verdict in said.items() if verdict is Verdict.PLATEAUED)
    assert 0.2 * 4000 < first < 0.8 * 4000


def test_a_learning_rate_that_ends_with_the_run_does_not() -> None:
    assert Verdict.PLATEAUED not in verdicts(0.97).values()
