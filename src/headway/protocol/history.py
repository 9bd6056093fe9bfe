"""Metric history as it is asked for and answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class SeriesPoint(NamedTuple):
    """One drawn point: ``n`` samples between its neighbours. ``low`` and ``high`` are the extremes of the point means merged.

    ``mean``, ``low`` and ``high`` are NaN when no sample was finite; ``bad`` counts those that were not.
    """

    step: int
    t: float
    mean: float
    low: float
    high: float
    n: int
    bad: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The history of one metric in one attempt."""

    metric: str
    attempt: str
    """Attempt id."""
    tier: int
    """How many raw points stand behind each one: 1 (raw), 8, 64, …"""
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesQuery:
    """Which history. ``metrics`` empty: all. ``points`` is the most to answer per metric and attempt."""

    metrics: tuple[str, ...] = ()
    attempt: str | None = None
    """Attempt id; None: all attempts."""
    points: int = 1000
    first_step: int | None = None
    last_step: int | None = None


class SparkPoint(NamedTuple):
    """One point of a sparkline; ``value`` is NaN where no sample was finite."""

    step: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """A metric's course in a few points, over all attempts: a step trained twice counts as it was trained last."""

    namespace: str
    name: str
    metric: str
    """The job's own name of the metric."""
    points: tuple[SparkPoint, ...]
