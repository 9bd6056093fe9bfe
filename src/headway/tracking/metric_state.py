"""The metrics of one run, folded: of each its newest value by the run's own clock, and its finite extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from headway.protocol.points import Points

MOST_METRICS: Final = 1000
"""Metrics of one run whose newest and extreme values are kept at hand; all are in the history."""

_INF: Final = math.inf


class MetricState:
    """Newest value of a metric by (time, step, sequence number), and its finite extremes."""

    __slots__ = ("high", "low", "seq", "step", "t", "value")

    def __init__(self, t: float, step: int, seq: int, value: float) -> None:
        self.t = t
        self.step = step
        self.seq = seq
        self.value = value
        self.low = _INF
        self.high = -_INF


def fold_metrics(metrics: dict[str, MetricState], points: Points, seq: int) -> None:
    """Folds the points of one report, of sequence number ``seq``, into ``metrics``."""
    steps, times, ordered = points.steps, points.times, points.ordered
    for name, (means, _, _, _, places) in points.columns.items():
        entry = metrics.get(name)
        if entry is None and len(metrics) >= MOST_METRICS:
            continue
        at = -1 if ordered else _newest(points, places)
        place = at if places is None else places[at]
        t, step, value = times[place], steps[place], means[at]
        if entry is None:
            entry = metrics[name] = MetricState(t, step, seq, value)
        elif t > entry.t or (t, step, seq) >= (entry.t, entry.step, entry.seq):
            entry.t, entry.step, entry.seq, entry.value = t, step, seq, value
        finite = means if -_INF < sum(means) < _INF else [mean for mean in means if -_INF < mean < _INF]
        if finite:
            low, high = min(finite), max(finite)
            if low < entry.low:  # noqa: PLR1730 - a branch costs less than a call, and this is the hot path
                entry.low = low
            if high > entry.high:  # noqa: PLR1730
                entry.high = high


def _newest(points: Points, places: Sequence[int] | None) -> int:
    """Which cell of a column is the newest by (time, step); of equals, the last."""
    places = range(len(points)) if places is None else places
    return max(range(len(places)), key=lambda at: (points.times[places[at]], points.steps[places[at]], at))
