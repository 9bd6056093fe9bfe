"""Looks at the clock: what time alone makes of a job (Silent, Lost, Stalled …), and what its newest points say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Final

from headway.hub import judging
from headway.hub.clock import Clock
from headway.hub.entry import Entry
from headway.hub.roster import Roster
from headway.hub.settings import HubSettings
from headway.protocol.verdict import Condition
from headway.tracking.progress import overall
from headway.tracking.state import outcome

logger = logging.getLogger(__name__)

_SLEPT: Final = 5.0
"""A look at the clock that comes this much late means that the server itself was not listening."""


class Ticker:
    """Looks at every job that time can change.

    Args:
        roster: the jobs.
        clock: what time it is.
        settings: how long nothing may be heard, and how often it is looked.
        on_turn: hears of a job for which a look made a difference, with its conditions before, and when it was looked at.
    """

    def __init__(
        self,
        roster: Roster,
        clock: Clock,
        settings: HubSettings,
        on_turn: Callable[[Entry, tuple[Condition, ...], float], None],
    ) -> None:
        self._roster = roster
        self._clock = clock
        self._settings = settings
        self._on_turn = on_turn
        self._listening_since = self._ticked_at = clock()

    def begin(self) -> None:
        """From now on it is listened: silence before is not held against any job."""
        self._listening_since = self._ticked_at = self._clock()

    def tick(self) -> Iterator[None]:
        """One look at all, in as many steps as there are jobs that time can change."""
        now = self._clock()
        if now - self._ticked_at > self._settings.tick + _SLEPT:
            logger.warning(
                "the server did not listen for %.0f s; that is not held against any job", now - self._ticked_at
            )
            self._listening_since = now
        self._ticked_at = now
        for key in list(self._roster.live):
            entry = self._roster.find(key)
            if entry is not None:
                self.look(entry)
                if outcome(entry.job, overall(entry.job)).state.ended and entry.quiet(self._clock()):
                    self._roster.live.discard(key)
                    entry.job.judge = None
                yield

    def look(self, entry: Entry) -> None:
        """Looks at one job."""
        now, before = self._clock(), entry.job.conditions
        if judging.look(entry, now, self._listening_since, self._settings.patience):
            self._on_turn(entry, before, now)
