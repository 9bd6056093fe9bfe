"""JSON Lines: one object a line (or one array of objects), with a step and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.errors import InvalidError
from headway.readers.log import (
    STEP_NAMES,
    TIME_NAMES,
    Log,
    Reading,
    by_epoch,
    choose,
    finite,
    parse_json,
    read_text,
    to_points,
)
from headway.readers.trainer_state import numbers


def read_jsonl(path: Path) -> Log:
    """Read JSON Lines. Objects without a step (a configuration, say) are left out; so is a torn last line.

    Raises:
        InvalidError: a line is not a JSON object, or none has a step; the message says which.
    """
    warnings: list[str] = []
    objects = list(_objects(path, warnings))
    points = tuple(to_points(_readings(objects, warnings)))
    if not points:
        raise InvalidError(
            f"{path} holds no object with numbers and a step (one of {', '.join(STEP_NAMES[:6])}; or epoch)"
        )
    return Log(path=path, format="jsonl", points=points, warnings=tuple(warnings))


def _objects(path: Path, warnings: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    text = read_text(path)
    if text.lstrip().startswith("["):
        rows = parse_json(text, str(path))
        located = [(f"{path}, element {index}", row) for index, row in enumerate(rows)]
    else:
        located = []
        lines = text.split("\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                located.append((where, parse_json(line, where)))
            except InvalidError:
                if number < len(lines):
                    raise
                warnings.append(f"line {number} is cut off and was left out")
    for where, row in located:
        if not isinstance(row, dict):
            raise InvalidError(f"{where} is not an object")
        yield where, row


def _readings(objects: list[tuple[str, dict[str, Any]]], warnings: list[str]) -> Iterator[Reading]:
    names = {name for _, row in objects for name in row}
    step_name = choose(names, (*STEP_NAMES, "epoch"))
    time_name = choose(names, TIME_NAMES)
    if step_name is None:
        return
    rows = _rows(objects, step_name, time_name, warnings)
    yield from by_epoch(rows, warnings) if step_name.lower() == "epoch" else rows


def _rows(
    objects: list[tuple[str, dict[str, Any]]], step_name: str, time_name: str | None, warnings: list[str]
) -> Iterator[Reading]:
    without = 0
    for where, row in objects:
        values = {_own(name): value for name, value in numbers(row, ())}
        step = values.pop(step_name, None)
        time = values.pop(time_name, math.nan) if time_name is not None else math.nan
        if step is None:
            without += 1
            continue
        yield Reading(finite(step, where), time, values)
    if without:
        warnings.append(f"{without} objects without {step_name} were left out")


def _own(name: str) -> str:
    """A metric's own name, where it lies in an object that is called ``metrics``."""
    return name.removeprefix("metrics/")
