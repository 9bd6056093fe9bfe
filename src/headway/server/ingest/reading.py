"""Reads the body of a report in two thirds of the usual time.

What Headway's own reporter sends in nearly every report is read by msgspec against the types below; everything else, and
everything that is wrong, by :mod:`headway.protocol.wire`, which mends, and names what it refuses. The two agree on every body,
which a test holds: the types here only say which bodies need no second look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeAlias, cast

import msgspec

from headway.protocol import kubeflow
from headway.protocol.codec import LARGEST_WHOLE, NON_FINITE
from headway.protocol.limits import MAX_METRICS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH, PROTOCOL_VERSION
from headway.protocol.points import NO_POINTS, Column, Points, by_metric
from headway.protocol.report import Device, Phase, Progress, Report, RunReport, TrainerStatus, Unit
from headway.protocol.wire import decode_report
from headway.server.strict_json import decode_json

_Whole = Annotated[int, msgspec.Meta(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
_NotNegative = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_WHOLE)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_WHOLE)]
_Seconds = Annotated[float, msgspec.Meta(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]


# A cell of several samples, all of them finite; a bare number is one of one sample.
_Several = tuple[float, _Positive, Annotated[float, msgspec.Meta(ge=0)]]
_AnyCell: TypeAlias = _Several | float | str
_Point = tuple[_Whole, _Seconds, dict[str, _AnyCell]]


class _Metric(msgspec.Struct, gc=False):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
    value: Annotated[str, msgspec.Meta(max_length=MAX_VALUE_LENGTH)]


class _Status(msgspec.Struct, rename="camel"):
    progress_percentage: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    estimated_remaining_seconds: Annotated[int, msgspec.Meta(ge=0)] | None = None
    metrics: Annotated[tuple[_Metric, ...], msgspec.Meta(max_length=MAX_METRICS)] | None = None
    last_updated_time: str | None = None


class _Progress(msgspec.Struct, rename="camel"):
    step: _Whole | None = None
    total_steps: _Whole | None = None
    epoch: float | None = None
    total_epochs: float | None = None
    unit: Unit | None = None
    samples: _Whole | None = None
    tokens: _Whole | None = None
    phase: Phase | None = None
    last_step_age: float | None = None
    step_seconds: float | None = None


class _Device(msgspec.Struct, rename="camel"):
    name: str | None = None
    memory_used: _Whole | None = None
    memory_total: _Whole | None = None


class _Run(msgspec.Struct, rename="camel"):
    run: _Text
    seq: _Positive
    attempt: _Text
    rank: _NotNegative = 0
    world_size: _Positive = 1
    sent_after: float | None = None
    version: int = PROTOCOL_VERSION
    progress: _Progress | None = None
    points: tuple[_Point, ...] = ()
    device: _Device | None = None
    checkpoint: Any = None
    job: Any = None
    ending: Any = None
    stack: Any = None
    acks: Any = None

    @property
    def usual(self) -> bool:
        """Whether it holds only what nearly every report does."""
        seldom = self.checkpoint is self.job is self.ending is self.stack is self.acks is None
        return seldom and self.version == PROTOCOL_VERSION


class _Body(msgspec.Struct, rename="camel"):
    headway: _Run
    trainer_status: _Status | None = None


_decode_usual: Final = msgspec.json.Decoder(_Body).decode
_new: Final[Callable[[type[Column], tuple[Any, ...]], Column]] = cast("Any", tuple.__new__)
"""Three times as fast as a named tuple's own constructor."""


def read_report(content: bytes) -> Report:
    """The report in the body of a request.

    Raises:
        InvalidError: it is not strict JSON (says where), or a field is missing or has the wrong type (names it).
    """
    try:
        if b"\\u0000" not in content and (body := _decode_usual(content)).headway.usual:
            status = None if body.trainer_status is None else _trainer_status(body.trainer_status)
            return Report(status=status, headway=_run_report(body.headway))
    except (ValueError, KeyError, RecursionError):
        pass  # find out exactly what is wrong below
    return decode_report(decode_json(content))


def _trainer_status(status: _Status) -> TrainerStatus:
    updated = status.last_updated_time
    if updated is not None and not kubeflow.is_time(updated):
        raise ValueError("a time that the careful reader drops, with a word")
    return TrainerStatus(
        progress_percentage=status.progress_percentage,
        estimated_remaining_seconds=status.estimated_remaining_seconds,
        metrics={metric.name: metric.value for metric in status.metrics or ()},
        last_updated_time=updated,
    )


def _points(points: tuple[_Point, ...]) -> Points:
    if not points:
        return NO_POINTS
    steps, times, metrics = zip(*points, strict=True)
    return Points(steps, times, {name: _column(cells, places) for name, cells, places in by_metric(metrics)})


def _column(cells: tuple[_AnyCell, ...], places: tuple[int, ...] | None) -> Column:
    """One metric's cells, which are nearly always all of one kind."""
    columns: Any = cells
    size, kind = len(cells), type(cells[0])
    try:
        if kind is tuple:
            means, counts, squares = zip(*columns, strict=True)
            sum(counts)  # numbers, and not the letters of a word
            return _new(Column, (means, counts, squares, (0,) * size, places))
        if kind is float:
            sum(columns)
            return _new(Column, (columns, (1,) * size, (0.0,) * size, (0,) * size, places))
    except (TypeError, ValueError):
        pass  # of several kinds
    return Column.of(map(_cell, cells), places)


def _cell(cell: _AnyCell) -> tuple[float, int, float, int]:
    if type(cell) is tuple:
        return (*cell, 0)
    return (NON_FINITE[cell], 1, 0.0, 1) if type(cell) is str else (cast("float", cell), 1, 0.0, 0)


def _run_report(run: _Run) -> RunReport:
    at = run.progress or _Progress()
    return RunReport(
        run=run.run,
        seq=run.seq,
        attempt=run.attempt,
        rank=run.rank,
        world_size=run.world_size,
        sent_after=run.sent_after,
        progress=Progress(
            step=at.step,
            total_steps=at.total_steps,
            epoch=at.epoch,
            total_epochs=at.total_epochs,
            unit=at.unit,
            samples=at.samples,
            tokens=at.tokens,
            phase=at.phase,
            last_step_age=at.last_step_age,
            step_seconds=at.step_seconds,
        ),
        points=_points(run.points),
        device=None if run.device is None else _device(run.device),
    )


def _device(device: _Device) -> Device:
    return Device(name=device.name, memory_used=device.memory_used, memory_total=device.memory_total)
