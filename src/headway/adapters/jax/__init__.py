"""JAX, with Flax and Optax or without: a loop is plain Python, so it says what its step is.

::

    from headway.adapters.jax import watch

    train_step = watch(jax.jit(train_step), total_steps=10_000, learning_rate=schedule)
    for batch in batches:
        state, metrics = train_step(state, batch)      # one call, one step

Nothing waits for a device: a call returns as soon as JAX has dispatched it, and the values are read by the reporter's own thread
when they are there. With no change to a script, under ``headway run``: the steps of a loop that marks them for JAX's profiler
(``jax.profiler.StepTraceAnnotation("train", step_num=…)``), and what Orbax saves.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headway.adapters.base import About, Earlier, harmless
from headway.adapters.jax.orbax import saves
from headway.adapters.jax.results import part, scalars, steps_of
from headway.reporter.notices import log
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="JAX (Flax, Optax)",
    framework="jax",
    layer=Layer.LIBRARY,
    steps="Calls of the watched step (every `accumulation`-th, where gradients accumulate), after the `step` of the first state "
    "that it is given; else what "
    '`jax.profiler.StepTraceAnnotation("train…", step_num=…)` marks.',
    total="Only by `watch(train_step, total_steps=…)`.",
    epochs="Only by `watch(…, total_epochs=…)` and `voice.set_epoch`.",
    metrics="The scalars that a step returns: those of a dict by their names, one that has none as `loss`; `learning_rate` by a "
    "schedule of Optax. A few of them in a second, each as it was.",
    config="As given to `watch`.",
    checkpoints="Each save of Orbax's `CheckpointManager`: its step, the seconds that the call took, its folder; once complete.",
    directives="The script asks `train_step.voice.should_checkpoint` and `.should_stop` after each step.",
    by_hand="train_step = headway.adapters.jax.watch(jax.jit(train_step), total_steps=10_000)",
)


_LOOK_EVERY: Final = 0.1
"""Seconds between two looks at values, which are on a device and sampled only."""


class _Rate(NamedTuple):
    """The learning rate of a step: asked for by the reporter's thread, if at all."""

    schedule: Callable[[int], Any]
    updates: int

    def __float__(self) -> float:
        return float(self.schedule(self.updates))


_earlier = Earlier()


class Watched:
    """A training step, and the voice that counts its calls. All else is the step's own."""

    def __init__(
        self,
        step: Callable[..., Any],
        learning_rate: Callable[[int], Any] | None,
        accumulation: int,
        told: dict[str, Any],
    ) -> None:
        functools.update_wrapper(self, step, updated=())
        self._step, self._rate, self._told = step, learning_rate, told
        self._each, self._calls = max(1, accumulation), 0
        self._voice: Voice | None = None
        self._paths: dict[str, tuple[Any, ...]] = {}
        self._next = 0.0
        self._before = 0

    @property
    def voice(self) -> Voice:
        """What says the rest: ``log`` of an evaluation, ``checkpointed``, ``should_stop``. Begins the run."""
        return self._voice or self._begin(())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One step, as it is; then it is counted."""
        voice = self._voice
        if voice is None or not self._paths:  # the first call traces and compiles
            if _traced(args, kwargs):
                return self._step(*args, **kwargs)
            with (voice or self._begin((*args, *kwargs.values()))).phase("compile"):
                result = self._step(*args, **kwargs)
            self._look_at(result)
            voice = self.voice
        else:
            result = self._step(*args, **kwargs)
        if self._each > 1:
            self._calls += 1
            if self._calls % self._each:
                return result
        now = time.monotonic()
        if now < self._next:
            voice.step()
        else:
            self._next = now + _LOOK_EVERY
            self._completed(voice, result)
        return result

    @harmless
    def _look_at(self, result: Any) -> None:
        self._paths = dict(scalars(result)) or {"": ()}

    @harmless
    def _completed(self, voice: Voice, result: Any) -> None:
        metrics = {}
        try:
            for name, path in self._paths.items():
                if name:
                    metrics[name] = functools.reduce(part, path, result)
            if self._rate is not None:
                metrics.setdefault("learning_rate", _Rate(self._rate, voice.last_step - self._before))
        finally:
            voice.step(**metrics)
        saves.look()

    def _begin(self, arguments: tuple[Any, ...]) -> Voice:
        from headway.reporter.start import speak

        told = dict(self._told)
        start, total = told.pop("start_step"), told.pop("total_steps")
        if start is None:
            start, self._calls = divmod(steps_of(arguments), self._each)
        voice = self._voice = speak(ABOUT.layer, framework=ABOUT.framework, start_step=start, **told)
        self._before, _ = _earlier.begin(voice, start=start, total=total)
        voice.set_total(total and self._before + total)
        return voice


def watch(
    step: Callable[..., Any],
    *,
    total_steps: float | None = None,
    total_epochs: float | None = None,
    start_step: int | None = None,
    learning_rate: Callable[[int], Any] | None = None,
    accumulation: int = 1,
    config: Any = None,
) -> Watched:
    """A training step whose calls are counted as the steps of this process's run.

    Args:
        step: one step of the training, jitted already: what it returns is looked through for scalars.
        total_steps: steps that the whole training takes, from its very beginning.
        total_epochs: epochs that the whole training takes.
        start_step: steps complete before; if left out, the ``step`` of the first state that is given to it (Flax's
            ``TrainState``, ``nnx.Optimizer``), else 0.
        learning_rate: a schedule, from updates made to the rate of the next; the reporter's thread asks it.
        accumulation: calls that make one step of the optimizer, as under ``optax.MultiSteps``.
        config: hyperparameters, as for :func:`headway.track`.
    """
    told = {"total_steps": total_steps, "total_epochs": total_epochs, "start_step": start_step, "config": config}
    return Watched(step, learning_rate, accumulation, told)


def _traced(args: Any, kwargs: Any) -> bool:
    import jax

    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, kwargs))):
        return False
    log.warning("a step that is watched within jax.jit is not counted: watch what jax.jit gives")
    return True
