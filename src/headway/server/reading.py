"""Reads the body of a request; that of a report, the one hot path of the server, in two thirds of the usual time.

What Headway's own reporter sends in nearly every report is read by msgspec against the types below; everything else, and
everything that is wrong, by :mod:`headway.protocol.wire`, which mends, and names what it refuses. The two agree on every body,
which a test holds: the types here only say which bodies need no second look.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from headway.errors import InvalidError
from headway.protocol import codec, kubeflow
from headway.protocol.codec import LARGEST_WHOLE, NON_FINITE
from headway.protocol.limits import PROTOCOL_VERSION
from headway.protocol.report import Cell, Phase, Point, Progress, Report, RunReport, Unit
from headway.protocol.wire import decode_report

_Whole = Annotated[int, msgspec.Meta(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
_NotNegative = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_WHOLE)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_WHOLE)]
_Seconds = Annotated[float, msgspec.Meta(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]


# msgspec makes named tuples by the annotations of their class; those of a subclass are its own to say.
class _Mean(Cell):
    """A cell of several samples, all of them finite."""

    __slots__ = ()
    __annotations__ = {
        "mean": float,
        "n": _Positive,
        "m2": Annotated[float, msgspec.Meta(ge=0)],
        "bad": Annotated[int, msgspec.Meta(ge=0, le=0)],
    }
    _field_defaults = {"bad": 0}  # noqa: RUF012 - what a named tuple calls it


class _Point(Point):
    """A point, whose bare numbers are still to become cells."""

    __slots__ = ()
    __annotations__ = {"step": _Whole, "t": _Seconds, "metrics": dict[str, _Mean | float | str]}


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
    trainer_status: Any = None


_decode: Final = msgspec.json.Decoder().decode
_decode_usual: Final = msgspec.json.Decoder(_Body).decode
_new: Final[Any] = tuple.__new__  # of a named tuple: three times as fast as its own constructor


def read_report(content: bytes) -> Report:
    """The report in the body of a request.

    Raises:
        InvalidError: it is not strict JSON (says where), or a field is missing or has the wrong type (names it).
    """
    try:
        if b"\\u0000" not in content and (body := _decode_usual(content)).headway.usual:
            _make_cells(body.headway.points)
            status, warnings = (None, ()) if body.trainer_status is None else kubeflow.read_status(body.trainer_status)
            return Report(status=status, headway=_run_report(body.headway), warnings=warnings)
    except (ValueError, KeyError, RecursionError):
        pass  # find out exactly what is wrong below
    return decode_report(decode_json(content))


def _make_cells(points: tuple[Point, ...]) -> None:
    for _, _, metrics in points:
        cells: dict[str, Any] = metrics
        for name, cell in cells.items():
            if type(cell) is float:
                cells[name] = _new(Cell, (cell, 1, 0.0, 0))
            elif type(cell) is str:
                cells[name] = _new(Cell, (NON_FINITE[cell], 1, 0.0, 1))


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
        points=run.points,
    )


def decode_json(content: bytes) -> object:
    """The JSON value of a request's body.

    Text that UTF-8 has no bytes for (half of a surrogate pair, as Python's ``json`` writes undecodable file names) is mended.

    Raises:
        InvalidError: it is not strict JSON; says where.
    """
    try:
        return _decode(content)
    except (ValueError, RecursionError):
        value = codec.loads(content)
    try:
        return codec.loads(codec.dumps(value))
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"not valid JSON: {error}", field="body") from None
