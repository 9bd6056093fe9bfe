"""What a training process says of itself: one report, full snapshot and news in one.

A report has up to two parts. ``status`` is Kubeflow Trainer's request, which every stock client sends; ``headway`` adds
identity, exact points and health. :mod:`headway.protocol.codec` reads and writes both.

What is made once for every report is not frozen: that takes three times as long to make. It is not changed all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Phase(StrEnum):
    """What a run is doing. Each phase but ``train`` has its own learnt length and limit."""

    INIT = "init"
    COMPILE = "compile"
    RESTORE = "restore"
    TRAIN = "train"
    EVAL = "eval"
    CHECKPOINT = "checkpoint"
    FINISH = "finish"


class Unit(StrEnum):
    """What one step is."""

    OPTIMIZER_STEP = "optimizer_step"
    BATCH = "batch"
    SAMPLE = "sample"
    TOKEN = "token"  # noqa: S105 - a unit of data, not a secret
    TREE = "tree"


class EndingKind(StrEnum):
    """How an attempt or a job ended."""

    COMPLETED = "completed"
    EARLY_STOPPED = "early_stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    DEADLINE = "deadline"


class Cell(NamedTuple):
    """The value of one metric at one point: a sample, or the mean over the steps since the previous point.

    ``mean`` may be NaN or infinite. With ``n`` samples, ``m2`` is the sum of squared deviations from the mean, and ``bad``
    how many of the ``n`` were not finite; ``mean`` and ``m2`` are over the ``n - bad`` finite ones (NaN when there are none).
    """

    mean: float
    n: int = 1
    m2: float = 0.0
    bad: int = 0


class Point(NamedTuple):
    """Metric values at one step. ``t`` is seconds since the attempt began, on a monotonic clock."""

    step: int
    t: float
    metrics: dict[str, Cell]


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run is, in its own words. Unknown is None, never 0."""

    step: int | None = None
    total_steps: int | None = None
    epoch: float | None = None
    total_epochs: float | None = None
    unit: Unit | None = None
    samples: int | None = None
    tokens: int | None = None
    phase: Phase | None = None
    last_step_age: float | None = None
    """Seconds between the last step that advanced and the sending of this report."""
    step_seconds: float | None = None
    """Median seconds per step since the previous report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A save that has completed."""

    step: int
    seconds: float | None = None
    """How long training stood still for it."""
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an attempt or job ended, as far as it is known."""

    kind: EndingKind
    step: int | None = None
    total_steps: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, such as ``SIGKILL``."""
    exception: str | None = None
    """Qualified name of the exception's type."""
    message: str | None = None
    """The exception's text, or the platform's reason."""
    log_tail: tuple[str, ...] = ()
    """Last lines of the log, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What is said once per run, and again on request."""

    framework: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    config: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    """Hyperparameters, flat."""
    tags: tuple[str, ...] = ()
    metrics: dict[str, str] = field(default_factory=dict)
    """Direction of metrics: ``min`` or ``max``."""
    devices: int | None = None
    host: str | None = None
    pid: int | None = None
    local_rank: int | None = None
    stall_floor: float | None = None
    """Seconds without a step below which the run is never Stalled; None: as the server has it."""
    grace: float | None = None
    """Seconds between SIGTERM and SIGKILL, of a run that saves and ends in them; None: its loop does not ask whether to."""
    start_step: int | None = None
    """Steps complete before the first that the run sees; None: to be told from its points."""
    restarts: int | None = None
    """How often its launcher had started all processes of the attempt anew; None: it does not count that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The accelerator of one process, as its framework knows it without asking it. Memory in bytes."""

    name: str | None = None
    memory_used: int | None = None
    """Held by the process's tensors."""
    memory_total: int | None = None
    """Of the whole device."""


@dataclass(slots=True, kw_only=True)
class RunReport:
    """The ``headway`` object of a report.

    ``seq`` counts the reports of one run from 1; ``sent_after`` is seconds since the attempt began, at sending. A report
    without ``points``, ``checkpoint``, ``ending`` and without an advanced step is a beat: it shows life, never progress.
    """

    run: str
    seq: int
    attempt: str
    rank: int = 0
    world_size: int = 1
    sent_after: float | None = None
    version: int = 1
    progress: Progress = field(default_factory=Progress)
    points: Sequence[Point] = ()
    checkpoint: Checkpoint | None = None
    device: Device | None = None
    job: RunInfo | None = None
    ending: Ending | None = None
    stack: str | None = None
    """The main thread's stack, when the run itself sees that no step advances."""
    acks: tuple[str, ...] = ()
    """Ids of directives that the run has carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerStatus:
    """Kubeflow Trainer's status, mended where a client broke its limits. ``metrics`` maps names to values as text."""

    progress_percentage: int | None = None
    estimated_remaining_seconds: int | None = None
    metrics: dict[str, str] = field(default_factory=dict)
    last_updated_time: str | None = None


@dataclass(slots=True, kw_only=True)
class Report:
    """One request of a training process, decoded. ``warnings`` says what was mended on the way in."""

    status: TrainerStatus | None = None
    headway: RunReport | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What a relay or spool says of a report that it hands on (the ``Headway-*`` request headers)."""

    age: float = 0.0
    """Seconds that the report was kept before this request."""
    attempt: str | None = None
    run: str | None = None
    seq: int | None = None
