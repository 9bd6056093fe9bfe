"""One job as the server remembers it: what its runners and processes said, and what was asked of it.

State, progress and all else that is shown are read from here by :mod:`headway.tracking.state`,
:mod:`headway.tracking.progress` and :mod:`headway.tracking.view`; nothing derived is kept, so that what is shown does not depend
on the order in which things were heard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headway.protocol.action import ActionKind, ActionOutcome, ActionRequest
from headway.protocol.job import JobKey, Platform, Spec
from headway.protocol.message import Message
from headway.protocol.verdict import Condition, Verdict
from headway.tracking.attempts import AttemptState, in_order
from headway.tracking.conditions.judge import Judge

STOCK_RUN: Final = "stock"
"""Run id of clients that send none."""


@dataclass(slots=True)
class ActionState:
    """Something that was asked of one attempt, and who has heard it."""

    id: str
    kind: ActionKind
    attempt: str
    asked_at: float
    request: ActionRequest
    saved_at: float | None = None
    """When the run said that it has saved."""
    heard_at: float | None = None
    """When the run said that it knows that it is to end."""
    runners_heard: dict[str, float] = field(default_factory=dict)
    """When each runner said that it has begun to carry it out."""
    outcomes: dict[str, ActionOutcome] = field(default_factory=dict)
    """What each runner says came of it."""

    @property
    def ends(self) -> bool:
        """Whether an ending of its attempt is one on request."""
        asked = self.kind in (ActionKind.STOP, ActionKind.PAUSE)
        return asked and (self.heard_at is not None or bool(self.runners_heard))


@dataclass(slots=True)
class TrackedJob:
    """Everything that is remembered of one job."""

    key: JobKey
    uid: str
    created_at: float
    updated_at: float
    platform: Platform = Platform.LOCAL
    spec: Spec = field(default_factory=Spec)
    tags: tuple[str, ...] = ()
    log: str | None = None
    host: str | None = None
    attempts: dict[str, AttemptState] = field(default_factory=dict)
    ordered: list[AttemptState] = field(default_factory=list)
    """The attempts in order; the last is the current one."""
    actions: list[ActionState] = field(default_factory=list)
    conditions: tuple[Condition, ...] = ()
    course: tuple[Verdict, Message] | None = None
    """How the run goes where no condition stands, as insight saw it last."""
    judge: Judge | None = None
    """What learns the pace and the course of the current attempt; None until it is needed."""
    head_fragment: bytes | None = None
    """The part of the stored document that rarely changes."""
    conditions_fragment: tuple[tuple[Condition, ...], bytes] | None = None
    """The conditions that were encoded last, and their part of the stored document."""

    @property
    def current(self) -> AttemptState | None:
        """The newest attempt."""
        return self.ordered[-1] if self.ordered else None

    def attempt(self, identity: str, at: float) -> tuple[AttemptState, bool]:
        """The attempt of that id, made if it is not there; and whether it is new."""
        attempt = self.attempts.get(identity)
        if attempt is None:
            attempt = self.attempts[identity] = AttemptState(identity, at)
            self.ordered = in_order(self.attempts.values())
            return attempt, True
        if at < attempt.known_at and not attempt.registered:
            attempt.known_at = at
            attempt.changed()
            self.ordered = in_order(self.attempts.values())
        return attempt, False
