"""What a runner tells the server of the processes it started, and what it hears back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from headway.protocol.action import ActionOutcome
from headway.protocol.job import Job, Spec
from headway.protocol.report import Ending
from headway.protocol.verdict import Condition


class LifecycleKind(StrEnum):
    """What happened to an attempt, by the runner's word."""

    STARTED = "started"
    """The processes of a new attempt were started."""
    ALIVE = "alive"
    """They still run; sent at the interval that the server asks for."""
    ENDED = "ended"
    """They ended; ``ending`` says how. The job ends with it unless ``restarting`` or ``paused``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Makes a job known, or begins its next attempt: the body of ``PUT /api/v1/jobs/{namespace}/{name}``."""

    spec: Spec = field(default_factory=Spec)
    tags: tuple[str, ...] = ()
    log: str | None = None
    """Path of the log on the runner's host."""
    host: str | None = None
    runner: str
    """Id of the runner: a second one is refused while the first is alive."""
    attempt: str
    """Id of the attempt about to start. Runners of several nodes that name the same one share it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """The answer to a registration."""

    job: Job
    token: str
    """Opens this job's status endpoint and its lifecycle endpoint, nothing else."""
    heartbeat: float
    """Seconds between ``alive`` events; three missed in a row make the job Lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A process whose interpreter runs nothing at all, not even the reporter's thread; told by its watchdog."""

    run: str
    """Id of the run."""
    stack: str
    """Where its threads stand, as ``faulthandler`` writes it, the main thread last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """One event of a runner: the body of ``POST /api/v1/jobs/{namespace}/{name}/lifecycle``."""

    kind: LifecycleKind
    runner: str
    attempt: str
    age: float = 0.0
    """Seconds since it happened, when it could not be told at once."""
    ending: Ending | None = None
    restarting: bool = False
    """The runner begins another attempt."""
    paused: bool = False
    """The runner keeps the job, and begins another attempt when it is told to; meanwhile it goes on with ``alive``."""
    pid: int | None = None
    stuck: Stuck | None = None
    acks: tuple[str, ...] = ()
    """Ids of commands that the runner has begun to carry out."""
    outcomes: tuple[ActionOutcome, ...] = ()
    """What came of commands."""


class CommandKind(StrEnum):
    """What a runner can be told."""

    STOP = "stop"
    """Directive to the run, then SIGTERM after ``notice`` seconds, then SIGKILL after ``grace`` more; final."""
    PAUSE = "pause"
    """The same, but the job is kept."""
    RESUME = "resume"
    """Begin the next attempt of a paused job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A request to the runner, repeated in every answer to a lifecycle event until acknowledged."""

    id: str
    kind: CommandKind
    by: str = ""
    reason: str = ""
    save: bool = False
    """The run is asked to save first: once it has, it need not be given all of ``notice``."""
    notice: float = 0.0
    grace: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleAnswer:
    """The answer to a lifecycle event."""

    commands: tuple[Command, ...] = ()
    heartbeat: float = 2.0
    conditions: tuple[Condition, ...] = ()
    """Those that stand, and those that were withdrawn within the last minute: some come and go between two life signs."""
