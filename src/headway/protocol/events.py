"""What is told of a condition, once when it begins and once when it is withdrawn: to notifiers, and to a user's own command."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.protocol.job import JobKey
from headway.protocol.verdict import Condition


class EventKind(StrEnum):
    """What became of a condition."""

    ONSET = "onset"
    RECOVERY = "recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobName:
    """Which job."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionEvent:
    """A condition has begun, or no longer stands."""

    kind: EventKind
    job: JobName
    condition: Condition
    at: float
    """When it was seen, as Unix seconds; ``condition.since`` says when it set in."""


def event_of(kind: EventKind, job: JobKey, condition: Condition, at: float) -> ConditionEvent:
    """The event of a job's condition."""
    return ConditionEvent(kind=kind, job=JobName(namespace=job.namespace, name=job.name), condition=condition, at=at)
