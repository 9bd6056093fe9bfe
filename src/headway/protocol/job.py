"""What Headway says of a job: one document, the same in the API, the SDK and ``--json``.

At the top level every field is always there, null when unknown; inside the nested objects what is unknown is left out.
Times are Unix seconds by the server's clock; durations are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, NamedTuple

from headway.protocol.action import Action
from headway.protocol.message import Message
from headway.protocol.report import Checkpoint, Ending, Phase, Unit
from headway.protocol.verdict import Condition, Verdict


class JobKey(NamedTuple):
    """What names a job. Both parts may hold any character but NUL; the API percent-encodes them."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class State(StrEnum):
    """The platform's word for a job."""

    CREATED = "Created"
    QUEUED = "Queued"
    PENDING = "Pending"
    RUNNING = "Running"
    PAUSED = "Paused"
    PREEMPTED = "Preempted"
    RESTARTING = "Restarting"
    COMPLETE = "Complete"
    FAILED = "Failed"
    STOPPED = "Stopped"
    LOST = "Lost"
    DELETING = "Deleting"
    UNKNOWN = "Unknown"

    @property
    def ended(self) -> bool:
        """Whether nothing more is expected of the job in this state."""
        return self in _ENDED


_ENDED = frozenset({State.COMPLETE, State.FAILED, State.STOPPED, State.LOST})


class Platform(StrEnum):
    """Where a job runs."""

    LOCAL = "local"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What was asked of the platform."""

    nodes: int = 1
    devices_per_node: int | None = None
    device_type: str | None = None
    price_per_hour: float | None = None
    """Price of the whole job per hour of Running, in the currency of the user's choice."""
    framework: str | None = None
    command: tuple[str, ...] = ()
    runtime: str | None = None
    queue: str | None = None
    owner: str | None = None
    display_name: str | None = None
    stall_floor: float | None = None
    """Seconds without a step below which the job is never Stalled; None: as the server has it."""

    @property
    def devices(self) -> int | None:
        """Devices of all nodes together."""
        return None if self.devices_per_node is None else self.devices_per_node * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """Progress of a job. ``percent`` is rounded down, 100 only at the end; unknown is None, never 0."""

    percent: int | None = None
    step: int | None = None
    total_steps: int | None = None
    epoch: float | None = None
    total_epochs: float | None = None
    unit: Unit | None = None
    samples: int | None = None
    tokens: int | None = None
    phase: Phase | None = None
    step_seconds: float | None = None
    last_step_age: float | None = None
    """Seconds since a step advanced; None before the first and after the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """When a job will end: point estimate and an 80 % interval, in seconds from now."""

    seconds: float
    low: float
    high: float
    finish_at: float
    """Unix seconds."""
    basis: str
    """What the estimate rests on, in words."""
    step_seconds: float | None = None
    """The pace that it rests on."""
    steps: float | None = None
    """Over how many steps that was measured."""
    pause_seconds: float | None = None
    """What evaluations, checkpoints and other pauses add ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start of a job's training processes."""

    ordinal: int
    id: str
    started_at: float
    ended_at: float | None = None
    first_step: int | None = None
    last_step: int | None = None
    resumed_from_step: int | None = None
    world_size: int = 1
    ending: Ending | None = None
    checkpoint: Checkpoint | None = None
    """The newest."""
    checkpoints: tuple[int, ...] = ()
    """Steps of all, in order; of more than 200 of one run, every other of the older ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankInfo:
    """The newest word of one process of the current attempt."""

    run: str
    rank: int
    attempt: str
    last_contact_age: float
    step: int | None = None
    step_seconds: float | None = None
    phase: Phase | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    device_name: str | None = None
    """Its accelerator."""
    memory_used: int | None = None
    """Bytes of it that the process holds."""
    memory_total: int | None = None
    """Bytes of the whole accelerator."""
    auxiliary: bool = False
    """Inherited the environment, but is not the training: listed, and never moves progress."""
    stack: str | None = None
    """Where it stands, as it said when no step had advanced for long; None once one has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An amount of device time and, where a price is known, of money."""

    device_hours: float | None = None
    money: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a job costs. Only time in Running counts."""

    price_per_hour: float | None = None
    spent: Cost = field(default_factory=Cost)
    remaining: Cost = field(default_factory=Cost)
    """From now to the ETA."""
    at_risk: Cost = field(default_factory=Cost)
    """Since the last checkpoint: what a crash would lose."""
    without_progress: Cost = field(default_factory=Cost)
    """Since the onset of a condition that says that nothing is gained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything there is to say of one job."""

    ALWAYS_COMPLETE: ClassVar = True

    namespace: str
    name: str
    uid: str
    platform: Platform
    state: State
    state_reason: str | None = None
    summary: str
    """The state in words, such as ``Complete (early stopped at 400/1000)`` or ``Failed at 40 %``."""
    ending: Ending | None = None
    verdict: Verdict | None = None
    """None unless the job is Running."""
    verdict_text: str | None = None
    verdict_message: Message | None = None
    """The same with its kind and figures, where no condition stands; a condition has its own."""
    conditions: tuple[Condition, ...] = ()
    """Those that stand, and those that stood, oldest first."""
    progress: JobProgress = field(default_factory=JobProgress)
    resumed: str | None = None
    """Set when the current attempt began below where the one before it stood, in words (``resumed at 20 %``)."""
    eta: Eta | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    """Newest value of each metric, by its own name; may be NaN or infinite."""
    best: dict[str, float] = field(default_factory=dict)
    """Best value of each metric whose direction is known, over all attempts."""
    directions: dict[str, str] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    attempts: tuple[Attempt, ...] = ()
    ranks: tuple[RankInfo, ...] = ()
    actions: tuple[Action, ...] = ()
    """What was asked of the job and what came of it, oldest first; the last is the newest."""
    ledger: Ledger = field(default_factory=Ledger)
    spec: Spec = field(default_factory=Spec)
    config: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    log: str | None = None
    """Path of the log on the runner's host."""
    host: str | None = None
    """The runner's host, or the writing run's."""
    warnings: tuple[str, ...] = ()
    """What was mended in the newest report, and what does not add up."""
    warning_messages: tuple[Message, ...] = ()
    """The same, one for one, with their kinds and figures."""
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    updated_at: float
    """When anything of the job last changed: contact or lifecycle."""
    last_contact_age: float | None = None
    """Seconds since any process of the job was heard; None before the first and after the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """One page of a list of jobs."""

    items: tuple[Job, ...]
    total: int
    """How many match, on all pages."""
    next: str | None = None
    """Cursor of the next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """Which jobs, in what order. Each filter is a set: a job matches if its value is in it (empty: any)."""

    keys: frozenset[JobKey] = frozenset()
    namespaces: frozenset[str] = frozenset()
    states: frozenset[State] = frozenset()
    verdicts: frozenset[Verdict] = frozenset()
    frameworks: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    text: str = ""
    """Part of the name or display name, without regard to case."""
    sort: str = "-createdAt"
    """A field of :data:`SORTABLE`, with ``-`` before it for descending."""
    limit: int = 100
    cursor: str | None = None


SORTABLE = ("createdAt", "updatedAt", "name", "namespace", "state", "verdict", "percent", "eta", "spent")
"""Fields that a list can be sorted by; unknown values come last either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """One message of the event stream: the whole list at first (``snapshot``), then what changed."""

    id: str
    """Where in the stream this is; sent back as ``Last-Event-ID`` to go on from here."""
    snapshot: bool = False
    jobs: tuple[Job, ...] = ()
    deleted: tuple[JobKey, ...] = ()
    server_time: float
