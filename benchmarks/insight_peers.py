"""Stopping rules in use today, at their defaults, in a few lines each, for `insight.py` to compare with.

Each rule takes one reading of the metric that it monitors and says whether it would stop (or warn, or reduce the learning
rate) now. They are written anew from the documented behaviour: Keras EarlyStopping and ReduceLROnPlateau, Lightning
EarlyStopping, Transformers EarlyStoppingCallback, Ray Tune TrialPlateauStopper, Amazon SageMaker Debugger LossNotDecreasing,
Page's test as River offers it, and LLM Foundry's KillLossSpike.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import mean, pstdev
from typing import Protocol


class Rule(Protocol):
    """A stopping rule."""

    monitors: str
    """``eval``: evaluation loss where there is one, else training loss; ``train``: the other way round."""

    def update(self, value: float) -> bool:
        """Take in one reading; whether the rule fires."""


class Patience:
    """Fires when ``patience`` readings have gone by without a new best, better by more than ``min_delta``."""

    monitors = "eval"

    def __init__(self, patience: int, min_delta: float = 0.0, *, check_finite: bool = False) -> None:
        self.patience, self.min_delta, self.check_finite = patience, min_delta, check_finite
        self.best, self.waited = math.inf, 0

    def update(self, value: float) -> bool:
        if self.check_finite and not math.isfinite(value):
            return True
        if value < self.best - self.min_delta:
            self.best, self.waited = value, 0
            return False
        self.waited += 1
        return self.waited >= max(1, self.patience)


class TrialPlateau:
    """Ray: fires when the standard deviation of the last four results is at most 0.01."""

    monitors = "eval"

    def __init__(self) -> None:
        self.results: deque[float] = deque(maxlen=4)

    def update(self, value: float) -> bool:
        self.results.append(value)
        return len(self.results) == 4 and all(map(math.isfinite, self.results)) and pstdev(self.results) <= 0.01


class LossNotDecreasing:
    """SageMaker: every ten readings, fires unless the loss has fallen by 0.1 % since the last check."""

    monitors = "train"

    def __init__(self) -> None:
        self.last, self.seen = math.nan, 0

    def update(self, value: float) -> bool:
        self.seen += 1
        if self.seen % 10 != 1:
            return False
        before, self.last = self.last, value
        return not math.isnan(before) and before - value < abs(before) * 0.001


class PageHinkley:
    """Page's test for an upward drift of the mean: at least 30 readings, delta 0.005, threshold 50, forgetting 1e-4."""

    monitors = "train"

    def __init__(self) -> None:
        self.count, self.mean, self.sum, self.low = 0, 0.0, 0.0, math.inf

    def update(self, value: float) -> bool:
        if not math.isfinite(value):
            return False
        self.count += 1
        self.mean += (value - self.mean) / self.count
        self.sum = (1 - 1e-4) * self.sum + value - self.mean - 0.005
        self.low = min(self.low, self.sum)
        return self.count >= 30 and self.sum - self.low > 50


class KillLossSpike:
    """LLM Foundry: four readings in a row at twice the running mean of 100, or that mean above 10 on the later half."""

    monitors = "train"

    def __init__(self) -> None:
        self.window: deque[float] = deque(maxlen=100)
        self.outliers = 0

    def update(self, value: float) -> bool:
        if len(self.window) == 100:
            running = mean(self.window)
            self.outliers = self.outliers + 1 if value >= 2 * running else 0
            late = list(self.window)[50:]
            if self.outliers >= 4 or mean(late) > 10:
                return True
        if math.isfinite(value):
            self.window.append(value)
        return False


RULES = {
    "Keras EarlyStopping": lambda: Patience(0),
    "Keras ReduceLROnPlateau": lambda: Patience(10, 1e-4),
    "Lightning EarlyStopping": lambda: Patience(3, check_finite=True),
    "Transformers EarlyStopping": lambda: Patience(1),
    "Ray TrialPlateauStopper": TrialPlateau,
    "SageMaker LossNotDecreasing": LossNotDecreasing,
    "Page-Hinkley": PageHinkley,
    "LLM Foundry KillLossSpike": KillLossSpike,
}
"""A fresh rule by its name."""
