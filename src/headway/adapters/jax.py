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
import os
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headway.adapters.base import About, Earlier, harmless
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
        self._paths = dict(_scalars(result)) or {"": ()}

    @harmless
    def _completed(self, voice: Voice, result: Any) -> None:
        metrics = {}
        try:
            for name, path in self._paths.items():
                if name:
                    metrics[name] = functools.reduce(_part, path, result)
            if self._rate is not None:
                metrics.setdefault("learning_rate", _Rate(self._rate, voice.last_step - self._before))
        finally:
            voice.step(**metrics)
        _saves.look()

    def _begin(self, arguments: tuple[Any, ...]) -> Voice:
        from headway.reporter.start import speak

        told = dict(self._told)
        start, total = told.pop("start_step"), told.pop("total_steps")
        if start is None:
            start, self._calls = divmod(_steps_of(arguments), self._each)
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


def _scalars(result: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Name and place of the scalars in what a step returns: of mappings, and of what lies in a tuple."""
    if isinstance(result, Mapping):
        for name, value in result.items():
            if isinstance(name, str) and _is_scalar(value):
                yield name, (*path, name)
    elif type(result) in (tuple, list):
        for index, value in enumerate(result):
            yield from _scalars(value, (*path, index))
    elif _is_scalar(result):
        yield "loss", path


def _traced(args: Any, kwargs: Any) -> bool:
    import jax

    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, kwargs))):
        return False
    log.warning("a step that is watched within jax.jit is not counted: watch what jax.jit gives")
    return True


def _part(whole: Any, key: Any) -> Any:
    return whole[key]


def _is_scalar(value: Any) -> bool:
    kind = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
    return getattr(value, "shape", ()) == () and kind.startswith(("float", "bfloat"))


@harmless
def _look_for_step(arguments: tuple[Any, ...]) -> int | None:
    for state in arguments:
        step: Any = state.get("step") if isinstance(state, Mapping) else getattr(state, "step", None)
        step = step.get_value() if hasattr(step, "get_value") else step  # a variable of nnx
        if step is not None and not callable(step) and getattr(step, "is_ready", _at_once)():
            return int(step)
    return None


def _at_once() -> bool:
    return True


def _steps_of(arguments: tuple[Any, ...]) -> int:
    return _look_for_step(arguments) or 0


class _Saves:
    """Saves of Orbax, which may go on behind the training."""

    def __init__(self) -> None:
        self._pending: list[tuple[Any, dict[str, Any]]] = []

    def add(self, manager: Any, step: int, seconds: float) -> None:
        self._pending.append(
            (manager, {"step": step, "seconds": seconds, "path": os.path.join(manager.directory, str(step))})
        )

    @harmless
    def look(self) -> None:
        """Reports what is complete by now."""
        if not self._pending or any(manager.is_saving_in_progress() for manager, _ in self._pending):
            return
        from headway.reporter.start import current_run

        pending, self._pending = self._pending, []
        run = current_run()
        for _, told in pending:
            if run is not None:
                run.checkpointed(**told)


_saves = _Saves()


def hook_orbax(module: ModuleType) -> None:
    """Notices what is saved: called with ``orbax.checkpoint.checkpoint_manager``."""
    cls = module.CheckpointManager
    save_before = cls.save

    @functools.wraps(save_before)
    def save(self: Any, step: int, *args: Any, **kwargs: Any) -> Any:
        _saves.look()
        began = time.monotonic()
        saved = save_before(self, step, *args, **kwargs)
        if saved:
            _saves.add(self, step, time.monotonic() - began)
            _saves.look()
        return saved

    cls.save = save
    for name in ("wait_until_finished", "close"):
        setattr(cls, name, _then_look(getattr(cls, name)))


def _then_look(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def looking(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        _saves.look()
        return result

    return looking


def hook_profiler(module: ModuleType) -> None:
    """Counts the steps that a loop marks for JAX's profiler: called with ``jax._src.profiler``."""
    cls = module.StepTraceAnnotation
    init_before, exit_before = cls.__init__, cls.__exit__

    @functools.wraps(init_before)
    def init(self: Any, name: str, **kwargs: Any) -> None:
        init_before(self, name, **kwargs)
        self.headway_step = kwargs.get("step_num") if name.startswith("train") else None

    def exits(self: Any, *error: Any) -> Any:
        result = exit_before(self, *error)
        if self.headway_step is not None and error[:1] in ((), (None,)):
            _marked(self.headway_step)
        return result

    cls.__init__, cls.__exit__ = init, exits


@harmless
def _marked(number: int) -> None:
    from headway.reporter.start import speak

    # The first number tells how a loop counts: 1 is the first step of one that begins with 1.
    voice = speak(ABOUT.layer, framework=ABOUT.framework, claims=False, start_step=number - (number == 1))
    voice.step()
    _saves.look()
