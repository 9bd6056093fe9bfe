"""What the runner says on standard error: one line each, never in the way of the command's own output."""

from __future__ import annotations

import sys
import threading
import time
from typing import Final

_REPEAT_SECONDS: Final = 60.0


class Notices:
    """Says a thing once a minute at most, and nothing at all once standard error is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}

    def say(self, text: str, *, kind: str | None = None) -> None:
        """One line; notices of the same ``kind`` (the text itself by default) are said once a minute at most."""
        now = time.monotonic()
        with self._lock:
            if now - self._said.get(kind or text, -_REPEAT_SECONDS) < _REPEAT_SECONDS:
                return
            self._said[kind or text] = now
        try:
            sys.stderr.write(f"headway: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            return  # nobody listens any more
