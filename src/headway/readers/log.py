"""What every reader makes of a file: points in order, and what the file says of the run."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

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
    """What was left out, and why; what was made up of what."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Numbers logged at one step; several readings may share a step."""

    step: float
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
        step = round(reading.step)
        if open_point is not None and open_point.step == step and _agree(open_point.metrics, cells):
            open_point = open_point._replace(metrics={**open_point.metrics, **cells})
            continue
        if open_point is not None and open_point.metrics:
            yield open_point
        open_point = Point(step, t, cells)
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


def finite(value: float, where: str) -> float:
    """A step as it is.

    Raises:
        InvalidError: it is not a finite number.
    """
    if not math.isfinite(value):
        raise InvalidError(f"{where}: the step is {value}")
    return value


def by_epoch(readings: Iterable[Reading], warnings: list[str]) -> Iterator[Reading]:
    """Readings whose steps are epochs. Where those are fractions, what was logged at one of them is a step, counted from 0."""
    rows = list(readings)
    if all(float(row.step).is_integer() for row in rows):
        yield from rows
        return
    warnings.append("there is no step, and epochs are fractions: each epoch that was logged is counted as a step")
    for step, (_, same) in enumerate(groupby(rows, key=lambda row: row.step)):
        yield from (replace(row, step=step) for row in same)


def read_text(path: Path) -> str:
    """Text of a file in UTF-8, with or without a byte order mark, or in UTF-16 with one.

    Raises:
        InvalidError: it is not text.
    """
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and data[2:64].count(0) * 2 == len(data[2:64])
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path} is not a text file in UTF-8 (byte {error.start})") from error


def parse_json(text: str, where: str) -> Any:
    """A JSON document; ``where`` is what a message begins with.

    Raises:
        InvalidError: it is none, or nested too deeply to be a log.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if "\n" in text.rstrip("\n") else ""
        raise InvalidError(f"{where}{line}: not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:  # the latter: an integer of thousands of digits
        raise InvalidError(f"{where}: not a log ({error})") from error
