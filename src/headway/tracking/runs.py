"""One process's word, folded: every field is a join, so that neither order nor repetition of its reports matters.

Counts that only grow take the maximum, what may change either way is taken from the report with the highest sequence number
that says it, and each metric keeps its newest value by the run's own clock. A value that is only ever looked at from outside
(best in which direction, capped percentage) is decided in :mod:`headway.tracking.progress`.
"""

from __future__ import annotations

import math
import re
from operator import attrgetter, sub
from typing import Final, TypeGuard

from headway.protocol import kubeflow
from headway.protocol.points import Points
from headway.protocol.report import Device, Progress, RunInfo, RunReport
from headway.tracking.metric_state import MetricState, fold_metrics
from headway.tracking.said import Ended, LastPost, Said, Saved, Stack, Stuck
from headway.tracking.seqset import SeqSet

MOST_STEPS: Final = 2**53
"""Whole numbers up to here are exact everywhere; a step past it is not believed."""

_GAPS: Final = 5
_ULID: Final = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_REGISTERS: Final = ("total_steps", "epoch", "total_epochs", "unit", "samples", "tokens", "phase", "step_seconds")
_registers_of: Final = attrgetter(*_REGISTERS)
_INF: Final = math.inf

MOST_SAVES: Final = 200
"""Steps of checkpoints that are remembered of one run."""


