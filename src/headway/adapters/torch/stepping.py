"""Counts the steps of this process's optimizers, and finds out which of them is the clock."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headway.reporter.notices import log
from headway.reporter.scalars import Sample, Samples
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

PATIENCE: Final = 50
"""Steps of another optimizer, with none of the clock's between, after which it is the clock: the first one's stage is over."""


class Steps:
    """Listens to the optimizers of this process."""

    def __init__(self) -> None:
        self.hooked = self.clipping = False
        self._compiling = compiling
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """As if none had stepped yet."""
        self.voice: Voice | None = None
        self._run: Any = None
        self.data_parallel = False
        self._clock: Callable[[], Any] = _nothing
        self._filled: Callable[[], Any] = _nothing
        self._asked: Sample | None = None
        """A resumed optimizer's count, on its way from a device."""
        self._unsaid = 0
        """Steps made meanwhile."""
        self._elsewhere: dict[int, int] = {}
        """Steps of other optimizers since the clock's last one, by the optimizer's id."""
        self._norms: list[Any] = []

    def begin(self, voice: Voice, optimizer: Any) -> None:
        """From now on this optimizer's steps are the run's."""
        import torch

        from headway.reporter.start import current_run

        self._compiling = torch.compiler.is_compiling
        self.voice, self._run = voice, current_run()
        self._clock = weakref.ref(optimizer)
        self._elsewhere.clear()

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """After each step of any optimizer."""
        if self._compiling():
            return  # only traced; and nothing of ours may become part of a compiled step
        if kwargs and _is_filling(optimizer, kwargs):
            self._filled = weakref.ref(optimizer)
            return
        try:
            found = getattr(optimizer, "found_inf", None)
            if found is not None and found.is_cpu and found:  # what a device found is not asked
                self._skip()
                return
            voice, made = self.voice, 1
            if voice is None or (voice.muted and self._of_another_run()):
                voice = self._first(optimizer)
                if voice is None:
                    return
            elif self._clock() is not optimizer:
                made = self._hand_over(optimizer)
                if not made:
                    self._norms.clear()
                    return
            told: dict[str, Any] = {}
            if (rate := optimizer.param_groups[0].get("lr")) is not None:
                told["learning_rate"] = rate
            if self._norms:
                if len(self._norms) == 1 and _is_whole(norm := self._norms.pop()):
                    if voice.muted:
                        voice.note(grad_norm=norm)
                    else:
                        told["grad_norm"] = norm
                self._norms.clear()
            if self._elsewhere:
                self._elsewhere.clear()
            voice.step(None if made == 1 else voice.last_step + made, **told)
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a step of an optimizer was not taken in: %r", error)

    def clipped(self, norm: Any) -> None:
        """The norm of gradients; whose, the next step of an optimizer tells."""
        if len(self._norms) < 2:
            self._norms.append(norm)

    def framework(self, optimizer: Any) -> str:
        """PyTorch, with the way that its parameters are spread as far as they show it."""
        parameter = next((each for group in optimizer.param_groups for each in group["params"]), None)
        if type(parameter).__name__ == "DTensor" or getattr(parameter, "_fsdp_flattened", False):
            return "pytorch-fsdp"
        return "pytorch-ddp" if self.data_parallel else "pytorch"

    def steps_before(self, optimizer: Any, count: float, new: int) -> int:
        """Of the steps that an optimizer counts in its state: less ``new``, and one that was no training."""
        steps = max(0, int(count) - new)
        return 0 if steps == 1 and self._filled() is optimizer else steps

    def _first(self, optimizer: Any) -> Voice | None:
        from headway.reporter.start import speak

        if (start := self._start(optimizer)) is None:
            return None
        voice = speak(Layer.OPTIMIZER, framework=self.framework(optimizer), claims=False, start_step=start)
        self.begin(voice, optimizer)
        return voice

    def _start(self, optimizer: Any) -> int | None:
        """Steps complete before this one; None as long as only a device knows and has not told yet: nobody waits for it."""
        if self._asked is None:
            told = {"step": count_of(optimizer)}
            Samples().sort_out(told, 0, time.monotonic(), log=True)
            count = told.get("step", 0)
            if not isinstance(count, Sample):
                return self.steps_before(optimizer, count, 1)
            self._asked, self._clock, self._unsaid = count, weakref.ref(optimizer), 0
        elif self._clock() is optimizer:
            self._unsaid += 1
        else:
            return None
        if not self._asked.ready():
            return None
        count, self._asked = self._asked.read(), None
        return self.steps_before(optimizer, count, 1) + self._unsaid

    def _of_another_run(self) -> bool:
        from headway.reporter.start import current_run

        return current_run() not in (None, self._run)

    def _skip(self) -> None:
        """A step came to nothing, and so did what is known of it."""
        self._norms.clear()
        if self.voice is not None:
            self.voice.discard()

    def _hand_over(self, optimizer: Any) -> int:
        """Steps that another optimizer has made as the clock; 0 as long as it is none."""
        theirs = self._elsewhere[id(optimizer)] = self._elsewhere.get(id(optimizer), 0) + 1
        if self._clock() is not None and sum(self._elsewhere.values()) < PATIENCE:
            return 0
        self._clock = weakref.ref(optimizer)
        return theirs


def compiling() -> bool:
    """Whether ``torch.compile`` only traces what is called now."""
    import torch

    return bool(torch.compiler.is_compiling())


def _is_filling(optimizer: Any, kwargs: Any) -> bool:
    """Whether it is the step at a rate of 0 by which ``torch.distributed.checkpoint`` has an optimizer make its state."""
    if kwargs.get("closure", _nothing) is not None:
        return False
    return all(group.get("lr", 0.0) == 0.0 for group in optimizer.param_groups)


def _is_whole(norm: Any) -> bool:
    """Whether this process has all of it, and not a part of what lies on several devices."""
    return type(norm).__name__ != "DTensor" or all(placement.is_replicate() for placement in norm.placements)


def _nothing() -> None:
    """A reference to an optimizer that is not there."""


def count_of(optimizer: Any) -> Any:
    """The steps that an optimizer counts in its state, as it keeps them: a number, or a tensor on some device. 0: it does not."""
    for state in optimizer.state.values():
        step = state.get("step") if isinstance(state, dict) else None
        if step is not None:
            return step
    return 0


steps: Final = Steps()
"""Those of this process."""
