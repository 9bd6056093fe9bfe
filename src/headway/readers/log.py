"""What every reader makes of a file: points in order, and what the file says of the run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.errors import InvalidError
from headway.protocol.report import Cell, Point

STEP_NAMES: Final = (
    "step", "global_step", "trainer/global_step", "_step", "iteration", "iter", "steps", "num_steps", "timestep",
    "total_timesteps", "time/total_timesteps",
)  # fmt: skip
"""Columns that count steps, the best first."""
TIME_NAMES: Final = ("time", "time_s", "elapsed", "elapsed_seconds", "_runtime", "wall_time", "timestamp", "_timestamp")
"""Columns that tell the time in seconds: from any origin, but always forward."""
_BLANK: Final = {"", "-", "na", "n/a", "none", "null"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One run as a file tells it. ``t`` of the points is seconds since the first one, NaN where the file has no times."""

    path: Path
    format: str
    points: tuple[Point, ...]
    total_steps: int | None = None
    warnings: tuple[str, ...] = ()
    """What was left out, and why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers logged at one step; several readings may share a step."""

    step: int
    time: float
    values: Mapping[str, float]


def to_points(readings: Iterable[Reading]) -> Iterator[Point]:
    """Merge neighbouring readings of one step into points, and count time from the first reading that has one."""
    origin: float | None = None
    open_point: Point | None = None
    for reading in readings:
        if origin is None and math.isfinite(reading.time):
            origin = reading.time
        t = reading.time - origin if origin is not None else math.nan
        cells = {name: Cell(value) for name, value in reading.values.items()}
        if open_point is not None and open_point.step == reading.step and _agree(open_point.metrics, cells):
            open_point = open_point._replace(metrics={**open_point.metrics, **cells})
            continue
        if open_point is not None and open_point.metrics:
            yield open_point
        open_point = Point(reading.step, t, cells)
    if open_point is not None and open_point.metrics:
        yield open_point


def _agree(some: Mapping[str, Cell], others: Mapping[str, Cell]) -> bool:
    return all(others[name] == cell for name, cell in some.items() if name in others)


def parse_number(text: str) -> float | None:
    """A number as logs spell it, with NaN and infinities; None for a blank.

    Raises:
        ValueError: it is neither.
    """
    plain = text.strip()
    return None if plain.lower() in _BLANK else float(plain)


def choose(names: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    """The first of ``wanted`` that is among ``names``, whatever its case."""
    known = {name.strip().lower(): name for name in reversed(list(names))}
    return next((known[name] for name in wanted if name in known), None)


def whole(value: float, where: str) -> int:
    """A step as an integer.

    Raises:
        InvalidError: it is not a finite number.
    """
    if not math.isfinite(value):
        raise InvalidError(f"{where}: the step is {value}")
    return round(value)


def read_text(path: Path) -> str:
    """Text of a file in UTF-8, with or without a byte order mark.

    Raises:
        InvalidError: it is not text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path} is not a text file in UTF-8 (byte {error.start})") from error
