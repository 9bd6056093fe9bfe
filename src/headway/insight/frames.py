"""Where a stack stands, in a line: the innermost frame of the user's own code, and what it has called.

Reads both forms that a stack comes in: ``traceback``'s (innermost frame last) and ``faulthandler``'s (innermost first, one
section a thread, the main thread last).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FRAME: Final = re.compile(
    r'^\s*File "(?P<file>[^"\n]*)", line (?P<line>\d+|\?+)(?:,)? in (?P<function>[^\n]*)$', re.MULTILINE
)
_SECTION: Final = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)
_FOLDERS: Final = re.compile(r".*[\\/](?:site-packages|dist-packages|lib(?:64)?[\\/]python\d[\d.]*)[\\/]")
_FOREIGN: Final = re.compile(
    r"[\\/](?:site-packages|dist-packages)[\\/]|[\\/]lib(?:64)?[\\/]python\d[\d.]*[\\/]|^<frozen"
    r"|[\\/]headway[\\/](?:adapters|reporter|runner)[\\/]"
)
"""Installed packages, the standard library, the interpreter's own frames, and Headway's."""


class Frame(NamedTuple):
    """One frame of a stack."""

    file: str
    line: str
    function: str

    @property
    def place(self) -> str:
        """``train.py:88 in train_step``; of a file in a package, with the package's folders."""
        file = _FOLDERS.sub("", self.file)
        if file == self.file:
            file = re.split(r"[\\/]", file)[-1]
        return f"{file}:{self.line} in {self.function}"


def frames(stack: str) -> list[Frame]:
    """The frames of the main thread, innermost last."""
    sections = list(_SECTION.finditer(stack))
    if sections:
        stack = stack[sections[-1].start() :]
    found = [Frame(one["file"], one["line"], one["function"].strip()) for one in _FRAME.finditer(stack)]
    return found[::-1] if sections else found


def main_thread(stack: str) -> list[str]:
    """The lines of the main thread's stack, innermost last: those of its source as well, where they are known."""
    sections = list(_SECTION.finditer(stack))
    if not sections:
        return stack.rstrip().splitlines()
    return stack[sections[-1].start() :].rstrip().splitlines()[:0:-1]


def standing_at(stack: str) -> Frame | None:
    """The innermost frame of the user's own code; of any code, where there is none of his."""
    found = frames(stack)
    own = [frame for frame in found if not _FOREIGN.search(frame.file)]
    return own[-1] if own else found[-1] if found else None


def where(stack: str) -> str | None:
    """``train.py:88 in train_step, inside torch/distributed/distributed_c10d.py:2501 in all_reduce``; None: it cannot be told."""
    found = frames(stack)
    frame = standing_at(stack)
    if frame is None:
        return None
    inside = "" if found[-1] == frame else f", inside {found[-1].place}"
    return frame.place + inside
