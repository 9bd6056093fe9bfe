"""Transformers' Trainer, and everything built on it: a callback at the Trainer's own extension point.

By itself each Trainer has it. Or say so, one line::

    from headway.adapters.transformers import HeadwayCallback

    trainer = Trainer(..., callbacks=[HeadwayCallback()])

It takes the place of Transformers' own callback for Kubeflow, so nothing is sent twice, and never from the training thread.
"""

from __future__ import annotations

import functools
import os
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About, Earlier, Span, dialect_of, harmless, telling
from headway.reporter.settings import Settings
from headway.reporter.slots import Layer
from headway.reporter.start import speak
from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="Transformers",
    framework="transformers",
    layer=Layer.TRAINER,
    steps="Optimizer steps: `state.global_step`, from the checkpoint's on when resuming.",
    total="`state.max_steps`.",
    epochs="`state.epoch`, of `num_train_epochs` where `max_steps` does not rule.",
    metrics="With each step its `learning_rate` and its `loss`, before `logging_nan_inf_filter`. All else that the Trainer logs, "
    "when it logs it: `grad_norm`, `eval_…`. On several ranks `loss` is rank 0's own part, and `loss/all_ranks` what the Trainer "
    "logs as the mean.",
    config="The training arguments that differ from their defaults, and the common ones; no tokens. The model's class.",
    checkpoints="Each save, with its step, the seconds that it held training up, and its folder.",
    directives="`control.should_save`, `control.should_training_stop`.",
    by_hand="Trainer(..., callbacks=[HeadwayCallback()])",
)
_COMMON: Final = (
    *(
        "learning_rate",
        "lr_scheduler_type",
        "warmup_steps",
        "weight_decay",
        "max_grad_norm",
        "optim",
        "seed",
        "bf16",
        "fp16",
    ),
    *("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps"),
)
"""Arguments that are always shown."""
_OF_ALL: Final = "loss/all_ranks"
_NO_METRICS: Final = frozenset({"epoch", "step", "total_flos"})
_TIMINGS: Final = ("_runtime", "_per_second")


