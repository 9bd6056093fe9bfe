"""Likely causes that cost nothing to name: they follow from figures at hand."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from headway.insight import wording
from headway.insight.axis import Axis
from headway.insight.findings import Evidence
from headway.insight.order import median
from headway.insight.series import MetricSeries

_VOCABULARIES: Final = (28_996, 30_522, 32_000, 32_128, 50_257, 50_265, 50_304, 128_256, 151_936, 250_002, 256_000)
"""Sizes of common vocabularies: BERT cased and uncased, Llama 1 and 2, T5, GPT-2 and its padded form, RoBERTa, Llama 3,
Qwen 2, XLM-R, Gemma."""
_CLASSES: Final = (*range(2, 21), 100, 1000)
_TOLERANCE: Final = 0.002
_BEFORE: Final = 5
_DEVIATIONS: Final = 6.0
_ENOUGH: Final = 20


class Hint(NamedTuple):
    """A likely cause: in words, and the figures in them by name."""

    text: str
    figures: Evidence


def uniform_guess(level: float) -> Hint | None:
    """Says so when a loss stands at the logarithm of a number of classes, as the cross-entropy of a uniform guess does."""
    for classes in (*_CLASSES, *_VOCABULARIES):
        expected = math.log(classes)
        if abs(level - expected) <= _TOLERANCE * expected:
            what = f"the vocabulary of {classes:,}" if classes in _VOCABULARIES else f"{classes} classes"
            text = f"{level:.4f} is close to ln {classes:,}, the loss of a uniform guess over {what}"
            return Hint(text, {"uniformLevel": level, "uniformClasses": classes})
    return None


def gradient_jump(gradients: MetricSeries, since: float) -> Hint | None:
    """Says so when the gradient norm left its usual range just before ``since``."""
    pairs = zip(gradients.history.recent_steps(96), gradients.history.recent(96), strict=True)
    before = [value for step, value in pairs if step <= since]
    usual, last = before[:-_BEFORE], before[-_BEFORE:]
    if len(usual) < _ENOUGH:
        return None
    centre = median(usual)
    spread = 1.4826 * median([abs(value - centre) for value in usual])
    if max(last) <= centre + _DEVIATIONS * spread:
        return None
    return Hint(
        f"{gradients.name} rose to {wording.number(max(last))} just before (usually {wording.number(centre)})",
        {"gradientMetric": gradients.name, "gradientBefore": max(last), "gradientUsual": centre},
    )


def rate_at_peak(axis: Axis) -> Hint | None:
    """Says so when the learning rate stands at its highest."""
    if axis.rate is None or axis.peak <= 0 or axis.rate < 0.99 * axis.peak:
        return None
    return Hint(f"the learning rate is at its peak ({axis.rate:g})", {"learningRateAtPeak": axis.rate})
