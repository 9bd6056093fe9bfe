"""What the reporter has to say to people, through the ``headway`` logger: little, and never twice the same."""

from __future__ import annotations

import logging
import time
from collections import deque

_PER_MINUTE = 2
_MOST_ONCE = 500

log = logging.getLogger("headway")


class Notices:
    """Warns at most twice a minute; what is above that goes to the debug level. Used by one thread at a time."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_PER_MINUTE)
        self._said: set[str] = set()

    def warn(self, text: str) -> None:
        """Says it now, if there is room in this minute."""
        now = time.monotonic()
        if len(self._recent) == _PER_MINUTE and now - self._recent[0] < 60.0:
            log.debug("%s", text)
            return
        self._recent.append(now)
        log.warning("%s", text)

    def once(self, key: str, text: str) -> None:
        """Says it the first time that this key comes, however much was said in this minute."""
        if key not in self._said and len(self._said) < _MOST_ONCE:
            self._said.add(key)
            log.warning("%s", text)
