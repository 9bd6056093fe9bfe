"""What the training threads write and the reporter's thread reads. Nothing here takes a lock.

Every operation is one that the interpreter makes whole by itself: append to a deque, set an attribute, set a key.

One training step may be seen by several: the script, a trainer that runs it, the engine below, the optimizer's own hook. Each
has a :class:`Lane` of its own, and the outermost one that counts is heard; so one step is one step, however many saw it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from headway.protocol.report import Checkpoint, Phase, Unit
from headway.reporter.notes import Notes
from headway.reporter.request import Request
from headway.reporter.scalars import Samples

MOST_ENTRIES: Final = 16_384
"""Steps kept between two ticks. A faster run loses the oldest of a tick from its means, never its step count."""

Entry = tuple[int, float, dict[str, Any]]
"""A step: (step, monotonic time, metrics)."""
LogEntry = tuple[int, float, dict[str, Any], bool]
"""An explicit log: the same, and True."""


class Layer(IntEnum):
    """Who sees a step, from the outside in."""

    SCRIPT = 0
    """The user's own ``run.step()``."""
    TRAINER = 1
    """A trainer that owns the loop: Transformers, TRL, Lightning."""
    LIBRARY = 2
    """A library inside the user's loop: Accelerate, a helper for JAX, XGBoost."""
    ENGINE = 3
    """An engine that owns the optimizer: DeepSpeed."""
    OPTIMIZER = 4
    """The optimizer's own step."""
    BAR = 5
    """A progress bar."""


class Lane:
    """What one layer says of the steps that it sees.

    Args:
        layer: which one.
        start_step: steps complete before the first that it will see.
        unit: what one of its steps is.
        claims: it owns the loop and will count, so it is heard before its first step too.
    """

    __slots__ = (
        "_step",
        "claims",
        "entries",
        "epoch",
        "layer",
        "logged",
        "muted",
        "numbered",
        "start_step",
        "total_epochs",
        "total_steps",
        "unit",
        "zero_based",
    )

    def __init__(self, layer: Layer, start_step: int, unit: Unit, *, claims: bool = False) -> None:
        self.layer = layer
        self.start_step = self._step = self.logged = start_step
        self.unit = unit
        self.claims = claims
        self.entries: deque[Entry | LogEntry] = deque(maxlen=MOST_ENTRIES)
        self.muted = False
        """Nothing that it says of steps and metrics is heard any more, so that none of it need be found out."""
        self.numbered = False
        """The caller numbers the steps."""
        self.zero_based = False
        """The caller's first number was 0, so n steps are complete at number n - 1."""
        self.total_steps: int | None = None
        self.epoch: float | None = None
        self.total_epochs: float | None = None

    @property
    def last_step(self) -> int:
        """Number of the last step."""
        return self._step

    @property
    def counts(self) -> bool:
        """Whether it counts steps, or is about to."""
        return self.claims or self.numbered or self._step != self.start_step

    def count(self, step: int) -> int:
        """Steps complete once this one is."""
        return max(step + self.zero_based, self.logged)

    def mute(self) -> None:
        """It is not heard, for somebody further out counts; what it says may be dropped."""
        self.muted = True


