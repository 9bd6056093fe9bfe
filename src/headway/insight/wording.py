"""Figures as a person reads them: no more digits than they are worth, always with a unit."""

from __future__ import annotations

import math
from typing import Final

_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def number(value: float, digits: int = 3) -> str:
    """A figure with so many significant digits: 0.000194, 3.28, 41,200."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 15 or size < -5:
        return f"{value:.{digits - 1}e}"
    rounded = round(value, digits - 1 - size)
    size = math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, digits - 1 - size)}f}"


def step(value: float | None) -> str:
    """A step: 41,200."""
    return "?" if value is None or not math.isfinite(value) else f"{round(value):,}"


def percent(fraction: float) -> str:
    """A share of a hundred: 0.3 %."""
    return f"{number(100 * fraction, 2)} %"


def duration(seconds: float) -> str:
    """A length of time: 6.2 h, 25 min, 40 s, under 1 s."""
    for size, unit in _UNITS:
        if seconds >= 1.5 * size or (unit == "min" and seconds >= 60):
            return f"{number(seconds / size, 2 if seconds / size < 100 else 3)} {unit}"
    return "under 1 s" if 0 < seconds < 0.5 else f"{round(seconds)} s"


def span(seconds: float, steps: float) -> str:
    """How long something has lasted: as time where times are known, else in steps."""
    if math.isfinite(seconds) and seconds > 0:
        return duration(seconds)
    return "1 step" if round(steps) == 1 else f"{round(steps):,} steps"


def signed(value: float) -> str:
    """A figure with its sign: +0.02, -140."""
    return ("" if value < 0 else "+") + number(value, 2)
