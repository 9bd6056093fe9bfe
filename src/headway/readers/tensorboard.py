"""TensorBoard event files: TFRecord frames around protocol buffers, read here without TensorFlow.

A frame is a length (8 bytes, little-endian), a checksum of it (4), the data, and a checksum of that (4). The data is an
``Event`` {1: wall_time (double), 2: step (varint), 5: Summary {1: Value {1: tag, 2: simple_value (float), 8: tensor}}}.
Checksums are not compared. A file that is still being written ends in a torn frame, which is left out.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.errors import InvalidError
from headway.readers.log import Log, Reading, to_points

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_SCALARS: Final = {5: ("<f", 4), 6: ("<d", 8)}
"""Fields of a tensor that hold floats and doubles."""
_TYPES: Final = {1: ("<f", 4), 2: ("<d", 8), 3: ("<i", 4), 9: ("<q", 8), 19: ("<e", 2)}
"""Format and size of a tensor's element by its type number."""

_MANY: Final = 20
"""So many points within a second were written by a converter, not by a training run."""

_Field = tuple[int, int, int | bytes]


class _TornError(Exception):
    """The data ends within a frame or a field."""


def read_events(path: Path) -> Log:
    """Read one event file, or all event files of a folder, as one run.

    Raises:
        InvalidError: there is none, it is no event file, or it holds no scalars.
    """
    files = sorted(path.glob("*tfevents*")) if path.is_dir() else [path]
    if not files:
        raise InvalidError(f"{path} holds no TensorBoard event file (events.out.tfevents.…)")
    warnings: list[str] = []
    scalars: list[tuple[float, int, str, float]] = []
    for file in files:
        scalars.extend(_scalars(file, warnings))
    points = tuple(to_points(_readings(scalars)))
    if len(points) >= _MANY and points[-1].t - points[0].t < 1:
        points = tuple(point._replace(t=math.nan) for point in points)
        warnings.append("its times are those of a conversion, and were left out")
    if not points:
        raise InvalidError(f"{path} holds no scalars")
    return Log(path=path, format="tensorboard", points=points, warnings=tuple(warnings))


def _readings(scalars: list[tuple[float, int, str, float]]) -> Iterator[Reading]:
    """Scalars in the order of their steps; one whose own tag went back to an earlier step begins anew, as after a resume."""
    last: dict[str, int] = {}
    stretch: list[tuple[float, int, str, float]] = []
    for scalar in scalars:
        _, step, tag, _ = scalar
        if step < last.get(tag, step):
            yield from _in_order(stretch)
            stretch, last = [], {}
        last[tag] = step
        stretch.append(scalar)
    yield from _in_order(stretch)


def _in_order(stretch: list[tuple[float, int, str, float]]) -> Iterator[Reading]:
    for time, step, tag, value in sorted(stretch, key=lambda scalar: scalar[1]):
        yield Reading(step, time, {tag: value})


def _scalars(path: Path, warnings: list[str]) -> Iterator[tuple[float, int, str, float]]:
    data = path.read_bytes()
    at = number = 0
    while at < len(data):
        number += 1
        end = at + 12 + int.from_bytes(data[at : at + 8], "little")
        if number == 1 and (len(data) < 16 or b"brain.Event" not in data[at + 12 : min(end, at + 64)]):
            raise InvalidError(f"{path} is not a TensorBoard event file: its first record names no event version")
        if end + 4 > len(data):
            warnings.append(f"record {number} (byte {at:,} of {path.name}) is cut off and was left out")
            return
        try:
            yield from _event(data[at + 12 : end])
        except (_TornError, UnicodeDecodeError, struct.error) as error:
            raise InvalidError(f"{path}, record {number} (byte {at:,}) cannot be understood: {error}") from error
        at = end + 4


def _event(data: bytes) -> Iterator[tuple[float, int, str, float]]:
    time, step = 0.0, 0
    summaries: list[bytes] = []
    for field, kind, value in _fields(data):
        if field == 1 and kind == _FIXED64 and isinstance(value, bytes):
            (time,) = struct.unpack("<d", value)
        elif field == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >> 63 else value
        elif field == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for field, _, value in _fields(summary):
            if field == 1 and isinstance(value, bytes):
                tag, number = _value(value)
                if number is not None:
                    yield time, step, tag, number


def _value(data: bytes) -> tuple[str, float | None]:
    tag, number = "", None
    for field, kind, value in _fields(data):
        if not isinstance(value, bytes):
            continue
        if field == 1:
            tag = value.decode()
        elif field == 2 and kind == _FIXED32:
            (number,) = struct.unpack("<f", value)
        elif field == 8:
            number = _tensor(value)
    return tag, number


def _tensor(data: bytes) -> float | None:
    """The number of a tensor that holds exactly one."""
    type_number = 1
    content = b""
    for field, kind, value in _fields(data):
        if field == 1 and isinstance(value, int):
            type_number = value
        elif field == 4 and isinstance(value, bytes):
            content = value
        elif field in _SCALARS and isinstance(value, bytes):
            form, size = _SCALARS[field]
            if len(value) == size:
                return float(struct.unpack(form, value)[0])
        elif field in (7, 10) and kind == _VARINT and isinstance(value, int):
            return float(value - (1 << 64) if value >> 63 else value)
    form, size = _TYPES.get(type_number, ("", -1))
    return float(struct.unpack(form, content)[0]) if len(content) == size else None


def _fields(data: bytes) -> Iterator[_Field]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, kind, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise _TornError(f"wire type {kind}")
        if at + size > len(data):
            raise _TornError("a field is longer than its record")
        yield key >> 3, kind, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _TornError("a number does not end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
