"""A clock that stands until it is moved."""

from __future__ import annotations


class FakeClock:
    """Unix seconds that only :meth:`advance` moves; fits wherever a :data:`headway.hub.clock.Clock` is wanted."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Unix seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        if seconds < 0:
            raise ValueError("a clock that never goes back cannot be set back")
        self.now += seconds
