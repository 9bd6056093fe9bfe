"""Plain PyTorch, alone or under DDP, FSDP1 and FSDP2: counts the optimizer's own steps.

PyTorch calls a hook after every step of every optimizer. It gives steps, rate and learning rate with no change to a script, and
accumulation and the steps that a ``GradScaler`` skips come out right by nature. What no hook can know, a script says::

    from headway.adapters.torch import watch

    voice = watch(optimizer, total_steps=10_000)
    for batch in loader:
        loss = model(batch)
        loss.backward()
        voice.note(loss=loss)  # before the optimizer's step; several micro-batches count as their mean
        optimizer.step()

Where there are several optimizers, the first that steps is the clock. Under ``headway run`` the norm that ``clip_grad_norm_``
returns is noted as ``grad_norm``; not where it lies in parts on several devices, as under FSDP2 before PyTorch 2.13: there, on
every rank, ``voice.note(grad_norm=norm.full_tensor())``.
"""

from __future__ import annotations

import functools
import importlib
import os
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About
from headway.reporter.notices import log
from headway.reporter.scalars import Sample, Samples
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="PyTorch (DDP, FSDP1, FSDP2)",
    framework="pytorch",
    layer=Layer.OPTIMIZER,
    steps="Steps of the first optimizer that steps. A resumed one goes on from its own count, if it keeps one as Adam does, else "
    "from the `start_step` that `watch` is told. "
    "Steps that a `GradScaler` skips are none, but for those that a fused optimizer skips on a GPU. Steps within `torch.compile` "
    "are not seen: there, `headway.track()` and `run.step()`.",
    total="Only by `watch(optimizer, total_steps=…)`.",
    epochs="Only by `watch(…, total_epochs=…)` and `voice.set_epoch`.",
    metrics="`learning_rate`; `grad_norm` where `clip_grad_norm_` gives it whole (under FSDP2 with PyTorch 2.13), else by "
    "`voice.note(grad_norm=norm.full_tensor())`; `loss` by `voice.note(loss=loss)`, as the mean of a step's micro-batches.",
    config="As given to `watch`.",
    checkpoints="By `voice.checkpointed(seconds=…, path=…)`.",
    directives="The script asks `voice.should_checkpoint` and `voice.should_stop` after each step.",
    by_hand="voice = headway.adapters.torch.watch(optimizer, total_steps=10_000)",
)
_PATIENCE: Final = 50
"""Steps of another optimizer, with none of the clock's between, after which it is the clock: the first one's stage is over."""


class _Steps:
    """Listens to the optimizers of this process."""

    def __init__(self) -> None:
        self.hooked = self.clipping = False
        self._compiling = _compiling
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
        if _is_filling(optimizer, kwargs):
            self._filled = weakref.ref(optimizer)
            return
        try:
            if _is_skipped(optimizer):
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
            if self._norms:
                if len(self._norms) == 1:
                    self._note(self._norms[0])
                self._norms.clear()
            if self._elsewhere:
                self._elsewhere.clear()
            if not voice.muted:
                rate = optimizer.param_groups[0].get("lr")
                number = None if made == 1 else voice.last_step + made
                if rate is None:
                    voice.step(number)
                else:
                    voice.step(number, learning_rate=rate)
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("a step of an optimizer was not taken in: %r", error)

    def clipped(self, norm: Any) -> None:
        """The norm of gradients; whose, the next step of an optimizer tells."""
        placements = getattr(norm, "placements", ())
        if len(self._norms) < 2 and all(placement.is_replicate() for placement in placements):
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

    def _note(self, norm: Any) -> None:
        from headway.reporter.start import current_run

        if (run := current_run()) is not None:
            run.note(grad_norm=norm)

    def _skip(self) -> None:
        """A step came to nothing, and so did what is known of it."""
        self._norms.clear()
        if self.voice is not None:
            self.voice.discard()

    def _hand_over(self, optimizer: Any) -> int:
        """Steps that another optimizer has made as the clock; 0 as long as it is none."""
        theirs = self._elsewhere[id(optimizer)] = self._elsewhere.get(id(optimizer), 0) + 1
        if self._clock() is not None and sum(self._elsewhere.values()) < _PATIENCE:
            return 0
        self._clock = weakref.ref(optimizer)
        return theirs


