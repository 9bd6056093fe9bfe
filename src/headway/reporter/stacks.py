"""Where a thread stands, for a report that says "no step for a long time"."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Final

_MOST_FRAMES: Final = 40
_MOST_CHARACTERS: Final = 6000


def stack_of(thread: int | None) -> str | None:
    """The stack of a thread, innermost frame last; None if it is gone."""
    frame = sys._current_frames().get(thread or -1)
    if frame is None:
        return None
    text = "".join(traceback.format_stack(frame, limit=_MOST_FRAMES))
    return text[-_MOST_CHARACTERS:]


def place_of(thread: int | None) -> str:
    """The innermost of a thread's functions that is Python's, with its file and line."""
    frame = sys._current_frames().get(thread or -1)
    if frame is None:
        return "nothing any more"
    return f"{frame.f_code.co_name} ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})"
