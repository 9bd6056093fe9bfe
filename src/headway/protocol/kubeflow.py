"""Kubeflow Trainer's status request: what breaks its limits is mended, what it says is read.

Limits as of Kubeflow Trainer 2.2: an integer percentage from 0 to 100, whole seconds not below 0, at most 256 metrics whose
names and values are text of 1 to 64 characters. A stock server refuses a whole post for one breach; Headway mends what can
be mended and says so. :func:`shorten` is deterministic, so that a long name is the same series each time.
"""

from __future__ import annotations

import hashlib
import math
import re
from datetime import datetime
from typing import Any, Final

from headway.errors import InvalidError
from headway.protocol.codec import describe
from headway.protocol.limits import MAX_METRICS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH
from headway.protocol.report import Cell, Progress, TrainerStatus, Unit

STEP_NAMES: Final = ("current_step", "global_step", "step")
TOTAL_NAMES: Final = ("total_steps", "max_steps")
EPOCH_NAMES: Final = ("current_epoch", "epoch")
TOTAL_EPOCH_NAMES: Final = ("total_epochs",)
_PROGRESS_NAMES: Final = frozenset(STEP_NAMES + TOTAL_NAMES + EPOCH_NAMES + TOTAL_EPOCH_NAMES)
_MAX_WARNINGS: Final = 8
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_UNBOUNDED: Final = 2**62
"""A total this large means "no end"."""


def shorten(name: str, limit: int = MAX_NAME_LENGTH) -> str:
    """The name itself if it fits; else its head and eight hex digits of its hash, so that long names stay distinct."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9]}~{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def read_status(value: object, path: str = "trainerStatus") -> tuple[TrainerStatus, tuple[str, ...]]:
    """A status from its JSON value, and what was mended on the way.

    Raises:
        InvalidError: a field has a type that cannot be understood; names it.
    """
    if not isinstance(value, dict):
        raise InvalidError(f"expected an object, got {describe(value)}", field=path)
    warnings: list[str] = []
    percent = _whole(value.get("progressPercentage"), f"{path}.progressPercentage", warnings)
    if percent is not None and not 0 <= percent <= 100:
        warnings.append(f"{path}.progressPercentage {percent} is outside 0-100 and was clamped")
        percent = min(100, max(0, percent))
    remaining = _whole(value.get("estimatedRemainingSeconds"), f"{path}.estimatedRemainingSeconds", warnings)
    if remaining is not None and remaining < 0:
        warnings.append(f"{path}.estimatedRemainingSeconds {remaining} is negative and was dropped")
        remaining = None
    updated = value.get("lastUpdatedTime")
    if updated is not None and not isinstance(updated, str):
        raise InvalidError(f"expected a string, got {describe(updated)}", field=f"{path}.lastUpdatedTime")
    if updated is not None and not is_time(updated):
        warnings.append(f"{path}.lastUpdatedTime {updated[:40]!r} is no RFC 3339 time and was dropped")
        updated = None
    metrics = _read_metrics(value.get("metrics"), f"{path}.metrics", warnings)
    if len(warnings) > _MAX_WARNINGS:
        warnings[_MAX_WARNINGS:] = [f"and {len(warnings) - _MAX_WARNINGS} more"]
    status = TrainerStatus(
        progress_percentage=percent,
        estimated_remaining_seconds=remaining,
        metrics=metrics,
        last_updated_time=updated,
    )
    return status, tuple(warnings)


def is_time(text: str) -> bool:
    """Whether a text is a time as RFC 3339 writes it."""
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _whole(value: object, path: str, warnings: list[str]) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidError(f"expected an integer, got {describe(value)}", field=path)
    if isinstance(value, float):
        if not math.isfinite(value):
            warnings.append(f"{path} is not finite and was dropped")
            return None
        if not value.is_integer():
            warnings.append(f"{path} {value} is not an integer and was rounded down")
    return math.floor(value)


def _read_metrics(value: object, path: str, warnings: list[str]) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, list):
        raise InvalidError(f"expected an array, got {describe(value)}", field=path)
    metrics: dict[str, str] = {}
    for index, entry in enumerate(value):
        if type(entry) is dict:
            name, text = entry.get("name"), entry.get("value")
            if (
                type(name) is str
                and type(text) is str
                and 0 < len(name) <= MAX_NAME_LENGTH
                and len(text) <= MAX_VALUE_LENGTH
            ):
                metrics[name] = text
                continue
        where = f"{path}[{index}]"
        if not isinstance(entry, dict):
            raise InvalidError(f"expected an object, got {describe(entry)}", field=where)
        name, text = entry.get("name"), entry.get("value")
        if not isinstance(name, str):
            raise InvalidError(f"expected a string, got {describe(name)}", field=f"{where}.name")
        if isinstance(text, (int, float)) and not isinstance(text, bool):
            warnings.append(f"{where}.value is a number; it should be text")
            text = repr(text)
        if not isinstance(text, str):
            raise InvalidError(f"expected a string, got {describe(text)}", field=f"{where}.value")
        if not name:
            warnings.append(f"{where}.name is empty; the metric was dropped")
            continue
        short = shorten(name)
        if short != name:
            warnings.append(f"{where}.name was shortened to {short!r}")
        if len(text) > MAX_VALUE_LENGTH and number_or_none(text) is None:
            warnings.append(f"{where}.value of {short!r} is longer than {MAX_VALUE_LENGTH} characters and was dropped")
            continue
        metrics[short] = text
    if len(metrics) > MAX_METRICS:
        warnings.append(f"{path} holds {len(metrics)} metrics; a stock Kubeflow server takes {MAX_METRICS}")
    return metrics


def number_or_none(text: str) -> float | None:
    """The number that a metric's text stands for, NaN and infinities in any common spelling included."""
    try:
        return float(text)
    except ValueError:
        return None


