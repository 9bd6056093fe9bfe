"""What is read from a Trainer, and the one thing that is taken from it: SIGTERM."""

from __future__ import annotations

import os
import signal
from typing import Any

from headway.adapters.base import harmless


def callbacks_before(callback: Any, trainer: Any) -> list[Any]:
    """The callbacks of a trainer that come before one."""
    found: list[Any] = trainer.callbacks
    return found[: next((index for index, each in enumerate(found) if each is callback), 0)]


def plan_of(trainer: Any, *, batches: bool) -> tuple[int | None, float | None]:
    """Steps, and epochs if they are what ends the training."""
    epochs = trainer.max_epochs if trainer.max_epochs not in (None, -1) else None
    per_epoch = trainer.num_training_batches
    if batches:
        return (None if epochs is None or per_epoch == float("inf") else int(per_epoch * epochs)), epochs
    total = trainer.estimated_stepping_batches
    if total in (float("inf"), -1):
        return None, epochs
    ruled = trainer.max_steps != -1 and trainer.max_steps <= total
    return int(total), None if ruled else epochs


@harmless
def logged_of_step(trainer: Any) -> dict[str, Any]:
    """What the module has logged of the step that is complete; ``callback_metrics`` keep what was logged of an epoch, too."""
    found: dict[str, Any] = trainer._logger_connector.metrics["callback"]
    return found


def folder_of(trainer: Any) -> str:
    """Where its checkpoints lie."""
    callback = trainer.checkpoint_callback
    return getattr(callback, "dirpath", None) or os.path.join(trainer.default_root_dir, "checkpoints")


def config_of(trainer: Any, module: Any) -> dict[str, Any]:
    """Hyperparameters: the trainer's, and those that the module has saved."""
    asked = {"accumulate_grad_batches": trainer.accumulate_grad_batches, "precision": trainer.precision}
    clipping = {} if trainer.gradient_clip_val is None else {"gradient_clip_val": trainer.gradient_clip_val}
    return {**asked, **clipping, "model": type(module).__name__, **dict(getattr(module, "hparams", {}))}


def hand_back_sigterm() -> None:
    """Leaves SIGTERM to those who had it before Lightning: it would end this rank alone, with nothing saved."""
    handler = signal.getsignal(signal.SIGTERM)
    handlers = getattr(handler, "signal_handlers", None)
    if not isinstance(handlers, list) or any(
        getattr(each, "__name__", "") == "_sigterm_handler_fn" for each in handlers
    ):
        return
    kept = [each for each in handlers if getattr(each, "__name__", "") != "_sigterm_notifier_fn"]
    try:
        signal.signal(signal.SIGTERM, kept[0] if len(kept) == 1 else handler if kept else signal.SIG_DFL)
        handlers[:] = kept
    except ValueError:
        pass  # not on the main thread: where Lightning has put no handler either
