"""Medians, which most of insight rests on. ``statistics.median`` checks and converts what is known to be floats here."""

from __future__ import annotations

from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """The middle one of at least one finite value; the mean of the middle two where their number is even."""
    ordered = sorted(values)
    half, odd = divmod(len(ordered), 2)
    return ordered[half] if odd else (ordered[half - 1] + ordered[half]) / 2
