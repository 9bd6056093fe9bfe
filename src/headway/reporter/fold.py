"""Turns what training wrote since the last tick into points: the means of plain numbers, the newest of samples.

One point for a tick that saw steps, one for each explicit log. Values arrive here on the reporter's thread only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headway.protocol.report import Cell, Point
from headway.reporter.scalars import Sample, number_of
from headway.reporter.slots import Entry, LogEntry, Slots

_MOST_DURATIONS: Final = 512
_MOST_MARKS: Final = 64
_PATIENCE: Final = 30.0
"""Seconds that a logged device value may take to be complete before its point goes without it."""


@dataclass(slots=True)
class Folded:
    """What one tick brought."""

    points: list[Point] = field(default_factory=list)
    last_step: int | None = None
    last_step_at: float | None = None
    """When the last of them was, on the monotonic clock."""
    durations: list[float] = field(default_factory=list)
    """Seconds per step."""
    marks: list[tuple[int, float]] = field(default_factory=list)
    """(step, monotonic time) of some of them, the last included."""


class Folder:
    """Folds the lane that is heard, tick by tick; remembers where the last one ended, and logs that a device still owes."""

    def __init__(self, slots: Slots, origin: float) -> None:
        self._slots = slots
        self._origin = origin
        self._heard = slots.heard
        self._last: tuple[int, float] | None = None
        self._owed: list[LogEntry] = []
        self.unreadable: dict[str, str] = {}
        """Metric to error, of values whose ``float()`` failed."""

    def fold(self) -> Folded:
        """Takes in everything written so far."""
        heard = self._slots.listen()
        if heard is not self._heard:
            self._heard, self._last = heard, None
        steps: list[Entry] = []
        logs: list[LogEntry] = self._owed
        for lane in self._slots.lanes:
            for _ in range(len(lane.entries)):
                entry = lane.entries.popleft()
                if lane.layer > heard.layer:
                    continue  # somebody further out has said it
                if len(entry) == 4:
                    logs.append(entry)
                elif lane is heard:
                    steps.append(entry)
        folded = Folded()
        if not self._slots.samples.wanted:
            logs.clear()
        else:
            self._fold_steps(steps, folded)
            self._fold_logs(logs, folded)
        if steps:
            self._time(steps, folded)
        folded.points.sort(key=lambda point: point.t)
        return folded

    def owes(self) -> bool:
        """Whether a device still owes values that were asked for."""
        return bool(self._owed) or any(self._slots.samples.flying.values())

    def _fold_steps(self, steps: list[Entry], folded: Folded) -> None:
        cells: dict[str, Cell] = {}
        columns = _columns([entry[2] for entry in steps])
        for name, column in columns.items():
            if (cell := summarize(column)) is not None:
                cells[name] = cell
            else:
                self.unreadable.setdefault(name, f"no number in {type(column[-1]).__name__}")
        late: dict[int, Point] = {}
        since = self._last[0] if self._last is not None else -1
        for name in list(self._slots.samples.flying):
            sample = self._slots.samples.take(name)
            if sample is None or (number := self._read(name, sample)) is None:
                continue
            if steps and sample.step > since:
                cells[name] = sample_cell(number)
            else:  # a device was late: the value belongs to a step whose point has gone
                point = late.setdefault(sample.step, Point(sample.step, sample.at - self._origin, {}))
                point.metrics[name] = sample_cell(number)
        folded.points.extend(late.values())
        if steps:
            step, at, _ = steps[-1]
            folded.points.append(Point(step, at - self._origin, cells))

    def _fold_logs(self, logs: list[LogEntry], folded: Folded) -> None:
        owed: list[LogEntry] = []
        for entry in logs:
            step, at, metrics, _ = entry
            samples = [value for value in metrics.values() if isinstance(value, Sample)]
            if time.monotonic() - at < _PATIENCE and not all(sample.ready() for sample in samples):
                owed.append(entry)
                continue
            cells = {}
            for name, value in metrics.items():
                number = self._read(name, value) if isinstance(value, Sample) else number_of(value)
                if number is not None:
                    cells[name] = sample_cell(number)
                else:
                    self.unreadable.setdefault(name, f"no number in {type(value).__name__}")
            folded.points.append(Point(step, at - self._origin, cells))
        self._owed = owed

    def _read(self, name: str, sample: Sample) -> float | None:
        try:
            return sample.read() if sample.ready() else None
        except Exception as error:  # noqa: BLE001 - anything can be behind __float__
            self.unreadable.setdefault(name, f"{type(error).__name__}: {error}"[:200])
            return None

    def _time(self, steps: list[Entry], folded: Folded) -> None:
        folded.last_step, folded.last_step_at, _ = steps[-1]
        folded.marks = [entry[:2] for entry in steps[:: -(len(steps) // _MOST_MARKS + 1)]][::-1]
        last = self._last
        for step, at, _ in steps[-_MOST_DURATIONS:]:
            if last is not None and step > last[0]:
                folded.durations.append((at - last[1]) / (step - last[0]))
            last = (step, at)
        self._last = last


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values of each metric, in order of the steps that have it."""
    if not rows:
        return {}
    try:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    except KeyError:
        columns = {}
    if sum(map(len, rows)) == len(rows) * len(columns):
        return columns  # every step has the same, as nearly always
    columns = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return columns


