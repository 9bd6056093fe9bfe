"""How a history of any length is thinned: the tiers kept, and the reduction to what was asked for.

A tier is a whole series at one resolution: tier 0 as it came, tier 1 with one point for eight of tier 0, and so on. All are
pure functions of columns, shared by every backend.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from operator import mul, truediv
from typing import Any, Final

from headway.protocol.history import Series
from headway.store.columns import Columns

FANOUT: Final = 8
"""Points of one tier behind one point of the next."""


def width(tier: int) -> int:
    """Raw points behind one point of a tier: 1, 8, 64, 512 and so on."""
    return int(FANOUT**tier)


def summarise(columns: Columns, start: int = 0) -> Columns:
    """One point for each full group of :data:`FANOUT` points from ``start`` on; a rest is left for the next time."""
    stop = len(columns) - (len(columns) - start) % FANOUT
    if start < stop and not any(columns.bads[start:stop]):
        result = _summarise_good(columns, slice(start, stop))
        if result is not None:
            return result
    result = Columns()
    for first in range(start, stop, FANOUT):
        result.append_merged(columns, first, first + FANOUT)
    return result


def _summarise_good(columns: Columns, span: slice) -> Columns | None:
    """The same of groups whose samples are all finite, column by column; None where a sum is too large for a double."""
    means, counts = columns.means[span], columns.counts[span]
    totals = [*map(sum, _groups(array("d", map(mul, means, counts))))]
    if not isfinite(sum(totals)):
        return None
    samples = array("q", map(sum, _groups(counts)))
    lows, highs = array("d", map(min, _groups(columns.lows[span]))), array("d", map(max, _groups(columns.highs[span])))
    within_bounds = map(min, map(max, map(truediv, totals, samples), lows), highs)
    last = slice(FANOUT - 1, None, FANOUT)
    return Columns(
        columns.steps[span][last],
        columns.times[span][last],
        array("d", within_bounds),
        lows,
        highs,
        samples,
        array("q", bytes(8 * len(samples))),
    )


def _groups(values: array[Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*[iter(values)] * FANOUT, strict=True)


Piece = tuple[Columns, int]
"""A stretch of a series, and how many raw points stand behind each of its points."""


def assemble(metric: str, attempt: str, pieces: Iterable[Piece], limit: int) -> Series | None:
    """A series of at most ``limit`` points from stretches of any tiers; None if they hold nothing.

    Points are sorted by (step, time). Where there are too many, neighbours are merged, so that the minimum, the maximum, and
    the number of bad samples of each stretch are kept.
    """
    pieces = [piece for piece in pieces if len(piece[0])]
    if not pieces:
        return None
    columns, weights = Columns(), list[int]()
    for piece, weight in pieces:
        columns.extend(piece)
        weights.extend([weight] * len(piece))
    if not _is_sorted(columns):
        order = sorted(range(len(columns)), key=lambda i: (columns.steps[i], columns.times[i]))
        columns, weights = columns.take(order), [weights[i] for i in order]
    tier = max(weights)
    if len(columns) > limit:
        tier = max(tier, -(-sum(weights) // max(1, limit)))
        columns = _regroup(columns, weights, tier)
    return Series(metric=metric, attempt=attempt, tier=tier, points=columns.points())


def within(columns: Columns, first_step: int | None, last_step: int | None) -> Columns:
    """The points whose step lies between the two, both included; None is no bound."""
    if first_step is None and last_step is None:
        return columns
    low = -(2**63) if first_step is None else first_step
    high = 2**63 if last_step is None else last_step
    inside = [i for i, step in enumerate(columns.steps) if low <= step <= high]
    return columns if len(inside) == len(columns) else columns.take(inside)


def _is_sorted(columns: Columns) -> bool:
    places = list(zip(columns.steps, columns.times, strict=True))
    return all(map(_not_after, places, places[1:]))


def _not_after(one: tuple[int, int], next_one: tuple[int, int]) -> bool:
    return one <= next_one


def _regroup(columns: Columns, weights: Sequence[int], wide: int) -> Columns:
    """Merges neighbours until each point, the last one excepted, stands for at least ``wide`` raw ones."""
    result = Columns()
    first = gathered = 0
    for position, weight in enumerate(weights, 1):
        gathered += weight
        if gathered >= wide:
            result.append_merged(columns, first, position)
            first, gathered = position, 0
    if first < len(weights):
        result.append_merged(columns, first, len(weights))
    return result