def _first_number(metrics: dict[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        if name in metrics and (number := number_or_none(metrics[name])) is not None and math.isfinite(number):
            return number
    return None


def progress_of(status: TrainerStatus) -> Progress:
    """Step, total and epoch of a stock client, read from its metrics. Totals that mean "unknown" are None."""
    step = _first_number(status.metrics, STEP_NAMES)
    total = _first_number(status.metrics, TOTAL_NAMES)
    epoch = _first_number(status.metrics, EPOCH_NAMES)
    total_epochs = _first_number(status.metrics, TOTAL_EPOCH_NAMES)
    return Progress(
        step=None if step is None or step < 0 else int(step),
        total_steps=usable_total(total),
        epoch=None if epoch is None or epoch < 0 else epoch,
        total_epochs=None if total_epochs is None or total_epochs <= 0 else total_epochs,
        unit=Unit.OPTIMIZER_STEP if step is not None else None,
    )


def usable_total(total: float | None) -> int | None:
    """A total of steps that can be counted towards; -1, 0, ``sys.maxsize`` and the like mean unknown."""
    if total is None or not math.isfinite(total) or not 0 < total < _UNBOUNDED:
        return None
    return int(total)


def cells_of(status: TrainerStatus) -> dict[str, Cell]:
    """The numeric metrics of a stock client, without those that only tell progress."""
    cells = {}
    for name, text in status.metrics.items():
        if name not in _PROGRESS_NAMES and (number := number_or_none(text)) is not None:
            cells[name] = Cell(number, bad=0 if math.isfinite(number) else 1)
    return cells


def write_status(status: TrainerStatus) -> dict[str, Any]:
    """The JSON value of a status, within Kubeflow's limits: what does not fit is shortened or left out."""
    result: dict[str, Any] = {}
    if status.progress_percentage is not None:
        result["progressPercentage"] = min(100, max(0, status.progress_percentage))
    if status.estimated_remaining_seconds is not None:
        result["estimatedRemainingSeconds"] = min(2**31 - 1, max(0, status.estimated_remaining_seconds))
    metrics = [
        {"name": shorten(name), "value": text}
        for name, text in status.metrics.items()
        if name and 0 < len(text) <= MAX_VALUE_LENGTH
    ]
    if metrics:
        result["metrics"] = metrics[:MAX_METRICS]
    if status.last_updated_time is not None:
        result["lastUpdatedTime"] = status.last_updated_time
    return result
