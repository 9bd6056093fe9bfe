"""Looks at the clock again and again: long work in short slices, so that reports are answered meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SLICE: Final = 0.004
"""Seconds that work goes on at a time …"""
_REST: Final = 0.012
"""… and stands back: a quarter of the loop's time at most."""


async def in_slices(steps: Iterator[None]) -> None:
    """Takes the steps of some work, standing back again and again."""
    begun = time.monotonic()
    for _ in steps:
        if time.monotonic() - begun > _SLICE:
            await asyncio.sleep(_REST)
            begun = time.monotonic()


def paced(items: Iterable[T]) -> Iterator[T]:
    """Goes through items in a thread of their own, resting as long as it works, so that the event loop gets its turn."""
    begun = time.monotonic()
    for item in items:
        yield item
        if time.monotonic() - begun > _SLICE:
            time.sleep(_SLICE)
            begun = time.monotonic()


class Pulse:
    """Makes a tick every ``interval`` seconds; ``ticking`` does its work in steps."""

    def __init__(self, ticking: Callable[[], Iterator[None]], interval: float) -> None:
        self._ticking = ticking
        self._interval = interval

    async def beat(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await in_slices(self._ticking())
            except Exception:  # the clock must go on for all other jobs
                logger.exception("looking at the clock failed")
