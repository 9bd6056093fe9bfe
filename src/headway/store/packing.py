"""Columns as bytes: a report's points in one row, and a chunk of one series.

A block is a header of :data:`_HEAD` and the columns that its flags say are there, each as little-endian 64-bit numbers. Steps
and times are differences, which compress to almost nothing; what can be left out is: lows and highs of raw points, counts that
are all one, bad samples where there are none, and in a row the places that a metric shares with the one before it.
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub
from typing import Any, Final

from headway.protocol.report import Point
from headway.store.columns import Columns, checked

_HEAD: Final = struct.Struct("<IBI")
"""Points, flags, bytes of the name."""

_SAME_PLACES: Final = 1
_MERGED: Final = 2
_COUNTS: Final = 4
_BADS: Final = 8

_COMPRESSION: Final = 1
"""zlib's level: higher ones cost three times the time and save a tenth of the space."""


class DamagedError(ValueError):
    """The bytes are not what :func:`pack_row` or :func:`pack_chunk` wrote."""


def pack_row(points: Sequence[Point]) -> bytes:
    """The points of one report.

    Raises:
        InvalidError: as :func:`~headway.store.columns.checked`.
    """
    steps, times, metrics = checked(points)
    parts: list[bytes] = []
    before: object = ()
    for name, means, counts, bads, places in metrics:
        label, flags, head = name.encode(), 0, len(parts)
        parts += (b"", label)
        if places == before:
            flags |= _SAME_PLACES
        else:
            before = places
            parts += (_differences(_at(steps, places)), _differences(_at(times, places)))
        parts.append(_bytes("d", means))
        if counts is not None:
            flags |= _COUNTS
            parts.append(_bytes("q", counts))
        if bads is not None:
            flags |= _BADS
            parts.append(_bytes("q", bads))
        parts[head] = _HEAD.pack(len(means), flags, len(label))
    return b"".join(parts)


def _at(values: Sequence[int], places: Sequence[int] | None) -> Sequence[int]:
    return values if places is None else [values[place] for place in places]


def unpack_row(data: bytes) -> dict[str, Columns]:
    """What :func:`pack_row` packed; the columns are for reading only.

    Raises:
        DamagedError: it was something else.
    """
    result: dict[str, Columns] = {}
    offset, before = 0, None
    while offset < len(data):
        name, before, offset = _unpack(data, offset, before)
        result[name] = before
    return result


def pack_chunk(columns: Columns) -> bytes:
    """A chunk of one series, compressed."""
    return zlib.compress(_pack(columns), _COMPRESSION)


def unpack_chunk(data: bytes) -> Columns:
    """What :func:`pack_chunk` packed; the columns are for reading only.

    Raises:
        DamagedError: it was something else.
    """
    try:
        block = zlib.decompress(data)
    except zlib.error as error:
        raise DamagedError(str(error)) from error
    return _unpack(block, 0, None)[1]


def _pack(columns: Columns) -> bytes:
    size, flags = len(columns), 0
    body = [_differences(columns.steps), _differences(columns.times), _bytes("d", columns.means)]
    if not columns.is_raw():
        flags |= _MERGED
        body += [_bytes("d", columns.lows), _bytes("d", columns.highs)]
    if columns.counts.count(1) != size:
        flags |= _COUNTS
        body.append(_bytes("q", columns.counts))
    if any(columns.bads):
        flags |= _BADS
        body.append(_bytes("q", columns.bads))
    return b"".join([_HEAD.pack(size, flags, 0), *body])


def _unpack(data: bytes, offset: int, before: Columns | None) -> tuple[str, Columns, int]:
    try:
        size, flags, label = _HEAD.unpack_from(data, offset)
        offset += _HEAD.size + label
        name = data[offset - label : offset].decode()
    except (struct.error, UnicodeDecodeError) as error:
        raise DamagedError(str(error)) from error

    def take(kind: str) -> Any:
        nonlocal offset
        values: array[Any] = array(kind)
        offset += 8 * size
        if offset > len(data):
            raise DamagedError(f"{offset} bytes expected, {len(data)} found")
        values.frombytes(data[offset - 8 * size : offset])
        if sys.byteorder == "big":
            values.byteswap()
        return values

    if flags & _SAME_PLACES:
        if before is None or len(before) != size:
            raise DamagedError("a block refers to places that are not there")
        steps, times = before.steps, before.times
    else:
        steps, times = array("q", accumulate(take("q"))), array("q", accumulate(take("q")))
    means = take("d")
    lows, highs = (take("d"), take("d")) if flags & _MERGED else (means, means)
    counts = take("q") if flags & _COUNTS else array("q", [1]) * size
    bads = take("q") if flags & _BADS else array("q", bytes(8 * size))
    return name, Columns(steps, times, means, lows, highs, counts, bads), offset


def _differences(values: Sequence[int]) -> bytes:
    return _bytes("q", [values[0], *map(sub, values[1:], values)]) if values else b""


def _bytes(kind: str, values: Sequence[float]) -> bytes:
    numbers = array(kind, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
