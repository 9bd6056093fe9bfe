"""Which numbers of a growing sequence have been seen, in as little space as they leave gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Intervals:
    """A set of whole numbers, kept as closed intervals: one pair for a sequence without gaps, however long."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, pairs: Iterable[Iterable[int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in pairs:
            self._firsts.append(first)
            self._lasts.append(last)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def add(self, number: int) -> None:
        """Adds a number; one that is there already changes nothing."""
        place = bisect_right(self._firsts, number)
        if place and number <= self._lasts[place - 1]:
            return
        joins_left = place > 0 and self._lasts[place - 1] == number - 1
        joins_right = place < len(self._firsts) and self._firsts[place] == number + 1
        if joins_left and joins_right:
            self._lasts[place - 1] = self._lasts.pop(place)
            del self._firsts[place]
        elif joins_left:
            self._lasts[place - 1] = number
        elif joins_right:
            self._firsts[place] = number
        else:
            self._firsts.insert(place, number)
            self._lasts.insert(place, number)

    def pairs(self) -> list[tuple[int, int]]:
        """The intervals, ascending, each as (first, last)."""
        return list(zip(self._firsts, self._lasts, strict=True))
