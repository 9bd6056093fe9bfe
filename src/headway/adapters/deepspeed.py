"""DeepSpeed: counts an engine's own steps. Its monitors are told of a few numbers on rank 0 only, so its engine's methods tell.

::

    headway run -- deepspeed train.py                        # found by itself

    from headway.adapters.deepspeed import watch             # or, to say what an engine does not know
    voice = watch(engine, total_steps=10_000)

The first engine that is trained is the clock, where there are several.
"""

from __future__ import annotations

import functools
import os
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About, harmless
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="DeepSpeed",
    framework="deepspeed",
    layer=Layer.ENGINE,
    steps="`engine.global_steps` less `engine.skipped_steps`, for steps that overflowed are no progress. A resumed engine goes "
    "on from its checkpoint's count.",
    total="`total_num_steps` of DeepSpeed's own schedule of the learning rate, else by `watch(engine, total_steps=…)`.",
    epochs="By the engine's own data loader, where it has one.",
    metrics="`loss` as given to `engine.backward`, the mean of a step's micro-batches; `learning_rate`; `grad_norm` "
    "(`engine.get_global_grad_norm()`); `loss_scale` and `skipped_steps` with fp16.",
    config="Batch size, accumulation, ZeRO stage, precision and clipping.",
    checkpoints="Each `engine.save_checkpoint`: step, seconds that training stood still, path; a decoupled one when committed.",
    directives="The script asks `voice.should_checkpoint` and `voice.should_stop` of `watch(engine)` after each step.",
    by_hand="voice = headway.adapters.deepspeed.watch(engine, total_steps=10_000)",
)


class _Engine:
    """The engine whose steps are the run's."""

    def __init__(self) -> None:
        self.hooked: set[str] = set()
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """As if there were none."""
        self.voice: Voice | None = None
        self._run: Any = None
        self._clock: Callable[[], Any] = _nothing
        self._uncommitted: dict[str, Any] | None = None

    def voice_of(self, engine: Any, **told: Any) -> Voice | None:
        """The voice, if this is the engine that counts, which the first is that asks."""
        voice = self.voice
        if voice is not None and not voice.muted and not told and self._clock() is engine:
            return voice
        from headway.reporter.start import current_run, speak

        over = voice is not None and voice.muted and current_run() not in (None, self._run)
        if self._clock() is not None and not told and not over:
            return voice if self._clock() is engine else None

        schedule = getattr(engine, "lr_scheduler", None)
        if type(schedule).__module__.startswith("deepspeed."):
            told.setdefault("total_steps", getattr(schedule, "total_num_steps", None))
        self.voice = speak(
            Layer.ENGINE, framework=ABOUT.framework, start_step=_applied(engine), **{"config": _config(engine), **told}
        )
        self._clock, self._run = weakref.ref(engine), current_run()
        return self.voice

    @harmless
    def lost(self, engine: Any, loss: Any, *, scaled: bool) -> None:
        """Of each micro-batch: DeepSpeed divides its loss by the number of them, unless the caller has done so."""
        voice = self.voice_of(engine)
        if voice is not None and voice.heard:
            voice.note(loss=loss if scaled else loss.detach() * engine.gradient_accumulation_steps())

    @harmless
    def stepped(self, engine: Any, rate: Any) -> None:
        """After each step of the optimizer, also one that was skipped."""
        if (voice := self.voice_of(engine)) is None:
            return
        metrics = {"learning_rate": rate, "grad_norm": engine.get_global_grad_norm()}
        if engine.fp16_enabled():
            metrics["loss_scale"] = getattr(engine.optimizer, "loss_scale", None)
        metrics = {name: value for name, value in metrics.items() if value is not None}
        if not engine.was_step_applied():
            voice.discard()
            metrics.pop("grad_norm", None)
            voice.log(_applied(engine), skipped_steps=engine.skipped_steps, **metrics)
            return
        if not voice.heard and "grad_norm" in metrics:
            voice.note(grad_norm=metrics["grad_norm"])  # whoever is heard may not know it
        loader = engine.training_dataloader
        if loader is not None and len(loader):
            voice.set_epoch(engine.global_steps * engine.gradient_accumulation_steps() / len(loader))
        voice.step(_applied(engine), **metrics)
        if self._uncommitted is not None:
            saved, self._uncommitted = self._uncommitted, None
            voice.checkpointed(**saved)

    @harmless
    def saved(self, engine: Any, seconds: float, path: str) -> None:
        """After each save; what a decoupled one wrote is committed before the next step."""
        voice = self.voice_of(engine)
        if voice is None:
            return
        told: dict[str, Any] = {"step": _applied(engine), "seconds": seconds, "path": path}
        if engine.checkpoint_engine.is_decoupled():
            self._uncommitted = told
        else:
            voice.checkpointed(**told)


