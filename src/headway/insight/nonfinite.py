"""Whether a loss or evaluation has stopped being a number, also where a logger hides it.

Transformers' logging filter (``logging_nan_inf_filter``) writes 0.0 in the place of a NaN loss; the gradient norm beside it,
or the evaluation, still tells. A loss of exactly 0.0 with finite companions is a small loss, rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_IN_A_ROW: Final = 2
_GRADIENTS_IN_A_ROW: Final = 8
_FINITE_AGAIN: Final = 3


@dataclass(slots=True)
class NonFiniteJudge:
    """Watches one metric. ``standing`` holds the step at which it stopped being finite, and ``word`` how it reads."""

    gradient: bool = False
    """A gradient norm: loss scaling makes a few of them infinite on purpose."""
    standing: float | None = None
    word: str = "NaN"
    hidden: bool = False
    """Read as 0.0, unmasked by a companion that is not finite."""
    isolated: float | None = None
    """Step of the last value that was not finite and stood alone."""
    count: int = 0
    _since: float = math.nan
    _bad: int = 0
    _good: int = 0

    def consider(self, step: float, value: float, *, hidden: bool = False) -> bool:
        """Take in one value; ``hidden``: it stands for one that is not finite. Returns whether it is finite."""
        if math.isfinite(value) and not hidden:
            self._good += 1
            if self._bad and self.standing is None:
                self.isolated = self._since
            self._bad = 0
            if self._good >= _FINITE_AGAIN:
                self.standing = None
            return True
        if not self._bad:
            self._since = step
        self._bad += 1
        self._good = 0
        self.count += 1
        self.hidden = hidden
        self.word = "0.0 in place of NaN" if hidden else _word(value)
        if self.standing is None and self._bad >= (_GRADIENTS_IN_A_ROW if self.gradient else _IN_A_ROW):
            self.standing = self._since
        return False


def _word(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
