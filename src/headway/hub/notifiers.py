"""Who is told when a condition begins or is withdrawn. Notifiers (mail, chat, paging) put themselves here."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headway.protocol.events import ConditionEvent, EventKind, event_of
from headway.protocol.verdict import Condition, ConditionType
from headway.tracking.progress import overall
from headway.tracking.state import outcome
from headway.tracking.tracked import TrackedJob

logger = logging.getLogger(__name__)

Listener = Callable[[ConditionEvent], None]
"""Called on the server's loop: it hands the event on, and does not wait."""


class Notifiers:
    """All listeners. One event for each onset, and one for each recovery; the end of a job is no recovery."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def add(self, listener: Listener) -> Callable[[], None]:
        """Tells ``listener`` from now on; returns what ends it."""
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def tell(
        self,
        job: TrackedJob,
        before: tuple[Condition, ...],
        at: float,
    ) -> None:
        """Tells what differs between a job's conditions ``before`` a look at it and now."""
        key, after = job.key, job.conditions
        if not self._listeners or before is after:
            return
        ended = outcome(job, overall(job)).state.ended
        stood, stand = _standing(before), _standing(after)
        events = [event_of(EventKind.ONSET, key, one, at) for name, one in stand.items() if name not in stood]
        if not ended:
            last = {_name(one): one for one in after}
            events += [
                event_of(EventKind.RECOVERY, key, last.get(name, one), at)
                for name, one in stood.items()
                if name not in stand
            ]
        for event in events:
            for listener in list(self._listeners):
                try:
                    listener(event)
                except Exception:
                    logger.exception("a notifier failed on %s of %s", event.condition.type, key)


def _name(condition: Condition) -> tuple[ConditionType, str | None, float]:
    return condition.type, condition.metric, condition.since


def _standing(conditions: tuple[Condition, ...]) -> dict[tuple[ConditionType, str | None, float], Condition]:
    return {_name(one): one for one in conditions if one.until is None}