class RunState:
    """Everything known of one run."""

    __slots__ = (
        "checkpoint",
        "device",
        "ending",
        "first_seen",
        "first_total",
        "fragment",
        "gaps",
        "info",
        "known",
        "metrics",
        "origin",
        "rank",
        "rest_fragment",
        "run",
        "saves",
        "seen",
        "seq",
        "seq_t",
        "spoke_at",
        "stack",
        "start",
        "step",
        "step_at",
        "stock",
        "stuck",
        "warnings",
        "world_size",
        "wrote",
    )

    def __init__(self, run: str, rank: int) -> None:
        self.run = run
        self.rank = rank
        self.world_size = 1
        self.wrote = False
        """Whether any report carried a status or points: such a run writes progress, the others only beat."""
        self.seen = SeqSet()
        self.seq = 0
        """Highest sequence number."""
        self.seq_t: float | None = None
        """The attempt's clock when that report was sent."""
        self.spoke_at = -_INF
        """When that report was sent, by the server's clock."""
        self.first_seen = _INF
        self.origin = _INF
        """When the attempt began, by the server's clock, as this run tells it."""
        self.step: int | None = None
        self.step_at: float | None = None
        """When the highest step was reached."""
        self.start: int | None = None
        """The lowest step it stood at: where it began."""
        self.known: dict[str, tuple[int, object]] = {}
        """Fields of progress that may change either way: (sequence number, value)."""
        self.first_total: Said[int] | None = None
        self.metrics: dict[str, MetricState] = {}
        self.checkpoint: Saved | None = None
        """Its newest checkpoint."""
        self.saves: tuple[int, ...] = ()
        """Steps of all checkpoints, in order; of many, every other of the older ones."""
        self.device: Said[Device] | None = None
        """Its newest word on its accelerator; not kept over a restart, for the next report tells."""
        self.info: Said[RunInfo] | None = None
        self.ending: Ended | None = None
        self.stack: Stack | None = None
        self.stuck: Stuck | None = None
        self.warnings: tuple[str, ...] = ()
        self.gaps: list[float] = []
        """Seconds between the newest reports."""
        self.stock: StockState | None = None
        self.fragment: bytes | None = None
        """Its part of the stored document, as long as nothing changes."""
        self.rest_fragment: tuple[tuple[object, ...], bytes] | None = None
        """What of it is not said with every report, and that part's own."""

    @property
    def order(self) -> tuple[float, str]:
        """Orders runs of one attempt by when they were first heard."""
        return self.first_seen, self.run

    @property
    def advanced(self) -> bool:
        """Whether a step was made under this run."""
        return self.step is not None and self.began is not None and self.step > self.began

    @property
    def began(self) -> int | None:
        """Steps complete before its first: by its own word, which goes before what its points tell."""
        told = self.info.value.start_step if self.info is not None else None
        return told if told is not None and 0 <= told <= MOST_STEPS else self.start

    @property
    def restarts(self) -> int:
        """How often its launcher had started all processes anew before it."""
        return (self.info.value.restarts if self.info is not None else None) or 0

    @property
    def usual_gap(self) -> float | None:
        """Median seconds between its newest reports."""
        return sorted(self.gaps)[len(self.gaps) // 2] if self.gaps else None

    @property
    def present_stack(self) -> str | None:
        """Where its main thread stands, if it said so after its newest step."""
        if self.stack is None or (self.step is not None and (self.stack.step or 0) < self.step):
            return None
        return self.stack.text

    def value(self, name: str) -> object:
        """The newest known value of a field of progress."""
        entry = self.known.get(name)
        return None if entry is None else entry[1]

    def take(
        self,
        report: RunReport,
        points: Points,
        sent: float,
        *,
        wrote: bool,
        stock: bool,
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Folds one report that was sent at ``sent`` by the server's clock.

        Args:
            report: what it said.
            points: its points, those that are believed.
            sent: when it was sent.
            wrote: whether it carried a status or points.
            stock: whether it was made of a stock client's post, whose points tell no step of their own.
            warnings: what was mended in it.
        """
        seq = report.seq
        self.fragment = None
        self.seen.add(seq)
        self.wrote = self.wrote or wrote
        self.first_seen = min(self.first_seen, sent)
        if _finite(report.sent_after):
            self.origin = min(self.origin, sent - report.sent_after)
        if seq > self.seq:
            if self.seq:
                self.gaps = [*self.gaps[1 - _GAPS :], max(0.0, sent - self.spoke_at)]
            self.seq, self.spoke_at = seq, sent
            self.seq_t = report.sent_after if _finite(report.sent_after) else None
            self.rank, self.world_size = report.rank, report.world_size
            self.warnings = warnings
        elif seq == self.seq:
            self.spoke_at = min(self.spoke_at, sent)
        self._take_progress(report.progress, seq, sent)
        if points:
            tells_step = report.progress.step is None and not stock
            self._take_points(points, seq, sent, tells_step=tells_step)
        self._take_rest(report, sent)

    def _take_progress(self, progress: Progress, seq: int, sent: float) -> None:
        known = self.known
        for name, value in zip(_REGISTERS, _registers_of(progress), strict=True):
            if value is None or not (type(value) is not float or -_INF < value < _INF):
                continue
            if name == "total_steps":
                total = kubeflow.usable_total(value)
                if total is None:
                    continue
                if self.first_total is None or seq < self.first_total.seq:
                    self.first_total = Said(seq, total)
            entry = known.get(name)
            if entry is None or seq > entry[0]:
                known[name] = (seq, value)
        if progress.step is not None and 0 <= progress.step <= MOST_STEPS:
            age = progress.last_step_age
            self._stand_at(progress.step, sent - max(0.0, age) if _finite(age) else sent)

    def _stand_at(self, step: int, at: float) -> None:
        if self.step is None or step > self.step:
            self.step, self.step_at = step, at
        elif step == self.step and self.step_at is not None:
            self.step_at = min(self.step_at, at)
        if self.start is None or step < self.start:
            self.start = step

    def _take_points(self, points: Points, seq: int, sent: float, *, tells_step: bool) -> None:
        fold_metrics(self.metrics, points, seq)
        if self.start != 0:  # it cannot have begun before that
            self._begin_at(points)
        if tells_step:
            for step in points.steps:
                self._stand_at(step, sent)

    def _begin_at(self, points: Points) -> None:
        """The lowest step before any point: as many samples before it as stand behind one of its cells."""
        most = [1] * len(points)
        for column in points.columns.values():
            places = range(len(most)) if column.places is None else column.places
            for place, count in zip(places, column.counts, strict=True):
                most[place] = max(most[place], count)
        begin = max(0, min(map(sub, points.steps, most)))
        self.start = begin if self.start is None else min(self.start, begin)

    def _take_rest(self, report: RunReport, sent: float) -> None:
        seq = report.seq
        if (saved := report.checkpoint) is not None and (
            self.checkpoint is None or (saved.step, seq) > self.checkpoint[:2]
        ):
            self.checkpoint = Saved(saved.step, seq, sent, saved)
        if saved is not None and saved.step not in self.saves:
            saves = tuple(sorted((*self.saves, saved.step)))
            self.saves = saves if len(saves) <= MOST_SAVES else (*saves[:-1:2], saves[-1])
        if report.device is not None and (self.device is None or seq > self.device.seq):
            self.device = Said(seq, report.device)
        if report.job is not None and (self.info is None or seq > self.info.seq):
            self.info = Said(seq, report.job)
        if report.stack is not None and (self.stack is None or seq > self.stack.seq):
            self.stack = Stack(seq, report.progress.step, report.stack)
        if report.ending is not None and (self.ending is None or seq > self.ending.seq):
            self.ending = Ended(seq, sent, report.ending)
        if report.ending is not None and report.ending.step is not None:
            self._stand_at(report.ending.step, sent)


class StockState:
    """What is only needed for a client that sends no ``headway`` object."""

    __slots__ = ("claim", "epoch_bounds", "final", "worth")

    def __init__(self) -> None:
        self.claim: Said[int] | None = None
        """The percentage of the newest post that named one and was not the last."""
        self.final: LastPost | None = None
        self.worth = 1
        """Most steps between two posts."""
        self.epoch_bounds: tuple[float, float] = (0.0, _INF)
        """Between how many steps an epoch has, by the pairs of step and rounded epoch posted."""


def _finite(value: float | None) -> TypeGuard[float]:
    return value is not None and -_INF < value < _INF


def earliest_first(runs: list[RunState]) -> list[RunState]:
    """Sorts runs by their start: by their ids where all tell it (a ULID does), else by when they were first heard."""
    if all(_ULID.fullmatch(run.run) for run in runs):
        return sorted(runs, key=lambda run: run.run)
    return sorted(runs, key=lambda run: run.order)
