"""What can befall a curve of :mod:`headway.testing.curves`, with the exact step at which it sets in: for tests and benchmarks.

Each function returns the same run with one thing changed. ``onset_step`` is where a person would say that it began; it is None
where nothing is wrong with the run (a spike that recovers, a restart, reports that come late or twice).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from headway.protocol.report import Cell, Point
from headway.testing.curves import Curve


def with_divergence(curve: Curve, progress: float, *, factor: float = 3.0) -> Curve:
    """From ``progress`` (0 to 1) of its points on the loss rises to ``factor`` times its level, and stays there.

    It takes a fiftieth of the points to get there.
    """
    at = round(progress * len(curve.points))
    ramp = max(1, len(curve.points) // 50)
    stuck = curve.levels[at]

    def level(index: int) -> float:
        return stuck * math.pow(factor, min(1.0, (index - at + 1) / ramp))

    return _from(curve, at, level, "diverges")


def with_nan(curve: Curve, progress: float) -> Curve:
    """The loss is not a number from ``progress`` on."""
    at = round(progress * len(curve.points))
    points = [
        point if index < at else point._replace(metrics={**point.metrics, "loss": Cell(math.nan)})
        for index, point in enumerate(curve.points)
    ]
    return replace(curve, name=f"{curve.name}+nan", points=tuple(points), onset_step=curve.points[at].step)


def with_spike(curve: Curve, progress: float, *, factor: float = 5.0, length: int = 3) -> Curve:
    """The loss is ``factor`` times as high for ``length`` points from ``progress`` on, and comes back."""
    at = round(progress * len(curve.points))
    points = [
        _scaled(point, factor) if at <= index < at + length else point for index, point in enumerate(curve.points)
    ]
    return replace(curve, name=f"{curve.name}+spike", points=tuple(points), onset_step=None)


def with_restart(curve: Curve, progress: float, *, lost: float = 0.02, rise: float = 0.02) -> Curve:
    """At ``progress`` the run begins again ``lost`` (of all its points) further back.

    Steps go back, time does not. The level stands ``rise`` higher at first, and is what it was after 3 % of the run.
    """
    at = round(progress * len(curve.points))
    back = max(0, at - max(1, round(lost * len(curve.points))))
    again, fades = curve.points[back:], max(1.0, 0.03 * len(curve.points))
    away = curve.points[at - 1].t - again[0].t + 1.0
    after = [
        _scaled(point._replace(t=point.t + away), 1 + rise * math.exp(-4 * index / fades))
        for index, point in enumerate(again)
    ]
    return replace(
        curve,
        name=f"{curve.name}+restart",
        points=(*curve.points[:at], *after),
        levels=(*curve.levels[:at], *curve.levels[back:]),
        onset_step=None,
    )


def with_evaluations(curve: Curve, count: int, seed: int, *, overfit_from: float | None = None) -> Curve:
    """With ``count`` evaluations over the run, which follow its level; from ``overfit_from`` on they get worse by half in all.

    ``levels`` stay those of the training loss. Of a run that overfits, the training loss must fall on.
    """
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret
    every = max(1, len(curve.points) // count)
    turn = None if overfit_from is None else round(overfit_from * len(curve.points))
    points: list[Point] = []
    for index, (point, level) in enumerate(zip(curve.points, curve.levels, strict=True)):
        if (index + 1) % every:
            points.append(point)
            continue
        turned = turn is not None and index > turn
        risen = (index - (turn or 0)) / (len(curve.points) - (turn or 0))
        true = curve.levels[turn or 0] * (1 + 0.5 * risen) if turned else level
        value = 1.1 * true * math.exp(0.005 * rng.gauss(0, 1))
        points.append(point._replace(metrics={**point.metrics, "eval_loss": Cell(value)}))
    onset = None if turn is None else curve.points[turn].step
    word = "evaluations" if turn is None else "overfits"
    return replace(curve, name=f"{curve.name}+{word}", points=tuple(points), onset_step=onset)


def doubled(curve: Curve, seed: int, *, share: float = 0.1) -> Curve:
    """A ``share`` of the points comes twice, one after the other."""
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret
    kept = [
        (point, level)
        for pair in zip(curve.points, curve.levels, strict=True)
        for point, level in _often(pair, rng, share)
    ]
    return replace(
        curve,
        name=f"{curve.name}+doubled",
        points=tuple(point for point, _ in kept),
        levels=tuple(level for _, level in kept),
    )


def late(curve: Curve, seed: int, *, share: float = 0.1, most: int = 3) -> Curve:
    """A ``share`` of the points comes up to ``most`` places later than it was written."""
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret
    places = [
        index + (rng.randint(1, most) + 0.5 if rng.random() < share else 0.0) for index in range(len(curve.points))
    ]
    order = sorted(range(len(places)), key=places.__getitem__)
    return replace(
        curve,
        name=f"{curve.name}+late",
        points=tuple(curve.points[index] for index in order),
        levels=tuple(curve.levels[index] for index in order),
    )


def _often(pair: tuple[Point, float], rng: random.Random, share: float) -> list[tuple[Point, float]]:
    return [pair, pair] if rng.random() < share else [pair]


def _scaled(point: Point, factor: float) -> Point:
    return point._replace(metrics={**point.metrics, "loss": Cell(point.metrics["loss"].mean * factor)})


def _from(curve: Curve, at: int, level: Callable[[int], float], word: str) -> Curve:
    """The curve with other levels from its ``at``-th point on; the noise goes on."""
    levels = [*curve.levels[:at], *(level(index) for index in range(at, len(curve.points)))]
    points = [
        point if index < at else _scaled(point, levels[index] / curve.levels[index])
        for index, point in enumerate(curve.points)
    ]
    return replace(
        curve,
        name=f"{curve.name}+{word}",
        points=tuple(points),
        levels=tuple(levels),
        onset_step=curve.points[at].step,
    )
