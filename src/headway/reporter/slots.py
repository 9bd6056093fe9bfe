"""What the training threads write and the reporter's thread reads. Nothing here takes a lock.

Every operation is one that the interpreter makes whole by itself: append to a deque, set an attribute, set a key.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Protocol

from headway.protocol.directive import Directive
from headway.protocol.report import Checkpoint, Phase, Unit
from headway.reporter.scalars import Samples

MOST_ENTRIES: Final = 16_384
"""Steps kept between two ticks. A faster run loses the oldest of a tick from its means, never its step count."""

Entry = tuple[int, float, dict[str, Any]]
"""A step: (step, monotonic time, metrics)."""
LogEntry = tuple[int, float, dict[str, Any], bool]
"""An explicit log: the same, and True."""


class Counter(Protocol):
    """A run, as far as it is known here."""

    @property
    def last_step(self) -> int:
        """Number of the last step."""


class Slots:
    """The desk between training and reporting."""

    __slots__ = (
        "checkpoint",
        "checkpoint_directive",
        "counter",
        "done",
        "entries",
        "epoch",
        "logged",
        "numbered",
        "phase",
        "samples",
        "start_step",
        "stop_directive",
        "stop_seen",
        "total_epochs",
        "total_steps",
        "unit",
        "zero_based",
    )

    def __init__(self, start_step: int, unit: Unit) -> None:
        self.entries: deque[Entry | LogEntry] = deque(maxlen=MOST_ENTRIES)
        self.samples = Samples()
        self.counter: Counter | None = None
        """Who counts the steps."""
        self.start_step = start_step
        self.logged = start_step
        """The highest step that an explicit log named."""
        self.numbered = False
        """The caller numbers the steps."""
        self.zero_based = False
        """The caller's first number was 0, so n steps are complete at number n - 1."""
        self.total_steps: int | None = None
        self.epoch: float | None = None
        self.total_epochs: float | None = None
        self.unit = unit
        self.phase: Phase | None = None
        """As declared; None outside of any declared phase."""
        self.checkpoint: Checkpoint | None = None
        self.stop_directive: Directive | None = None
        self.stop_seen = False
        self.checkpoint_directive: Directive | None = None
        self.done: tuple[str, ...] = ()
        """Ids of the directives that were carried out; sent until the server stops repeating them."""

    @property
    def step(self) -> int:
        """The last step, counted or as told."""
        return self.start_step if self.counter is None else self.counter.last_step

    @property
    def completed(self) -> int:
        """Steps complete."""
        return self.count(self.step)

    def count(self, step: int) -> int:
        """Steps complete once this one is."""
        return max(step + self.zero_based, self.logged)
