"""Learning curves from a seed, with what is true of them: for tests and for measuring what insight says.

Each curve carries its noise-free level, so that a verdict can be held against the truth: a plateau is called falsely when
the level was still going to fall by more than the margin. Shapes: power laws; a breakthrough after a long slow phase; epoch
staircases; learning rates that stay, fall along a cosine, in steps, in cycles or in a final cool-down. Noise is
multiplicative, partly correlated and heavy-tailed, of 1 to 30 per cent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from headway.protocol.report import Cell, Point

SHAPES: Final = ("power", "breakthrough", "staircase")
SCHEDULES: Final = ("constant", "cosine", "step", "cyclic", "wsd")
NOISES: Final = (0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One synthetic run. ``levels`` holds the noise-free loss at each point."""

    name: str
    points: tuple[Point, ...]
    levels: tuple[float, ...]
    total_steps: int
    onset_step: int | None = None
    """Where improvement (or sanity) was made to end; None: healthy."""

    def still_to_come(self, step: int) -> float:
        """Relative improvement of the noise-free level from ``step`` to the end."""
        at = next(index for index, point in enumerate(self.points) if point.step >= step)
        return 1 - min(self.levels[at:]) / self.levels[at]


def rate(schedule: str, progress: float, warmup: float = 0.03) -> float:
    """Learning rate of a schedule relative to its peak, at ``progress`` from 0 to 1."""
    if progress < warmup:
        return max(progress / warmup, 0.01)
    done = (progress - warmup) / (1 - warmup)
    if schedule == "cosine":
        return 0.01 + 0.99 * (1 + math.cos(math.pi * done)) / 2
    if schedule == "step":
        return float(0.3 ** min(2, int(done * 3)))
    if schedule == "cyclic":
        return 0.1 + 0.9 * (1 + math.cos(2 * math.pi * ((4 * done) % 1.0))) / 2
    if schedule == "wsd":
        return 1.0 if done < 0.75 else max(0.01, (1 - done) / 0.25)
    return 1.0


def _power(rng: random.Random) -> Callable[[float], float]:
    exponent, offset, ratio = rng.uniform(0.2, 0.8), rng.uniform(0.002, 0.03), rng.uniform(2.0, 6.0)
    height = (ratio - 1) / (offset**-exponent - (1 + offset) ** -exponent)
    floor = 1 - height * (1 + offset) ** -exponent
    return lambda progress: floor + height * (progress + offset) ** -exponent


def _breakthrough(rng: random.Random) -> Callable[[float], float]:
    base = _power(rng)
    begin, end = rng.uniform(0.08, 0.12), rng.uniform(0.2, 0.35)
    slope = rng.uniform(0.3, 0.6)
    high = base(begin)
    low = high * (1 - slope * (end - begin))

    def level(progress: float) -> float:
        if progress < begin:
            return base(progress)
        if progress < end:
            return high + (low - high) * (progress - begin) / (end - begin)
        done = min(1.0, (progress - end) / 0.1)
        return low + (0.6 * low * (base(progress) / base(end)) - low) * done

    return level


def _staircase(rng: random.Random, epochs: int) -> Callable[[float], float]:
    base, drop = _power(rng), rng.uniform(0.08, 0.25)
    return lambda progress: base(progress) * (1 - drop) ** min(epochs - 1, math.floor(progress * epochs))


def healthy(seed: int) -> Curve:
    """A run that keeps learning; everything about it is drawn from ``seed``."""
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret
    shape, schedule = SHAPES[seed % len(SHAPES)], SCHEDULES[(seed // len(SHAPES)) % len(SCHEDULES)]
    noise = NOISES[(seed // 15) % len(NOISES)]
    count = round(math.exp(rng.uniform(math.log(60), math.log(1500))))
    stride = rng.choice((1, 5, 10, 50))
    epochs = rng.randint(3, 8)
    level = {
        "power": lambda: _power(rng),
        "breakthrough": lambda: _breakthrough(rng),
        "staircase": lambda: _staircase(rng, epochs),
    }[shape]()
    says_rate, says_epoch = rng.random() < 0.5, shape == "staircase"
    cooling = rng.uniform(0.02, 0.06)
    wander = 0.0
    points, levels = [], []
    for index in range(count):
        progress = index / (count - 1)
        speed = rate(schedule, progress)
        true = level(progress) * (1 + (cooling * speed if schedule in ("wsd", "cosine", "step") else 0.0))
        wander = 0.6 * wander + 0.8 * rng.gauss(0, 1)
        shock = rng.gauss(0, 1) * (4 if rng.random() < 0.02 else 1)
        value = true * math.exp(noise * (0.5 * wander + 0.85 * shock))
        metrics = {"loss": Cell(value)}
        if says_rate:
            metrics["learning_rate"] = Cell(1e-4 * speed)
        if says_epoch:
            metrics["epoch"] = Cell(progress * epochs)
        points.append(Point((index + 1) * stride, (index + 1) * stride * 0.5, metrics))
        levels.append(true)
    return Curve(
        name=f"{shape}-{schedule}-{noise:g}-{seed}",
        points=tuple(points),
        levels=tuple(levels),
        total_steps=count * stride,
    )


def decimated(curve: Curve, factor: int) -> Curve:
    """The same run, logged ``factor`` times less often."""
    return replace(
        curve,
        name=f"{curve.name}/{factor}",
        points=curve.points[factor - 1 :: factor],
        levels=curve.levels[factor - 1 :: factor],
    )


def with_plateau(curve: Curve, progress: float) -> Curve:
    """The same run, standing still from ``progress`` (0 to 1) of its points on; the noise goes on."""
    at = round(progress * len(curve.points))
    points, levels = list(curve.points[:at]), list(curve.levels[:at])
    stuck = curve.levels[at]
    for point, true in zip(curve.points[at:], curve.levels[at:], strict=True):
        value = point.metrics["loss"].mean / true * stuck
        points.append(point._replace(metrics={**point.metrics, "loss": Cell(value)}))
        levels.append(stuck)
    return replace(
        curve,
        name=f"{curve.name}+plateau",
        points=tuple(points),
        levels=tuple(levels),
        onset_step=curve.points[at].step,
    )
