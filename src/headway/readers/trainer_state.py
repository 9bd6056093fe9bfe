"""Hugging Face's ``trainer_state.json``: the log history that Transformers' Trainer keeps with each checkpoint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from headway.errors import InvalidError
from headway.readers.log import Log, Reading, finite, parse_json, parse_number, read_text, to_points

_SUMMARY: Final = "train_runtime"
"""Marks the entry that sums up the whole run; its loss is a mean over all of it."""
_SPEED: Final = ("_runtime", "_per_second", "_flos", "_jit_compilation_time")


def read_trainer_state(path: Path) -> Log:
    """Read a ``trainer_state.json``.

    Raises:
        InvalidError: it is not JSON, or has no log history; the message says where.
    """
    document = parse_json(read_text(path), str(path))
    history = document.get("log_history") if isinstance(document, dict) else None
    if not isinstance(history, list):
        raise InvalidError(f"{path} has no list log_history: it is not a trainer_state.json")
    points = tuple(to_points(_readings(path, history)))
    if not points:
        raise InvalidError(f"{path}: log_history holds no numbers yet")
    total = document.get("max_steps")
    return Log(
        path=path,
        format="trainer_state",
        points=points,
        total_steps=total if isinstance(total, int) and total > 0 else None,
    )


def _readings(path: Path, history: list[Any]) -> Iterator[Reading]:
    for index, entry in enumerate(history):
        where = f"{path}, log_history[{index}]"
        if not isinstance(entry, dict):
            raise InvalidError(f"{where} is not an object")
        if _SUMMARY in entry:
            continue
        step = entry.get("step")
        if isinstance(step, bool) or not isinstance(step, (int, float)):
            raise InvalidError(f"{where} has no step")
        yield Reading(finite(_float(step), where), math.nan, dict(numbers(entry)))


def numbers(entry: Mapping[str, Any], skip: tuple[str, ...] = ("step",)) -> Iterator[tuple[str, float]]:
    """Names and numbers of a JSON object; nested objects become ``outer/inner``. NaN may be spelled as text."""
    for name, value in entry.items():
        if name in skip or name.endswith(_SPEED):
            continue
        if isinstance(value, dict):
            yield from ((f"{name}/{inner}", number) for inner, number in numbers(value, ()))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, _float(value)
        elif isinstance(value, str):
            try:
                number = parse_number(value)
            except ValueError:
                continue
            if number is not None:
                yield name, number


def _float(value: float) -> float:
    """The value, or infinity where an integer has no place in a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