def sample_cell(number: float) -> Cell:
    """The cell of a single value."""
    return Cell(number, bad=0 if math.isfinite(number) else 1)


def summarize(values: Sequence[Any]) -> Cell | None:
    """Mean, count and squared deviations of plain numbers; those that are not finite are counted apart."""
    if len(values) > 1 and set(map(type, values)) == {float} and (cell := _summarize_floats(values)) is not None:
        return cell
    numbers = [value if type(value) is float else number_of(value) for value in values]
    known: list[float] = [number for number in numbers if number is not None]
    if not known:
        return None
    if len(known) == 1:
        return sample_cell(known[0])
    finite = [number for number in known if math.isfinite(number)]
    bad = len(known) - len(finite)
    if not finite:
        return Cell(known[0] if len(set(known)) == 1 else math.nan, len(known), 0.0, bad)
    mean = _mean(finite)
    squares = [(number - mean) * (number - mean) for number in finite]
    try:
        m2 = math.fsum(squares)
    except OverflowError:
        m2 = math.inf
    return Cell(mean, len(known), m2, bad)


def _summarize_floats(values: Sequence[float]) -> Cell | None:
    """The same where all are finite and of a usual size, as nearly always; None where they are not."""
    try:
        mean = math.fsum(values) / len(values)
        m2 = math.fsum([(value - mean) * (value - mean) for value in values])
    except (ValueError, OverflowError):  # infinite ones of both signs, or beyond all floats
        return None
    return Cell(mean, len(values), m2, 0) if math.isfinite(m2) else None


def _mean(finite: list[float]) -> float:
    try:
        return math.fsum(finite) / len(finite)
    except OverflowError:  # the sum is beyond all floats, the mean is not
        return math.fsum(number / len(finite) for number in finite)


def merge(older: Point, newer: Point) -> Point:
    """Two neighbouring points as one, at the newer one's step: nothing is lost but resolution."""
    metrics = dict(older.metrics)
    for name, cell in newer.metrics.items():
        metrics[name] = _merge_cells(metrics[name], cell) if name in metrics else cell
    return Point(newer.step, newer.t, metrics)


def _merge_cells(a: Cell, b: Cell) -> Cell:
    n, bad = a.n + b.n, a.bad + b.bad
    finite_a, finite_b = a.n - a.bad, b.n - b.bad
    if not finite_a or not finite_b:
        kept = a if finite_a else b
        return Cell(kept.mean, n, kept.m2, bad)
    finite = finite_a + finite_b
    delta = b.mean - a.mean
    mean = a.mean + delta * (finite_b / finite)
    return Cell(mean, n, a.m2 + b.m2 + delta * delta * (finite_a * finite_b / finite), bad)