def _compiling() -> bool:
    import torch

    return bool(torch.compiler.is_compiling())


def _is_filling(optimizer: Any, kwargs: Any) -> bool:
    """Whether it is the step at a rate of 0 by which ``torch.distributed.checkpoint`` has an optimizer make its state."""
    if not kwargs or kwargs.get("closure", _nothing) is not None:
        return False
    return all(group.get("lr", 0.0) == 0.0 for group in optimizer.param_groups)


def _is_skipped(optimizer: Any) -> bool:
    """Whether a ``GradScaler`` had a fused optimizer skip this step, within its own kernel. What a device found is not asked."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and found.is_cpu and bool(found)


def _nothing() -> None:
    """A reference to an optimizer that is not there."""


_steps = _Steps()


def watch(
    optimizer: Any,
    *,
    model: Any = None,
    total_steps: float | None = None,
    total_epochs: float | None = None,
    start_step: int | None = None,
    config: Any = None,
) -> Voice:
    """Counts the steps of an optimizer as those of this process's run, which it begins if there is none. Never raises.

    Args:
        optimizer: a ``torch.optim.Optimizer``, loaded from the checkpoint already when resuming.
        model: as it is trained, so that DDP is named among the job's facts; may be left out.
        total_steps: optimizer steps that the whole training takes, from its very beginning.
        total_epochs: epochs that the whole training takes.
        start_step: steps complete before; what the optimizer's own state says (Adam and its kin count), else 0, if left out.
            That may ask a device, here and only here.
        config: hyperparameters, as for :func:`headway.track`.

    Returns:
        What says the rest: ``voice.note(loss=…)`` before each step, ``voice.log`` of an evaluation, ``voice.checkpointed``.
    """
    from headway.reporter.start import speak

    try:
        hook(importlib.import_module("torch.optim.optimizer"))  # torch.optim hides the module behind the class
        if type(model).__name__ == "DistributedDataParallel":
            _steps.data_parallel = True
        framework = _steps.framework(optimizer)
        if start_step is None:
            start_step = _steps.steps_before(optimizer, float(count_of(optimizer)), 0)
    except Exception as error:  # noqa: BLE001 - never into training
        log.warning("this optimizer's steps are not counted: %r", error)
        framework = "pytorch"
    voice = speak(
        Layer.OPTIMIZER,
        framework=framework,
        start_step=start_step or 0,
        total_steps=total_steps,
        total_epochs=total_epochs,
        config=config,
    )
    _steps.begin(voice, optimizer)
    return voice


def count_of(optimizer: Any) -> Any:
    """The steps that an optimizer counts in its state, as it keeps them: a number, or a tensor on some device. 0: it does not."""
    for state in optimizer.state.values():
        step = state.get("step") if isinstance(state, dict) else None
        if step is not None:
            return step
    return 0


def hook(module: ModuleType) -> None:
    """Listens to all optimizers, once: called with ``torch.optim.optimizer``."""
    if not _steps.hooked:
        _steps.hooked = True
        module.register_optimizer_step_post_hook(_steps.stepped)


def hook_data_parallel(module: ModuleType) -> None:
    """Notices DDP: called with ``torch.nn.parallel.distributed``."""
    original = module.DistributedDataParallel.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _steps.data_parallel = True

    module.DistributedDataParallel.__init__ = init


def hook_clipping(module: ModuleType) -> None:
    """Notices the norms of gradients: called with ``torch.nn.utils.clip_grad``."""
    vars(module)["clip_grad_norm_"] = _noticing(module.clip_grad_norm_)


def hook_sharded(module: ModuleType) -> None:
    """The same for FSDP1: called with ``torch.distributed.fsdp.fully_sharded_data_parallel``."""
    cls = module.FullyShardedDataParallel
    cls.clip_grad_norm_ = _noticing(cls.clip_grad_norm_)


def _noticing(clip: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(clip)
    def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
        if _compiling() or _steps.clipping:
            return clip(*args, **kwargs)
        _steps.clipping = True  # one may call the other
        try:
            norm = clip(*args, **kwargs)
        finally:
            _steps.clipping = False
        _steps.clipped(norm)
        return norm

    return clip_grad_norm_