def _nothing() -> None:
    """A reference to an engine that is not there."""


_engine = _Engine()


def watch(
    engine: Any, *, total_steps: float | None = None, total_epochs: float | None = None, config: Any = None
) -> Voice:
    """The voice that counts an engine's steps, begun now instead of with its first one.

    Args:
        engine: what ``deepspeed.initialize`` gave, after ``load_checkpoint`` when resuming.
        total_steps: steps that the whole training takes; the schedule's, if it is DeepSpeed's own, if left out.
        total_epochs: epochs that the whole training takes.
        config: hyperparameters, as for :func:`headway.track`; the engine's own, if left out.
    """
    import deepspeed.runtime.engine
    import deepspeed.runtime.pipe.engine

    hook(deepspeed.runtime.engine)
    hook_pipeline(deepspeed.runtime.pipe.engine)
    told: dict[str, Any] = {"total_epochs": total_epochs}
    if total_steps is not None:
        told["total_steps"] = total_steps
    if config is not None:
        told["config"] = config
    voice = _engine.voice_of(engine, **told)
    assert voice is not None  # noqa: S101 - whoever is told of is the one that counts
    return voice


def hook(module: ModuleType) -> None:
    """Listens to all engines, once: called with ``deepspeed.runtime.engine``."""
    if module.__name__ in _engine.hooked:
        return
    _engine.hooked.add(module.__name__)
    cls = module.DeepSpeedEngine
    step_before, backward_before, save_before = cls.step, cls.backward, cls.save_checkpoint

    @functools.wraps(backward_before)
    def backward(self: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        result = backward_before(self, loss, *args, **kwargs)
        _engine.lost(self, loss, scaled=kwargs.get("scale_wrt_gas", args[1] if len(args) > 1 else True))
        return result

    @functools.wraps(step_before)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, rate = self.global_steps, _rate(self)
        result = step_before(self, *args, **kwargs)
        if self.global_steps != before:
            _engine.stepped(self, rate)
        return result

    @functools.wraps(save_before)
    def save_checkpoint(self: Any, save_dir: Any, tag: Any = None, *args: Any, **kwargs: Any) -> Any:
        began = time.monotonic()
        result = save_before(self, save_dir, tag, *args, **kwargs)
        path = os.path.join(save_dir, f"global_step{self.global_steps}" if tag is None else str(tag))
        _engine.saved(self, time.monotonic() - began, path)
        return result

    cls.backward, cls.step, cls.save_checkpoint = backward, step, save_checkpoint


def hook_pipeline(module: ModuleType) -> None:
    """The same for pipelines, which take a whole batch at a time: called with ``deepspeed.runtime.pipe.engine``."""
    if module.__name__ in _engine.hooked:
        return
    _engine.hooked.add(module.__name__)
    before = module.PipelineEngine.train_batch

    @functools.wraps(before)
    def train_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        rate = _rate(self)
        loss = before(self, *args, **kwargs)
        _engine.lost(self, loss, scaled=True)
        _engine.stepped(self, rate)
        return loss

    module.PipelineEngine.train_batch = train_batch


def _applied(engine: Any) -> int:
    return int(engine.global_steps - engine.skipped_steps)


@harmless
def _rate(engine: Any) -> Any:
    return engine.optimizer.param_groups[0].get("lr")


def _config(engine: Any) -> dict[str, Any]:
    precision = "fp16" if engine.fp16_enabled() else "bf16" if engine.bfloat16_enabled() else "fp32"
    return {
        "train_batch_size": engine.train_batch_size(),
        "gradient_accumulation_steps": engine.gradient_accumulation_steps(),
        "zero_stage": int(engine.zero_optimization_stage()),
        "precision": precision,
        "gradient_clipping": engine.gradient_clipping(),
    }
