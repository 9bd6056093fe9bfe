"""The handle that training code holds: :class:`Run`.

Its methods write into :class:`~headway.reporter.slots.Slots` and return; the reporter's thread does the rest. None of them
ever raises, waits for a device, takes a lock or touches the network. Only :meth:`Run.finish` waits, and says for how long.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from headway.protocol.kubeflow import usable_total
from headway.protocol.report import Checkpoint, Ending, EndingKind, Phase, Unit
from headway.reporter.endings import ending_of
from headway.reporter.notices import log
from headway.reporter.reporter import Reporter
from headway.reporter.slots import Slots

_monotonic = time.monotonic


class Run:
    """One process's part in a training job. Made by :func:`headway.track`.

    As a context manager it ends with the block: completed, or failed with the exception's type, which goes on.
    A run that is switched off (``HEADWAY_DISABLED=1``, a forked child, after :meth:`finish`) takes every call and does nothing.
    """

    __slots__ = ("_append", "_ending_now", "_finish_timeout", "_on_finish", "_reporter", "_signal", "_slots", "_step")

    def __init__(self, slots: Slots, reporter: Reporter | None, *, finish_timeout: float = 3.0) -> None:
        self._slots = slots
        self._step = slots.start_step
        slots.counter = self
        self._reporter = reporter
        self._finish_timeout = finish_timeout
        self._on_finish: list[Any] = []
        self._ending_now = False
        self._signal: str | None = None
        self._append: Any = _ignore if reporter is None else slots.entries.append

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
            for value in metrics.values():
                if value.__class__ is not float:
                    self._slots.samples.sort_out(metrics, step, _monotonic())
                    break
            self._append((step, _monotonic(), metrics))
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a step was not taken in: %r", error)

    def log(self, step: int | None = None, epoch: float | None = None, **metrics: Any) -> None:
        """Records metrics as a point of its own, such as an evaluation. It completes no step.

        Args:
            step: the step that they belong to; the present one if left out.
            epoch: epochs complete, may be a fraction.
            **metrics: as for :meth:`step`, but each is kept as it is.
        """
        try:
            slots = self._slots
            if epoch is not None:
                self.set_epoch(epoch)
            if step is None:
                step = self._step
            else:
                step = operator.index(step)
                slots.logged = max(slots.logged, step)
            now = _monotonic()
            if metrics and self._reporter is not None:
                slots.samples.sort_out(metrics, step, now, log=True)
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
            self._slots.total_steps = usable_total(None if steps is None else float(steps))
        except (TypeError, ValueError, OverflowError):
            self._slots.total_steps = None

    def set_epoch(self, epoch: float | None, total: float | None = None) -> None:
        """Says how many epochs are complete (may be a fraction), and how many there will be."""
        for name, value in (("epoch", epoch), ("total_epochs", total)):
            try:
                number = math.nan if value is None else float(value)
            except (TypeError, ValueError, OverflowError):
                continue
            if math.isfinite(number) and number >= 0:
                setattr(self._slots, name, number)

    def checkpointed(self, step: int | None = None, *, seconds: float | None = None, path: object = None) -> None:
        """A checkpoint is saved. Answers a request to save one (:attr:`should_checkpoint`).

        Args:
            step: the step that it holds; the present one if left out.
            seconds: how long training stood still for it.
            path: where it lies.
        """
        try:
            slots = self._slots
            slots.checkpoint = Checkpoint(
                step=slots.completed if step is None else operator.index(step),
                seconds=None if seconds is None else float(seconds),
                path=None if path is None else str(path)[:1024],
            )
            if (asked := slots.checkpoint_directive) is not None:
                slots.checkpoint_directive = None
                slots.done = (*slots.done, asked.id)
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a checkpoint was not taken in: %r", error)

    @property
    def should_stop(self) -> bool:
        """Whether somebody asked this run to end. Reading True tells the server that the run knows.

        With several processes, ask on rank 0 and broadcast the answer: each process hears at its own time.
        """
        slots = self._slots
        if (asked := slots.stop_directive) is None:
            return False
        if not slots.stop_seen:
            slots.stop_seen = True
            slots.done = (*slots.done, asked.id)
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether somebody asked for a checkpoint; until :meth:`checkpointed` is called."""
        return self._slots.checkpoint_directive is not None

    @property
    def last_step(self) -> int:
        """Number of the last step."""
        return self._step

    @property
    def active(self) -> bool:
        """Whether this run reports."""
        return self._reporter is not None

    def finish(self, ending: str | None = None, *, timeout: float | None = None, message: str | None = None) -> None:
        """Ends the run: sends all that is left, and how it ended; what cannot be sent in time is spooled. Once only.

        Args:
            ending: completed, early_stopped, failed or cancelled. Left out: cancelled after a signal, or when asked to
                stop and the total was not reached; else completed.
            timeout: longest time that this waits, in seconds; ``HEADWAY_FINISH_TIMEOUT``, or 3, if left out.
            message: why, in words.
        """
        kind: EndingKind | None = None
        try:
            kind = None if ending is None else EndingKind(ending)
        except ValueError:
            log.warning("ending %r is not known; it may be one of %s", ending, ", ".join(EndingKind))
        self._end(Ending(kind=kind or self._natural_kind(), signal=self._signal, message=message), timeout)

    def __reduce__(self) -> tuple[Any, ...]:
        """Handed to another process, or copied with a model, it is a run that is switched off."""
        return _copy, (self._step, self._slots.unit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_with(error)

    def _start(self) -> None:
        if self._reporter is not None:
            self._reporter.start()

    def _end_with(self, error: BaseException | None) -> None:
        self._end(ending_of(error) or Ending(kind=self._natural_kind(), signal=self._signal))

    def _end(self, ending: Ending, timeout: float | None = None) -> None:
        reporter, self._reporter = self._reporter, None
        if reporter is None:
            return
        self._append = _ignore
        self._ending_now = True
        try:
            reporter.finish(ending, self._finish_timeout if timeout is None else max(0.0, float(timeout)))
        except Exception as error:  # noqa: BLE001 - never into training
            log.warning("the end of the run was not reported: %r", error)
        self._ending_now = False
        for undo in self._on_finish:
            undo()

    def _natural_kind(self) -> EndingKind:
        slots = self._slots
        if self._signal is not None:
            return EndingKind.CANCELLED
        if slots.stop_seen and slots.total_steps is not None and slots.completed < slots.total_steps:
            return EndingKind.CANCELLED
        return EndingKind.COMPLETED

    def _abandon(self) -> None:
        """In a forked child: from now on this handle does nothing."""
        reporter, self._reporter = self._reporter, None
        self._append = _ignore
        if reporter is not None:
            reporter.abandon()

    def _number(self, step: Any) -> int:
        slots = self._slots
        number = operator.index(step) if not hasattr(step, "item") else int(step.item())
        if not slots.numbered:
            slots.numbered = True
            slots.zero_based = number == 0
        return number


def _ignore(entry: object) -> None:
    """Takes the place of the queue in a run that is switched off."""


def _copy(step: int, unit: Unit) -> Run:
    return inert_run(Slots(step, unit))


def inert_run(slots: Slots) -> Run:
    """A run that does nothing."""
    return Run(slots, None)
