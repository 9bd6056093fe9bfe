"""What the callback does, hook by hook, apart from its base class: that is of one of Lightning's two packages."""

from __future__ import annotations

import functools
import os
import time
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import Earlier, Span, harmless
from headway.adapters.lightning.trainer import (
    callbacks_before,
    config_of,
    folder_of,
    hand_back_sigterm,
    logged_of_step,
    plan_of,
)
from headway.protocol.report import Unit
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

FRAMEWORK: Final = "lightning"
LAYER: Final = Layer.TRAINER
CHECKPOINT: Final = "last-headway.ckpt"
"""What is saved when it is asked for: one file, the newest."""
_earlier = Earlier()


class Listener:
    """What the callback does, apart from its base class."""

    def __init__(self) -> None:
        self._voice: Voice | None = None
        self._before = 0
        self._epochs_before = 0.0
        self._seen = 0
        self._batches = False
        """Batches are counted, not the optimizer's steps."""
        self._training = False
        self._saves = False
        """The trainer keeps checkpoints."""
        self._rate: Any = None
        self._span = Span()
        self._evaluated: set[str] = set()
        """Names of metrics that validation logs."""
        self._trained: set[str] = set()
        """Names of all others."""
        self._each_step: set[str] = set()
        """Names of metrics that are logged of single steps."""

    @harmless
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Begins the run, and listens to saves."""
        if stage != "fit" or any(
            isinstance(other, Listener) and other is not self for other in callbacks_before(self, trainer)
        ):
            return
        from headway.reporter.start import speak

        # Begun before Lightning takes SIGTERM over, so that it hands the signal back to the run when it has ended. It claims
        # the loop already: a search for a learning rate or a batch size trains before the training, without its callbacks.
        self._voice = speak(LAYER, framework=FRAMEWORK, config=config_of(trainer, pl_module))
        trainer.save_checkpoint = functools.partial(self._save, trainer, type(trainer).save_checkpoint)

    @harmless
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """The fit is over, with an error or without."""
        if self._voice is not None and stage == "fit":
            vars(trainer).pop("save_checkpoint", None)
            self._span.end()
            self._voice.loop_ended()
            self._voice, self._training = None, False

    @harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Now it is known what is counted, from where and how far."""
        if self._voice is None:
            return
        from headway.reporter.start import current_run, speak

        self._batches = not pl_module.automatic_optimization and trainer.max_steps == -1
        self._seen = self._number(trainer) - 1 if self._batches else trainer.global_step
        unit = Unit.BATCH if self._batches else Unit.OPTIMIZER_STEP
        self._saves = trainer.checkpoint_callback is not None
        self._training = True
        if not self._voice.numbered:
            self._voice.claims = False  # only now is it known what it counts, and from where: it is replaced
        voice = self._voice = speak(LAYER, start_step=self._seen, unit=unit)
        total, epochs = plan_of(trainer, batches=self._batches)
        self._before, self._epochs_before = _earlier.begin(
            voice, start=self._seen, total=total, epoch=trainer.current_epoch
        )
        voice.set_total(None if total is None else self._before + total)
        voice.set_epoch(self._epochs_before + trainer.current_epoch, epochs and self._epochs_before + epochs)
        if current_run() is not None:
            hand_back_sigterm()

    @harmless
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Notes the learning rate."""
        if self._rate is None:
            self._rate = optimizer.param_groups[0].get("lr")  # the one of this step: the schedule is next

    @harmless
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Counts a step once its gradients are complete, and does what is asked of the run."""
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
            logged = logged_of_step(trainer) or {}
            self._each_step |= set(logged)
            metrics |= {name: value for name, value in logged.items() if name != "loss"}
        voice.step(self._before + number, **metrics)
        if self._saves and voice.should_checkpoint:
            trainer.save_checkpoint(os.path.join(folder_of(trainer), CHECKPOINT))
        if voice.should_stop:
            trainer.should_stop = True

    @harmless
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """What was logged of the epoch before is reduced by now."""
        self._log_epoch(trainer)

    @harmless
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """One more epoch is done."""
        if self._voice is not None and trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            self._voice.set_epoch(self._epochs_before + trainer.current_epoch + 1)

    @harmless
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """What was logged of the last epoch is reduced by now."""
        self._log_epoch(trainer)

    @harmless
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Announces the evaluation, so that it is not taken for a stall."""
        if self._voice is not None and not trainer.sanity_checking:
            self._trained = set(self._logged(trainer))
            self._span.begin(self._voice, "eval")

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Tells what the evaluation has logged."""
        if self._voice is None or trainer.sanity_checking:
            return
        self._span.end()
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
