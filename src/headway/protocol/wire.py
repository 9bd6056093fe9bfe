"""Reports and answers as JSON values: the two messages of the status endpoint. Written by hand, for this is the hot path.

``{"trainerStatus": {…}, "headway": {…}}`` both ways; either part may be missing. See :mod:`headway.protocol.report` for the
meaning of the fields and docs/reference/wire.md for the whole protocol.
"""

from __future__ import annotations

import math
import types
from typing import Any, Final

from headway.errors import InvalidError
from headway.protocol import kubeflow
from headway.protocol.codec import (
    LARGEST_WHOLE,
    NON_FINITE,
    decode,
    decode_integer,
    decode_number,
    describe,
    encode,
    encode_number,
)
from headway.protocol.directive import Answer, Directive
from headway.protocol.limits import PROTOCOL_VERSION
from headway.protocol.points import Points
from headway.protocol.report import (
    Cell,
    Checkpoint,
    Device,
    Ending,
    Phase,
    Point,
    Progress,
    Report,
    RunInfo,
    RunReport,
    TrainerStatus,
    Unit,
)

_new: Final[Any] = tuple.__new__  # of a named tuple: three times as fast as its own constructor
_NO_PROGRESS: Final = Progress()
_WHOLE: Final = frozenset((int, types.NoneType))
_REAL: Final = frozenset((int, float, types.NoneType))
_UNITS: Final[dict[str | None, Unit | None]] = {None: None} | {unit.value: unit for unit in Unit}
_PHASES: Final[dict[str | None, Phase | None]] = {None: None} | {phase.value: phase for phase in Phase}


def decode_report(body: object) -> Report:
    """A report from the JSON value of a request.

    What can be mended is, with a warning. A ``headway`` object of an unknown version is ignored, as a stock server would.

    Raises:
        InvalidError: a field is missing or has the wrong type; names it.
    """
    if not isinstance(body, dict):
        raise InvalidError(f"expected an object, got {describe(body)}", field="body")
    status: TrainerStatus | None = None
    warnings: tuple[str, ...] = ()
    if (raw := body.get("trainerStatus")) is not None:
        status, warnings = kubeflow.read_status(raw)
    headway = None
    if (raw := body.get("headway")) is not None:
        if not isinstance(raw, dict):
            raise InvalidError(f"expected an object, got {describe(raw)}", field="headway")
        if raw.get("version", PROTOCOL_VERSION) == PROTOCOL_VERSION:
            headway = _decode_run_report(raw)
        else:
            warnings = (*warnings, f"headway.version {raw['version']!r} is not known here; only trainerStatus was read")
    return Report(status=status, headway=headway, warnings=warnings)


def _decode_run_report(raw: dict[str, Any]) -> RunReport:
    points = raw.get("points")
    if points is None:
        points = []
    elif not isinstance(points, list):
        raise InvalidError(f"expected an array, got {describe(points)}", field="headway.points")
    sent_after = raw.get("sentAfter")
    return RunReport(
        run=_text(raw, "run"),
        seq=_count(raw, "seq", None, 1),
        attempt=_text(raw, "attempt"),
        rank=_count(raw, "rank", 0, 0),
        world_size=_count(raw, "worldSize", 1, 1),
        sent_after=sent_after if type(sent_after) is float else _part(float, raw, "sentAfter"),
        progress=_decode_progress(raw.get("progress")),
        points=Points.of([_decode_point(point, index) for index, point in enumerate(points)]),
        checkpoint=_part(Checkpoint, raw, "checkpoint"),
        device=_part(Device, raw, "device"),
        job=_part(RunInfo, raw, "job"),
        ending=_part(Ending, raw, "ending"),
        stack=_part(str, raw, "stack"),
        acks=tuple(_part(list[str], raw, "acks")) if raw.get("acks") not in (None, []) else (),
    )


def _part(hint: Any, raw: dict[str, Any], name: str) -> Any:
    value = raw.get(name)
    return None if value is None else decode(hint, value, f"headway.{name}")


