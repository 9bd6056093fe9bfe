"""The server's clock: Unix seconds that never jump."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Unix seconds that never jump and never go back."""


class SteadyClock:
    """The wall clock at the start, and from then on what the monotonic clock adds to it."""

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()

    def __call__(self) -> float:
        """Unix seconds."""
        return self._start + time.monotonic()