class _Listener:
    """What the callback does, apart from its base class."""

    heard: _Listener | None = None
    """The one that speaks for the Trainer whose loop runs."""

    def __init__(self) -> None:
        self._voice: Voice | None = None
        self._state: Any = None
        self._before = 0
        self._epochs_before = 0.0
        self._span = Span()
        self._since = time.monotonic()
        self._loss: Any = None
        self._rate: Any = None
        self._carried: frozenset[str] = frozenset()
        if not Settings.from_env().disabled:
            _take_over()

    @harmless
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        other = _Listener.heard
        if other is not None and other is not self and other._state is state:
            return  # both by itself and by hand: once is enough
        dialect = dialect_of(type(args), "transformers")
        voice = self._voice = speak(
            ABOUT.layer,
            framework=dialect.framework,
            start_step=state.global_step,
            config=_config(args, model),
            metrics={_OF_ALL: "min", **dialect.metrics} if args.world_size > 1 else dialect.metrics,
        )
        self._before, self._epochs_before = _earlier.begin(
            voice, start=state.global_step, total=state.max_steps, epoch=state.epoch or 0.0
        )
        self._state, _Listener.heard = state, self
        self._loss = self._rate = None
        # Of a search over trials nobody knows how many trainings follow.
        known = state.max_steps > 0 and not state.is_hyper_param_search
        voice.set_total(self._before + state.max_steps if known else None)
        planned = None if args.max_steps > 0 else self._epochs_before + args.num_train_epochs
        voice.set_epoch(self._epochs_before + (state.epoch or 0.0), planned)
        self._since = time.monotonic()

    @harmless
    def on_optimizer_step(self, args: Any, state: Any, control: Any, optimizer: Any = None, **_: Any) -> None:
        self._rate = optimizer.param_groups[0].get("lr")  # the one that this step was made with: the schedule is next

    @harmless
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if (voice := self._training(state)) is None:
            return None
        if state.epoch is not None:
            voice.epoch = self._epochs_before + state.epoch
        values = {"loss": self._loss, "learning_rate": self._rate}
        values = {name: value for name, value in values.items() if value is not None}
        self._carried = frozenset((*values, *voice.noted))
        self._loss = self._rate = None
        voice.step(self._before + state.global_step, **values)
        if voice.should_checkpoint:
            control.should_save = True
        if voice.should_stop:
            control.should_training_stop = True
            control.should_save = control.should_save or args.save_strategy != "no"
        self._turn(control)
        return control

    @harmless
    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if (voice := self._voice) is None or self._state is not state or not logs or "train_runtime" in logs:
            return
        left_out = _NO_METRICS | self._carried
        metrics = {
            name: value
            for name, value in logs.items()
            if name not in left_out and not name.endswith(_TIMINGS) and not isinstance(value, str)
        }
        if "loss" in logs and "loss" in self._carried and args.world_size > 1:
            metrics[_OF_ALL] = logs["loss"]
        voice.log(self._before + state.global_step, **metrics)
        self._since = time.monotonic()

    @harmless
    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._training(state) is not None:
            self._turn(control)

    @harmless
    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self._span and self._training(state) is not None:
            self._enter("eval")

    @harmless
    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._training(state) is not None:
            self._turn(control)

    @harmless
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if (voice := self._training(state)) is None:
            return
        path = None if state.is_hyper_param_search else os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        voice.checkpointed(self._before + state.global_step, seconds=time.monotonic() - self._since, path=path)
        self._leave()

    @harmless
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if (voice := self._training(state)) is not None:
            self._leave()
            _Listener.heard = None
            voice.loop_ended()

    def saw(self, loss: Any) -> None:
        """The part of a step's loss that comes from one micro-batch; it stays on its device."""
        if self._voice is not None and not self._voice.muted:
            self._loss = loss if self._loss is None else self._loss + loss

    def _training(self, state: Any) -> Voice | None:
        return self._voice if _Listener.heard is self and self._state is state else None

    def _turn(self, control: Any) -> None:
        """From here on the Trainer does what its flags say: it evaluates, then it saves."""
        self._leave()
        if control.should_evaluate:
            self._enter("eval")
        elif control.should_save:
            self._enter("checkpoint")

    def _enter(self, phase: str) -> None:
        if self._voice is not None:
            self._span.begin(self._voice, phase)

    def _leave(self) -> None:
        self._span.end()
        self._since = time.monotonic()


_earlier = Earlier()


def _config(args: Any, model: Any) -> dict[str, Any]:
    config = {**telling(args, _COMMON), "model": type(model).__name__}
    del config["num_train_epochs" if args.max_steps > 0 else "max_steps"]
    return config


@functools.cache
def _callback() -> Any:
    from transformers.trainer_callback import TrainerCallback

    about = {"__doc__": "Reports every training of a Trainer as this process's run.", "__module__": __name__}
    return type("HeadwayCallback", (_Listener, TrainerCallback), about)


@functools.cache
@harmless
def _take_over() -> None:
    """Once a callback of ours is there: Transformers' own for Kubeflow is quiet, and losses are seen as they are."""
    from transformers.integrations import integration_utils
    from transformers.trainer import Trainer

    if (stock := getattr(integration_utils, "KubeflowCallback", None)) is not None:  # it is there from version 5 on
        stock._update_status = lambda self, *args, **kwargs: False
    original = Trainer.training_step

    @functools.wraps(original)
    def training_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss = original(self, *args, **kwargs)
        if _Listener.heard is not None:
            _Listener.heard.saw(loss)
        return loss

    Trainer.training_step = training_step


def hook(module: ModuleType) -> None:
    """Gives every Trainer the callback: called with ``transformers.trainer``."""
    # Of a class of its own: Transformers warns of two callbacks of one class.
    module.DEFAULT_CALLBACKS.append(type("HeadwayCallback", (_callback(),), {"__doc__": _callback().__doc__}))


if TYPE_CHECKING:
    from transformers.trainer_callback import TrainerCallback

    class HeadwayCallback(_Listener, TrainerCallback):  # type: ignore[misc]
        """Reports every training of a Trainer as this process's run."""


def __getattr__(name: str) -> Any:
    if name == "HeadwayCallback":
        return _callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
