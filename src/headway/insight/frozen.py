"""Whether a metric repeats to the last digit: frozen, or merely logged anew with an old value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_IN_A_ROW: Final = 8


@dataclass(slots=True)
class FrozenJudge:
    """Watches one metric. ``standing`` holds the step since which it repeats."""

    standing: float | None = None
    value: float = math.nan
    repeats: int = 0
    """How many times in a row the value was said again."""
    moved: bool = False
    """It has had more than one value."""
    _since: float = math.nan

    def consider(self, step: float, value: float) -> bool:
        """Take in one finite value; returns whether it repeats the one before."""
        if value == self.value:
            self.repeats += 1
            if self.repeats + 1 >= _IN_A_ROW:
                self.standing = self._since
            return True
        self.moved = self.moved or not math.isnan(self.value)
        self.value, self.repeats, self.standing, self._since = value, 0, None, step
        return False
