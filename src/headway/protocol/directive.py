"""What the server asks of a run in its answer, and the answer itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.protocol.report import TrainerStatus


class DirectiveKind(StrEnum):
    """What a run can be asked to do."""

    CHECKPOINT = "checkpoint"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """A request to the run, repeated in every answer until its id comes back in ``acks``."""

    id: str
    kind: DirectiveKind
    reason: str = ""
    deadline: str | None = None
    """RFC 3339 time by which the platform acts without the run."""
    then: str | None = None
    """Of a checkpoint: id of the request to stop that follows it. A run that saves when it is asked to may end at the same step,
    and acknowledge both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a report: the stored status, and the ``headway`` object."""

    status: TrainerStatus | None = None
    ack: int | None = None
    """Sequence number of the report that this answers: it is persisted."""
    interval: float = 5.0
    """Seconds that the run should leave between reports."""
    directives: tuple[Directive, ...] = ()
    warnings: tuple[str, ...] = ()
    want: tuple[str, ...] = ()
    """Parts that the server lacks; ``job`` asks for :class:`~headway.protocol.report.RunInfo` again."""
    grace: float | None = None
    """By the word of whoever ends the processes: seconds that lie between SIGTERM and SIGKILL; once SIGTERM was sent, those that
    are left. None: nobody has said."""