class Slots:
    """The desk between training and reporting: the lanes, and what holds for the run as a whole.

    Args:
        start_step: steps complete before the first of this process.
        unit: what a step of the script is.
    """

    __slots__ = (
        "checkpoint",
        "done",
        "framework",
        "lanes",
        "listens",
        "notes",
        "phase",
        "place",
        "requests",
        "samples",
        "saves",
        "scripted",
        "settled",
        "stopped_by",
        "survey",
    )

    def __init__(self, start_step: int, unit: Unit) -> None:
        self.lanes: tuple[Lane, ...] = (Lane(Layer.SCRIPT, start_step, unit),)
        """From the outside in; the first is the script's."""
        self.settled = self.lanes[0]
        """Who was heard when that was last asked."""
        self.scripted = False
        """The script has called ``track()`` itself, so it counts for itself where no trainer or engine does."""
        self.framework: tuple[Layer, str] | None = None
        """What the training is built with, and the layer that said so."""
        self.place: tuple[int, int] | None = None
        """Rank and number of processes, by the word of an adapter whose framework tells them to its own thread only."""
        self.samples = Samples()
        self.notes = Notes(self.samples)
        """Values of the step in progress, for whoever completes it."""
        self.phase: Phase | None = None
        """As declared; None outside of any declared phase."""
        self.checkpoint: Checkpoint | None = None
        self.requests: tuple[Request, ...] = ()
        """What training is asked for; replaced as a whole, never by the training thread."""
        self.listens = False
        """Training has asked whether it is to save or to stop: it does so when it is told."""
        self.saves = False
        """It has asked whether it is to save."""
        self.stopped_by: Request | None = None
        """The request to stop that training has been told of."""
        self.done: dict[str, None] = {}
        """Ids of the directives that were carried out; sent until the server stops repeating them."""
        self.survey: Callable[[], None] | None = None
        """What training is to look up itself, once, when it next asks."""

    def join(self, lane: Lane) -> None:
        """Takes in a lane, in the place of one of its layer if there is one."""
        if (replaced := self.lane(lane.layer)) is not None:
            replaced.mute()
        others = [each for each in self.lanes if each is not replaced]
        self.lanes = tuple(sorted([*others, lane], key=lambda each: each.layer))
        self.listen()

    def lane(self, layer: Layer) -> Lane | None:
        """The lane of a layer, if it has one."""
        return next((lane for lane in self.lanes if lane.layer is layer), None)

    def built_with(self, framework: str | None, layer: Layer) -> bool:
        """Takes in the framework's name, unless somebody further out has given another; returns whether it is news."""
        if framework is None or (self.framework is not None and self.framework[0] < layer):
            return False
        known, self.framework = self.framework, (layer, framework)
        return known is None or known[1] != framework

    def listen(self) -> Lane:
        """Settles who is heard now, and mutes whoever can no longer be."""
        heard = next((lane for lane in self.lanes if lane.counts and self._may_count(lane)), self.lanes[0])
        for lane in self.lanes:
            if not self._may_count(lane) or (heard.counts and lane.layer > heard.layer):
                lane.mute()
        self.settled = heard
        return heard

    def save_now(self) -> bool:
        """Asked by the training thread: whether it is to save a checkpoint now."""
        self.listens = self.saves = True
        if self.survey is not None:
            self._look_up()
        if not self.requests:
            return False
        completed, now = self.completed, False
        for request in self.requests:
            now = request.save_now(completed) or now
        return now

    def stop_now(self) -> bool:
        """Asked by the training thread: whether it is to end its loop. Once True, always True."""
        self.listens = True
        if self.survey is not None:
            self._look_up()
        if self.stopped_by is None and self.requests:
            completed = self.completed
            for request in self.requests:
                if request.stop and request.holds(completed):
                    self.stopped_by = request
                    self.done.update(dict.fromkeys(request.stop_ids))
                    break
        return self.stopped_by is not None

    def _look_up(self) -> None:
        survey, self.survey = self.survey, None
        if survey is not None:
            survey()

    def saved(self, checkpoint: Checkpoint) -> None:
        """A checkpoint is complete: carries out what asked for one."""
        self.checkpoint = checkpoint
        for request in self.requests:
            if request.wants_save and not request.saved and (request.step is None or request.at is not None):
                self.done.update(dict.fromkeys(request.save_ids))
                request.saved = True  # after it: it is not asked for again in between

    def _may_count(self, lane: Lane) -> bool:
        return lane.claims or lane.layer < Layer.OPTIMIZER or not self.scripted

    @property
    def heard(self) -> Lane:
        """Whose steps are the run's: the outermost lane that counts; the script's while none does."""
        return self.settled if self.settled.counts else self.listen()

    @property
    def entries(self) -> deque[Entry | LogEntry]:
        """What is not folded yet of the lane that is heard."""
        return self.heard.entries

    @property
    def step(self) -> int:
        """The last step, counted or as told."""
        return self.heard.last_step

    @property
    def completed(self) -> int:
        """Steps complete."""
        return self.count(self.step)

    def count(self, step: int) -> int:
        """Steps complete once this one is."""
        return self.heard.count(step)

    @property
    def unit(self) -> Unit:
        """What a step is."""
        return self.heard.unit

    @property
    def total_steps(self) -> int | None:
        """Steps that the run will take, as the outermost says that knows; None: unknown."""
        return next((lane.total_steps for lane in self.lanes if lane.total_steps is not None), None)

    @property
    def epoch(self) -> float | None:
        """Epochs complete, may be a fraction."""
        return next((lane.epoch for lane in self.lanes if lane.epoch is not None), None)

    @property
    def total_epochs(self) -> float | None:
        """Epochs that the run will take."""
        return next((lane.total_epochs for lane in self.lanes if lane.total_epochs is not None), None)
