"""Long work in short slices, so that reports are answered meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final

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
