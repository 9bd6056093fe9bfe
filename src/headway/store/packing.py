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
from functools import lru_cache
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
    blocks: list[bytes] = []
    before: object = ()
    for name, means, counts, bads, places in metrics:
        same = places == before
        before = places
        flags = _SAME_PLACES * same | _COUNTS * (counts is not None) | _BADS * (bads is not None)
        where = () if same else (*_differences(_at(steps, places)), *_differences(_at(times, places)))
        label, size = name.encode(), len(means)
        layout = _layout(size, flags, len(label))
        blocks.append(layout.pack(size, flags, len(label), label, *where, *means, *(counts or ()), *(bads or ())))
    return b"".join(blocks)


@lru_cache(1024)
def _layout(size: int, flags: int, label: int) -> struct.Struct:
    """How a block of a row is laid out, which is the same for nearly all of a job's reports."""
    whole = (bool(flags & _COUNTS) + bool(flags & _BADS)) * size
    return struct.Struct(f"{_HEAD.format}{label}s{0 if flags & _SAME_PLACES else 2 * size}q{size}d{whole}q")


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
    steps, times = array("q", _differences(columns.steps)), array("q", _differences(columns.times))
    body: list[array[Any]] = [steps, times, columns.means]
    if not columns.is_raw():
        flags |= _MERGED
        body += [columns.lows, columns.highs]
    if columns.counts.count(1) != size:
        flags |= _COUNTS
        body.append(columns.counts)
    if any(columns.bads):
        flags |= _BADS
        body.append(columns.bads)
    return b"".join([_HEAD.pack(size, flags, 0), *map(_to_bytes, body)])


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


def _differences(values: Sequence[int]) -> list[int]:
    return [values[0], *map(sub, values[1:], values)] if values else []


def _to_bytes(values: array[Any]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()
