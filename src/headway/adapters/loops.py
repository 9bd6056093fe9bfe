"""In how many loops a line of a script runs: what a progress bar says of the whole depends on it.

A bar over the batches of one epoch looks like a bar over all of them; the loop around it tells them apart. It is found in the
source of the functions that were running when the bar was made. Where a source is not to be had, nothing is known.
"""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from types import FrameType
from typing import Final

_MOST: Final = 100
_COMPREHENSIONS: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})

Place = tuple[str, int, str]
"""File, line, function."""


def places(skipping: tuple[str, ...]) -> tuple[Place, ...]:
    """Where the calling thread is now, from the inside out up to its script, but for what lies in some folders."""
    frame: FrameType | None = sys._getframe(1)
    found: list[Place] = []
    while frame is not None and len(found) < _MOST:
        code = frame.f_code
        if not code.co_filename.startswith(skipping):
            found.append((code.co_filename, frame.f_lineno, code.co_name))
            if code.co_name == "<module>" or code.co_name.startswith("<cell line"):
                break  # what is further out has started the script
        frame = frame.f_back
    return tuple(found)


def depth(where: tuple[Place, ...]) -> int | None:
    """Loops around a place; None where that cannot be known."""
    loops = 0
    for file, line, function in where:
        if function in _COMPREHENSIONS:
            loops += 1
            continue
        bodies = _bodies(file)
        if bodies is None:
            return None
        loops += sum(first <= line <= last for first, last in bodies)
    return loops


@lru_cache(maxsize=64)
def _bodies(file: str) -> tuple[tuple[int, int], ...] | None:
    """First and last lines of the bodies of all loops in a file."""
    lines = linecache.getlines(file)
    if not lines:
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(
        (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
    )
