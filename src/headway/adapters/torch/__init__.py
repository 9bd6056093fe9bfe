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
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About
from headway.adapters.torch.stepping import count_of, steps
from headway.reporter.notices import log
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="PyTorch (DDP, FSDP1, FSDP2)",
    framework="pytorch",
    layer=Layer.OPTIMIZER,
    steps="Steps of the first optimizer that steps. A resumed one goes on from its own count, if it keeps one as Adam does, else "
    "from the `start_step` that `watch` is told. "
    "Steps that a `GradScaler` skips are none, but for those that a fused optimizer skips on a GPU. A compiled model makes no "
    "difference; a call of `optimizer.step` that is compiled itself is not seen: there, `headway.track()` and `run.step()`.",
    total="Only by `watch(optimizer, total_steps=…)`.",
    epochs="Only by `watch(…, total_epochs=…)` and `voice.set_epoch`.",
    metrics="`learning_rate`; `grad_norm` where `clip_grad_norm_` gives it whole (under FSDP2 with PyTorch 2.13), else by "
    "`voice.note(grad_norm=norm.full_tensor())`; `loss` by `voice.note(loss=loss)`, as the mean of a step's micro-batches.",
    config="As given to `watch`.",
    checkpoints="By `voice.checkpointed(seconds=…, path=…)`.",
    directives="The script asks `voice.should_checkpoint` and `voice.should_stop` after each step.",
    by_hand="voice = headway.adapters.torch.watch(optimizer, total_steps=10_000)",
)


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
            steps.data_parallel = True
        framework = steps.framework(optimizer)
        if start_step is None:
            start_step = steps.steps_before(optimizer, float(count_of(optimizer)), 0)
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
    steps.begin(voice, optimizer)
    return voice


def hook(module: ModuleType) -> None:
    """Listens to all optimizers, once: called with ``torch.optim.optimizer``."""
    if not steps.hooked:
        steps.hooked = True
        module.register_optimizer_step_post_hook(steps.stepped)


def hook_data_parallel(module: ModuleType) -> None:
    """Notices DDP: called with ``torch.nn.parallel.distributed``."""
    original = module.DistributedDataParallel.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        steps.data_parallel = True

    module.DistributedDataParallel.__init__ = init
