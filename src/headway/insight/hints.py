"""Likely causes that cost nothing to name: they follow from figures at hand."""

from __future__ import annotations

import math
from typing import Final

_VOCABULARIES: Final = (28_996, 30_522, 32_000, 32_128, 50_257, 50_265, 50_304, 128_256, 151_936, 250_002, 256_000)
"""Sizes of common vocabularies: BERT cased and uncased, Llama 1 and 2, T5, GPT-2 and its padded form, RoBERTa, Llama 3,
Qwen 2, XLM-R, Gemma."""
_CLASSES: Final = (*range(2, 21), 100, 1000)
_TOLERANCE: Final = 0.002


def uniform_guess(level: float) -> str | None:
    """Says so when a cross-entropy stands at the logarithm of a number of classes: the model guesses uniformly."""
    for classes in (*_CLASSES, *_VOCABULARIES):
        expected = math.log(classes)
        if abs(level - expected) <= _TOLERANCE * expected:
            what = f"the vocabulary of {classes:,}" if classes in _VOCABULARIES else f"{classes} classes"
            return f"{level:.4f} is ln {classes:,}: the model guesses uniformly over {what}"
    return None
