"""Lightning: a callback of its Trainer, under both of its names (``lightning.pytorch`` and ``pytorch_lightning``).

::

    headway run -- python train.py                                  # each Trainer gets it by itself

    from headway.adapters.lightning import HeadwayCallback          # or say it, one line
    trainer = Trainer(..., callbacks=[HeadwayCallback()])

While ``fit`` runs, SIGTERM means "save at a step that all ranks agree on, and stop", in the place of Lightning's own handler,
which ends each rank at its own step, with nothing saved. Under Slurm's requeueing, Lightning's is left alone.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
import sys
import time
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About, Earlier, harmless
from headway.protocol.report import Unit
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="Lightning",
    framework="lightning",
    layer=Layer.TRAINER,
    steps="`trainer.global_step`, from the checkpoint's on when resuming; batches where optimization is manual and `max_steps` "
    "is not set. The sanity check counts as nothing, nor does a search for a learning rate or a batch size.",
    total="`trainer.estimated_stepping_batches`.",
    epochs="`trainer.current_epoch` and the part of it that is done, of `max_epochs`.",
    metrics="`loss` of each step, the mean of its micro-batches; `learning_rate`; what the module logs, each `log_every_n_steps` "
    "steps, and at the end of an epoch or a validation.",
    config="The module's hyperparameters; accumulation, precision and clipping.",
    checkpoints="Each `trainer.save_checkpoint`, as `ModelCheckpoint` calls it: step, seconds that training stood still, path.",
    directives='Saves `last-headway.ckpt` in the folder of `ModelCheckpoint`, where `ckpt_path="last"` finds it; '
    "`trainer.should_stop`.",
    by_hand="Trainer(..., callbacks=[HeadwayCallback()])",
)
CHECKPOINT: Final = "last-headway.ckpt"
"""What is saved when it is asked for: one file, the newest."""
_NAMES: Final = ("lightning.pytorch", "pytorch_lightning")


class _Listener:
    """What the callback does, apart from its base class."""

    def __init__(self) -> None:
        self._voice: Voice | None = None
        self._before = 0
        self._epochs_before = 0.0
        self._seen = 0
        self._batches = False
        """Batches are counted, not the optimizer's steps."""
        self._training = False
        self._rate: Any = None
        self._during: AbstractContextManager[None] | None = None
        self._evaluated: set[str] = set()
        """Names of metrics that validation logs."""
        self._trained: set[str] = set()
        """Names of all others."""
        self._each_step: set[str] = set()
        """Names of metrics that are logged of single steps."""

    @harmless
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage != "fit" or any(
            isinstance(other, _Listener) and other is not self for other in _before(self, trainer)
        ):
            return
        from headway.reporter.start import speak

        # Begun before Lightning takes SIGTERM over, so that it hands the signal back to the run when it has ended. It claims
        # the loop already: a search for a learning rate or a batch size trains before the training, without its callbacks.
        self._voice = speak(ABOUT.layer, framework=ABOUT.framework, config=_config(trainer, pl_module))
        trainer.save_checkpoint = functools.partial(self._save, trainer, type(trainer).save_checkpoint)

    @harmless
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self._voice is not None and stage == "fit":
            vars(trainer).pop("save_checkpoint", None)
            self._leave()
            self._voice.loop_ended()
            self._voice, self._training = None, False

    @harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._voice is None:
            return
        from headway.reporter.start import current_run, speak

        self._batches = not pl_module.automatic_optimization and trainer.max_steps == -1
        self._seen = self._number(trainer) - 1 if self._batches else trainer.global_step
        unit = Unit.BATCH if self._batches else Unit.OPTIMIZER_STEP
        self._training = True
        if not self._voice.numbered:
            self._voice.claims = False  # only now is it known what it counts, and from where: it is replaced
        voice = self._voice = speak(ABOUT.layer, start_step=self._seen, unit=unit)
        total, epochs = _plan(trainer, batches=self._batches)
        self._before, self._epochs_before = _earlier.begin(
            voice, start=self._seen, total=total, epoch=trainer.current_epoch
        )
        voice.set_total(None if total is None else self._before + total)
        voice.set_epoch(self._epochs_before + trainer.current_epoch, epochs and self._epochs_before + epochs)
        if current_run() is not None:
            _hand_back_sigterm()

    @harmless
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self._rate is None:
            self._rate = optimizer.param_groups[0].get("lr")  # the one of this step: the schedule is next

    @harmless
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if (voice := self._voice) is None:
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            parts = trainer.accumulate_grad_batches if pl_module.automatic_optimization else 1
            voice.note(loss=loss if parts == 1 else loss * parts)  # Lightning has divided it by their number
        number = self._number(trainer)
        if number == self._seen:
            return  # gradients are accumulated
        self._seen = number
        if trainer.num_training_batches != float("inf"):
            done = (batch_idx + 1) / trainer.num_training_batches
            voice.epoch = self._epochs_before + trainer.current_epoch + done
        metrics: dict[str, Any] = {} if self._rate is None else {"learning_rate": self._rate}
        self._rate = None
        if number % max(1, trainer.log_every_n_steps) == 0 and trainer.is_global_zero:
            logged = _of_step(trainer) or {}
            self._each_step |= set(logged)
            metrics |= {name: value for name, value in logged.items() if name != "loss"}
        voice.step(self._before + number, **metrics)
        if trainer.checkpoint_callback is not None and voice.should_checkpoint:
            trainer.save_checkpoint(os.path.join(_folder(trainer), CHECKPOINT))
        if voice.should_stop:
            trainer.should_stop = True

    @harmless
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._log_epoch(trainer)

    @harmless
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self._voice is not None and trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            self._voice.set_epoch(self._epochs_before + trainer.current_epoch + 1)

    @harmless
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._log_epoch(trainer)

    @harmless
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._voice is not None and not trainer.sanity_checking:
            self._trained = set(self._logged(trainer))
            self._during = self._voice.phase("eval")
            self._during.__enter__()

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._voice is None or trainer.sanity_checking:
            return
        self._leave()
        if trainer.is_global_zero:
            found = {name: value for name, value in trainer.callback_metrics.items() if name not in self._trained}
            self._evaluated |= set(found)
            self._voice.log(self._before + self._seen, **found)

    def _logged(self, trainer: Any) -> dict[str, Any]:
        return {name: value for name, value in trainer.callback_metrics.items() if name not in self._evaluated}

    def _log_epoch(self, trainer: Any) -> None:
        """Once Lightning has reduced them itself, for that is a collective call."""
        if self._voice is None or not self._seen or not trainer.is_global_zero:
            return
        said = {"loss", *self._each_step}
        if found := {name: value for name, value in self._logged(trainer).items() if name not in said}:
            self._voice.log(self._before + self._seen, **found)

    def _leave(self) -> None:
        during, self._during = self._during, None
        if during is not None:
            during.__exit__(None, None, None)

    def _number(self, trainer: Any) -> int:
        return int(trainer.fit_loop.total_batch_idx + 1 if self._batches else trainer.global_step)

    def _save(self, trainer: Any, original: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        """In the place of ``trainer.save_checkpoint`` while it fits."""
        began, voice = time.monotonic(), self._voice
        if voice is None or not self._training:
            return original(trainer, filepath, *args, **kwargs)
        with voice.phase("checkpoint"):
            result = original(trainer, filepath, *args, **kwargs)
        voice.checkpointed(self._before + self._number(trainer), seconds=time.monotonic() - began, path=filepath)
        return result


_earlier = Earlier()


def _before(callback: Any, trainer: Any) -> list[Any]:
    """The callbacks that come first."""
    found: list[Any] = trainer.callbacks
    return found[: next((index for index, each in enumerate(found) if each is callback), 0)]


def _plan(trainer: Any, *, batches: bool) -> tuple[int | None, float | None]:
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
def _of_step(trainer: Any) -> dict[str, Any]:
    """What the module has logged of the step that is complete; ``callback_metrics`` keep what was logged of an epoch, too."""
    found: dict[str, Any] = trainer._logger_connector.metrics["callback"]
    return found


def _folder(trainer: Any) -> str:
    callback = trainer.checkpoint_callback
    return getattr(callback, "dirpath", None) or os.path.join(trainer.default_root_dir, "checkpoints")


def _config(trainer: Any, module: Any) -> dict[str, Any]:
    asked = {"accumulate_grad_batches": trainer.accumulate_grad_batches, "precision": trainer.precision}
    clipping = {} if trainer.gradient_clip_val is None else {"gradient_clip_val": trainer.gradient_clip_val}
    return {**asked, **clipping, "model": type(module).__name__, **dict(getattr(module, "hparams", {}))}


def _hand_back_sigterm() -> None:
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


@functools.cache
def _callback(package: str) -> Any:
    base = importlib.import_module(package).Callback
    about = {"__doc__": "Reports every fit of a Trainer as this process's run.", "__module__": __name__}
    return type("HeadwayCallback", (_Listener, base), about)


def hook(module: ModuleType) -> None:
    """Gives every Trainer the callback, unless it has one: called with ``lightning.pytorch.trainer.trainer``, or its twin."""
    package = module.__name__.removesuffix(".trainer.trainer")
    original = module.Trainer.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not any(isinstance(each, _Listener) for each in self.callbacks):
            self.callbacks.insert(0, _callback(package)())

    module.Trainer.__init__ = init


if TYPE_CHECKING:
    from lightning.pytorch import Callback

    class HeadwayCallback(_Listener, Callback):  # type: ignore[misc]
        """Reports every fit of a Trainer as this process's run."""


def __getattr__(name: str) -> Any:
    if name == "HeadwayCallback":
        return _callback(next((each for each in _NAMES if each in sys.modules), _NAMES[0]))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
