"""Real text that every machine has: the sources of Python's standard library."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_CHARACTERS = "\n" + "".join(chr(code) for code in range(32, 127))
_BLOCK = 4096
_EVERY = 10


@dataclass(frozen=True, slots=True)
class Corpus:
    """Text as character ids, cut into a training and a validation part that share no passage."""

    train: NDArray[np.uint8]
    validation: NDArray[np.uint8]
    characters: str = _CHARACTERS


def load(size: int = 1_500_000, folder: Path | None = None) -> Corpus:
    """The first ``size`` characters of the standard library, in the order of file names; every tenth block is validation.

    Raises:
        FileNotFoundError: the folder holds no Python sources (some installations ship none).
    """
    root = folder or Path(sysconfig.get_path("stdlib"))
    pieces: list[str] = []
    length = 0
    for path in sorted(root.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        pieces.append(text)
        length += len(text)
        if length >= size:
            break
    if length < 20 * _BLOCK:
        raise FileNotFoundError(f"{root} holds too little Python source text to train on ({length} characters)")
    codes = np.frombuffer("".join(pieces)[:size].encode("ascii", "ignore"), dtype=np.uint8)
    table: NDArray[np.uint8] = np.full(256, 255, dtype=np.uint8)
    for index, char in enumerate(_CHARACTERS):
        table[ord(char)] = index
    ids = table[codes]
    ids = ids[ids != 255]
    blocks = ids[: len(ids) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    held_out = np.arange(len(blocks)) % _EVERY == _EVERY - 1
    return Corpus(train=blocks[~held_out].ravel(), validation=blocks[held_out].ravel())


def batch(
    ids: NDArray[np.uint8], size: int, context: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random passages of ``context`` characters, shape (size, context), and the character after each, shape (size,)."""
    starts = random.integers(0, len(ids) - context - 1, size=size)
    windows = ids[starts[:, None] + np.arange(context + 1)].astype(np.int64)
    return windows[:, :-1], windows[:, -1]
