"""The voice of one layer in a run: what training code, or an adapter for it, says of its steps.

Its methods write into its :class:`~headway.reporter.slots.Lane` and return; the reporter's thread does the rest. None of them
ever raises, waits for a device, takes a lock or touches the network.
"""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from headway.protocol.kubeflow import usable_total
from headway.protocol.report import Checkpoint, Phase, Unit
from headway.reporter.notes import Notes
from headway.reporter.notices import log
from headway.reporter.scalars import Samples
from headway.reporter.slots import Lane, Layer, Slots

_monotonic = time.monotonic
TRAINING_VARIABLE: Final = "HEADWAY_TRAINING_PID"
"""Told to the processes that a training starts: what they train is their own affair, unless they say otherwise."""


class Voice(Lane):
    """Says how far training is, for one layer of it. Adapters get theirs from :func:`headway.reporter.start.speak`.

    Where several layers see the same step, the outermost is heard, and what the others say of steps and metrics is dropped.
    Totals, epochs, phases and checkpoints are taken from whoever knows them.

    Args:
        slots: the desk of the run.
        layer: which layer this is.
        start_step: steps complete before the first that it will see.
        unit: what one of its steps is.
        claims: it owns the loop and will count, so it is heard before its first step too.
    """

    __slots__ = ("_append", "_notes", "_samples", "_slots")

    def __init__(self, slots: Slots, layer: Layer, start_step: int, unit: Unit, *, claims: bool = False) -> None:
        super().__init__(layer, start_step, unit, claims=claims)
        self._slots = slots
        self._samples = slots.samples
        self._notes = slots.notes
        self._append: Any = self.entries.append

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied with a model, or handed to another process, it says nothing."""
        return _copy, (self.layer, self._step, self.unit)

    def mute(self) -> None:
        """From now on it costs next to nothing and changes nothing; its steps are still counted."""
        super().mute()
        self._append = _ignore
        self._samples = _UNWANTED
        self._notes = _NOTHING

    @property
    def heard(self) -> bool:
        """Whether its steps are the run's, as things stand."""
        return self._slots.heard is self

    def step(self, step: int | None = None, **metrics: Any) -> None:
        """One step is complete.

        Args:
            step: its number, if you count yourself; otherwise one more than the last. A loop over ``range(n)`` that passes
                its index (so starts at 0) is understood: after index 0, one step is complete.
            **metrics: numbers, or scalars of torch, jax or numpy. Numbers are averaged over each second; values on a device are
                sampled, never waited for. What is no single number is left out, with one warning per name.
        """
        try:
            step = self._step + 1 if step is None else self._number(step)
            self._step = step
            if self._notes and (self._slots.settled is self or self.heard):
                metrics = self._notes.take(metrics)
            tensor = self._samples.tensor
            for name, value in metrics.items():
                if value.__class__ is float:
                    continue
                if value.__class__ is not tensor or not value.is_cpu or value.dim():
                    self._samples.sort_out(metrics, step, _monotonic())
                    break
                metrics[name] = value.item()
            self._append((step, _monotonic(), metrics))
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a step was not taken in: %r", error)

    def note(self, **metrics: Any) -> None:
        """Values of the step in progress: they go with the next step, of this layer or of whichever is heard.

        Args:
            **metrics: as for :meth:`step`. What is said several times before the step is complete, as the loss of each
                micro-batch, goes with it as its mean.
        """
        try:
            notes, samples = self._slots.notes, self._slots.samples
            for name, value in metrics.items():
                if value.__class__ is samples.tensor and value.is_cpu and not value.dim():
                    value = value.item()  # noqa: PLW2901 - it may be changed in place
                elif not samples.wanted:
                    break
                elif value.__class__ is not float:
                    notes.add(name, value)
                    continue
                if name in notes:
                    notes.add(name, value)
                else:
                    notes[name] = value
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a note was not taken in: %r", error)

    def take_back(self, name: str) -> None:
        """What was noted under this name does not go with the next step."""
        self._notes.drop(name)

    @property
    def noted(self) -> Iterable[str]:
        """Names of what goes with the next step."""
        return self._notes.keys()

    def discard(self) -> None:
        """The step in progress came to nothing, as one that overflowed: what was noted of it is dropped."""
        self._slots.notes.forget()

    def log(self, step: int | None = None, epoch: float | None = None, **metrics: Any) -> None:
        """Records metrics as a point of its own, such as an evaluation. It completes no step.

        Args:
            step: the step that they belong to; the present one if left out.
            epoch: epochs complete, may be a fraction.
            **metrics: as for :meth:`step`, but each is kept as it is.
        """
        try:
            if epoch is not None:
                self.set_epoch(epoch)
            if step is None:
                step = self._step if self.counts else self._slots.completed
            else:
                step = operator.index(step)
                self.logged = max(self.logged, step)
            now = _monotonic()
            if metrics and not self.muted:
                self._samples.sort_out(metrics, step, now, log=True)
                self._append((step, now, metrics, True))
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a log was not taken in: %r", error)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Says what the run does inside the block: ``with run.phase("eval"):``.

        Args:
            name: init, compile, restore, train, eval, checkpoint or finish; another word is ignored, with a warning.
        """
        before = self._slots.phase
        try:
            self._slots.phase = Phase(name)
        except ValueError:
            log.warning("phase %r is not known; it may be one of %s", name, ", ".join(Phase))
        try:
            yield
        finally:
            self._slots.phase = before

    def set_total(self, steps: float | None) -> None:
        """Announces, or corrects, how many steps the run will take; None, 0, -1 and the like mean unknown."""
        try:
            self.total_steps = usable_total(None if steps is None else float(steps))
        except (TypeError, ValueError, OverflowError):
            self.total_steps = None

    def set_epoch(self, epoch: float | None, total: float | None = None) -> None:
        """Says how many epochs are complete (may be a fraction), and how many there will be."""
        for name, value in (("epoch", epoch), ("total_epochs", total)):
            try:
                number = math.nan if value is None else float(value)
            except (TypeError, ValueError, OverflowError):
                continue
            if math.isfinite(number) and number >= 0:
                setattr(self, name, number)

    def checkpointed(self, step: int | None = None, *, seconds: float | None = None, path: object = None) -> None:
        """A checkpoint is saved. Answers a request to save one (:attr:`should_checkpoint`).

        Args:
            step: the step that it holds; the present one if left out.
            seconds: how long training stood still for it.
            path: where it lies. A file's or folder's is told in full; any other name as it is.
        """
        try:
            slots = self._slots
            slots.saved(
                Checkpoint(
                    step=slots.completed if step is None else operator.index(step),
                    seconds=None if seconds is None else float(seconds),
                    path=None if path is None else _whole(str(path))[:1024],
                )
            )
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a checkpoint was not taken in: %r", error)

    @property
    def should_stop(self) -> bool:
        """Whether this run is to end: somebody asked for it, or its process got SIGTERM. Ask after each step.

        Where all processes track their run, it is True from the same step on in all of them; see
        docs/howto/save-before-the-end.md. Reading it tells that the loop listens: SIGTERM then means "save, and end", and no
        longer death at once.
        """
        return self._slots.stop_now()

    @property
    def should_checkpoint(self) -> bool:
        """Whether a checkpoint is to be saved now. Ask after each step, before :attr:`should_stop`; save where it is True.

        In a single process it stays True until :meth:`checkpointed` is called. Where several processes agree, it is True at one
        step, the same in all of them. Reading it tells that the loop listens, as with :attr:`should_stop`.
        """
        return self._slots.save_now()

    def loop_ended(self) -> None:
        """The loop is over, and nobody asks any more whether to save or to stop: SIGTERM means death again.

        What this process starts from now on does not run within its training.
        """
        self._slots.listens = False
        if os.environ.get(TRAINING_VARIABLE) == str(os.getpid()):
            del os.environ[TRAINING_VARIABLE]

    @property
    def completed(self) -> int:
        """Steps of the run that are complete, whichever layer counts them."""
        return self._slots.completed

    def _number(self, step: Any) -> int:
        number = operator.index(step) if not hasattr(step, "item") else int(step.item())
        if not self.numbered:
            self.numbered = True
            self.zero_based = number == 0
        return number


def _whole(path: str) -> str:
    """Who reads of it does not know in which folder the process runs."""
    return os.path.abspath(path) if os.path.exists(path) else path


def _copy(layer: Layer, step: int, unit: Unit) -> Voice:
    copy = Voice(Slots(step, unit), layer, step, unit)
    copy.mute()
    return copy


def _ignore(entry: object) -> None:
    """Takes the place of the queue in a voice that is not heard, and in a run that is switched off."""


_UNWANTED = Samples()
_UNWANTED.want(wanted=False)
_NOTHING = Notes(_UNWANTED)
