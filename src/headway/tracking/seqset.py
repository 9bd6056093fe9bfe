"""Which sequence numbers of a run have been seen, as a short list of intervals.

Reports come in order nearly always, so that one interval stands for all of them. After many losses only the newest intervals
are kept: a report that is forgotten here and comes once more is folded once more, which changes nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

MOST_SPANS: Final = 64
"""Intervals kept."""


class SeqSet:
    """A set of positive whole numbers that stays small where they are dense."""

    __slots__ = ("spans",)

    def __init__(self, spans: Iterable[Iterable[int]] = ()) -> None:
        self.spans: list[list[int]] = [list(span) for span in spans]
        """``[first, last]``, ascending, never touching each other."""

    def __contains__(self, seq: int) -> bool:
        if not self.spans or seq > self.spans[-1][1]:
            return False
        at = bisect_right(self.spans, seq, key=_first) - 1
        return at >= 0 and seq <= self.spans[at][1]

    def add(self, seq: int) -> bool:
        """Adds a number; False when it was there."""
        spans = self.spans
        if spans and seq == spans[-1][1] + 1:
            spans[-1][1] = seq
            return True
        if seq in self:
            return False
        at = bisect_right(spans, seq, key=_first)
        spans.insert(at, [seq, seq])
        if at + 1 < len(spans) and spans[at + 1][0] == seq + 1:
            spans[at][1] = spans.pop(at + 1)[1]
        if at > 0 and spans[at - 1][1] == seq - 1:
            spans[at - 1][1] = spans.pop(at)[1]
        if len(spans) > MOST_SPANS:
            del spans[0]
        return True


def _first(span: list[int]) -> int:
    return span[0]
