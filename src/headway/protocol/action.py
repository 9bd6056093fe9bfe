"""What is asked of a job, and what came of it: the records that a job keeps of every checkpoint, pause, resume and stop.

::

    asked ──► run: directive, until it acknowledges    ──► carried out by the run itself
          └─► runner: command; acts after the deadline ──► carried out by the platform, or refused
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headway.protocol.message import Message

SAVE_SUFFIX: Final = "-save"
"""Ends the id of the directive that asks a run to save; the one that asks it to end has the id of the action."""

END_SECONDS: Final = 10.0
"""Of its notice, what a run that was asked to save keeps for ending by itself."""


class ActionKind(StrEnum):
    """What can be done to a job."""

    NOTIFY = "notify"
    CHECKPOINT = "checkpoint"
    """Save now."""
    PAUSE = "pause"
    """Save if the run can, end the processes, free the devices, keep the job."""
    RESUME = "resume"
    """Start the next attempt of a paused job."""
    STOP = "stop"
    """Save if that is asked for, end; final."""
    SCALE = "scale"
    RECOMMEND = "recommend"


class CarriedOut(StrEnum):
    """Who did what was asked."""

    DIRECTIVE = "directive"
    """The run itself."""
    PLATFORM = "platform"
    """Whoever holds the processes, without the run or by force."""
    REFUSED = "refused"
    """Nobody; ``outcome`` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """The body of ``POST /api/v1/jobs/{namespace}/{name}/{stop,checkpoint,pause,resume}``."""

    by: str = ""
    """Who asks: a user, or a rule."""
    reason: str = ""
    save: bool = False
    """Stop: ask for a checkpoint first. A pause always does."""
    notice: float | None = None
    """Seconds that the run gets before the platform acts without it: to save, and to end by itself. Left out: 60 where
    something is to be saved, 300 for a checkpoint alone, else 0."""
    grace: float = 30.0
    """Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """A runner's word on how it carried out a command."""

    id: str
    carried_out: CarriedOut
    text: str = ""
    message: Message | None = None
    """``text`` with its kind and figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """The record of one action. Times are Unix seconds by the server's clock."""

    id: str
    kind: ActionKind
    by: str = ""
    reason: str = ""
    attempt: str
    """The attempt that it was asked of."""
    asked_at: float
    deadline: float | None = None
    """When the platform acts without the run."""
    grace: float = 30.0
    """Seconds between SIGTERM and SIGKILL."""
    acknowledged_at: float | None = None
    """When the run, or else its runner, first said that it knows."""
    carried_out: CarriedOut | None = None
    """None while it is under way."""
    outcome: str | None = None
    """What came of it, in words; why, if it was refused."""
    outcome_message: Message | None = None
    """The same with its kind and figures; None where the runner that carried it out did not say them."""