def _text(raw: dict[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidError(
            f"expected a string that is not empty and holds no NUL, got {describe(value)}", field=f"headway.{name}"
        )
    return value


def _count(raw: dict[str, Any], name: str, default: int | None, least: int) -> int:
    value = raw.get(name, default)
    if type(value) is int and least <= value <= LARGEST_WHOLE:
        return value
    number = decode_integer(value, f"headway.{name}")
    if number < least:
        raise InvalidError(f"expected at least {least}, got {number}", field=f"headway.{name}")
    return number


def _decode_progress(value: Any) -> Progress:
    if value is None:
        return _NO_PROGRESS
    if type(value) is dict:
        get = value.get
        total = get("totalSteps")
        if type(total) in _REAL and total is not None and total > LARGEST_WHOLE:
            total = None  # sys.maxsize and the like mean that there is no end
            value = {**value, "totalSteps": None}
        whole = (get("step"), total, get("samples"), get("tokens"))
        real = (get("epoch"), get("totalEpochs"), get("lastStepAge"), get("stepSeconds"))
        unit, phase = get("unit"), get("phase")
        try:
            if (
                _WHOLE.issuperset(map(type, whole))
                and _REAL.issuperset(map(type, real))
                and max(map(abs, filter(None, whole)), default=0) <= LARGEST_WHOLE
            ):
                epoch, total_epochs, last_step_age, step_seconds = [
                    None if each is None else float(each) for each in real
                ]
                return Progress(
                    step=whole[0],
                    total_steps=whole[1],
                    epoch=epoch,
                    total_epochs=total_epochs,
                    unit=_UNITS[unit],
                    samples=whole[2],
                    tokens=whole[3],
                    phase=_PHASES[phase],
                    last_step_age=last_step_age,
                    step_seconds=step_seconds,
                )
        except (KeyError, TypeError, OverflowError):
            pass  # find out exactly what is wrong below
    return decode(Progress, value, "headway.progress")


def _decode_point(value: Any, index: int) -> Point:
    try:
        step, t, metrics = value
        if (
            type(step) is int
            and (type(t) is float or type(t) is int)
            and type(metrics) is dict
            and -LARGEST_WHOLE <= step <= LARGEST_WHOLE
            and -LARGEST_WHOLE <= t <= LARGEST_WHOLE
        ):
            cells = {}
            for name, cell in metrics.items():
                if "\0" in name:
                    break
                if type(cell) is float:
                    cells[name] = _new(Cell, (cell, 1, 0.0, 0))
                elif type(cell) is list and len(cell) == 3:
                    mean, n, m2 = cell
                    if not (
                        type(mean) is float
                        and type(n) is int
                        and type(m2) is float
                        and 0 < n <= LARGEST_WHOLE
                        and m2 >= 0.0
                    ):
                        break
                    cells[name] = _new(Cell, (mean, n, m2, 0))
                elif type(cell) is int:
                    cells[name] = _new(Cell, (float(cell), 1, 0.0, 0))
                else:
                    cells[name] = _new(Cell, (NON_FINITE[cell], 1, 0.0, 1))
            else:
                point: Point = _new(Point, (step, float(t), cells))
                return point
    except (KeyError, ValueError, TypeError, OverflowError):
        pass  # find out exactly what is wrong below
    return _decode_point_slowly(value, f"headway.points[{index}]")


def _decode_point_slowly(value: Any, path: str) -> Point:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise InvalidError(f"expected [step, t, metrics], got {describe(value)}", field=path)
    step, t, metrics = value
    if not isinstance(metrics, dict):
        raise InvalidError(f"expected an object, got {describe(metrics)}", field=f"{path}[2]")
    cells = {}
    for name, cell in metrics.items():
        where = f"{path}[2].{name}"
        if "\0" in name:
            raise InvalidError(f"a metric's name cannot hold NUL: {name!r}", field=f"{path}[2]")
        if not isinstance(cell, list):
            number = decode_number(cell, where)
            cells[name] = Cell(number, bad=0 if math.isfinite(number) else 1)
            continue
        if len(cell) not in (3, 4):
            raise InvalidError(f"expected [mean, n, m2] or [mean, n, m2, bad], got {len(cell)} values", field=where)
        n = decode_integer(cell[1], f"{where}[1]")
        bad = decode_integer(cell[3], f"{where}[3]") if len(cell) == 4 else 0
        if n < 1 or not 0 <= bad <= n:
            raise InvalidError(f"expected 0 <= bad <= n and n >= 1, got n {n} and bad {bad}", field=where)
        m2 = decode_number(cell[2], f"{where}[2]")
        if m2 < 0:
            raise InvalidError(f"a sum of squares cannot be {m2}", field=f"{where}[2]")
        cells[name] = Cell(decode_number(cell[0], f"{where}[0]"), n, m2, bad)
    seconds = decode_number(t, f"{path}[1]")
    if not abs(seconds) <= LARGEST_WHOLE:
        raise InvalidError(f"a time of {seconds} seconds is none", field=f"{path}[1]")
    return Point(decode_integer(step, f"{path}[0]"), seconds, cells)


def encode_report(report: Report) -> dict[str, Any]:
    """The JSON value of a report."""
    body: dict[str, Any] = {}
    if report.status is not None:
        body["trainerStatus"] = kubeflow.write_status(report.status)
    if (run := report.headway) is not None:
        headway = {"version": run.version, "run": run.run, "attempt": run.attempt, "seq": run.seq}
        headway |= {"rank": run.rank, "worldSize": run.world_size}
        if run.sent_after is not None:
            headway["sentAfter"] = round(run.sent_after, 3)
        headway["progress"] = encode(run.progress)
        if run.points:
            headway["points"] = [encode_point(point) for point in run.points]
        for name in ("checkpoint", "device", "job", "ending", "stack"):
            if (part := getattr(run, name)) is not None:
                headway[name] = encode(part)
        if run.acks:
            headway["acks"] = list(run.acks)
        body["headway"] = headway
    return body


def encode_point(point: Point) -> list[Any]:
    """``[step, t, {metric: cell}]``."""
    return [point.step, round(point.t, 3), {name: encode_cell(cell) for name, cell in point.metrics.items()}]


def encode_cell(cell: Cell) -> Any:
    """A bare number for one sample, ``[mean, n, m2]`` for several, ``[mean, n, m2, bad]`` where some were not finite."""
    mean = encode_number(cell.mean)
    if cell.n == 1:
        return mean
    shape = [mean, cell.n, encode_number(cell.m2)]
    return [*shape, cell.bad] if cell.bad else shape


def encode_answer(answer: Answer) -> dict[str, Any]:
    """The JSON value of an answer."""
    headway: dict[str, Any] = {"version": PROTOCOL_VERSION, "interval": answer.interval}
    if answer.ack is not None:
        headway["ack"] = answer.ack
    if answer.directives:
        headway["directives"] = [encode(directive) for directive in answer.directives]
    if answer.warnings:
        headway["warnings"] = list(answer.warnings)
    if answer.want:
        headway["want"] = list(answer.want)
    if answer.grace is not None:
        headway["grace"] = round(answer.grace, 3)
    status = {} if answer.status is None else kubeflow.write_status(answer.status)
    return {"trainerStatus": status, "headway": headway}


def decode_answer(body: object) -> Answer | None:
    """The ``headway`` part of an answer; None from a stock server.

    Raises:
        InvalidError: the answer is not one.
    """
    if not isinstance(body, dict):
        raise InvalidError(f"expected an object, got {describe(body)}", field="body")
    raw = body.get("headway")
    if not isinstance(raw, dict):
        return None
    return Answer(
        ack=decode(int | None, raw.get("ack"), "headway.ack"),  # type: ignore[arg-type]
        interval=decode_number(raw.get("interval", 5.0), "headway.interval"),
        directives=tuple(decode(list[Directive], raw.get("directives") or [], "headway.directives")),
        warnings=tuple(decode(list[str], raw.get("warnings") or [], "headway.warnings")),
        want=tuple(decode(list[str], raw.get("want") or [], "headway.want")),
        grace=None if raw.get("grace") is None else decode_number(raw["grace"], "headway.grace"),
    )
