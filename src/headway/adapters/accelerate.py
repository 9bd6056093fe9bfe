"""Accelerate, in a loop of one's own: a tracker at its own extension point, and what an Accelerator sees by itself.

By itself the loss that goes through ``accelerator.backward``, what ``accelerator.log`` is told, and saves are reported. Or say
so, one line, which may tell the total too::

    from headway.adapters.accelerate import HeadwayTracker

    accelerator = Accelerator(log_with=HeadwayTracker(total_steps=10_000))
    accelerator.init_trackers("my-project", config={"learning_rate": 1e-3})

Steps are counted by the optimizer's hook either way. In a Trainer, which uses Accelerate, the Trainer is heard.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters import auto
from headway.adapters.base import About, harmless
from headway.reporter.slots import Layer
from headway.reporter.start import current_run, speak
from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="Accelerate",
    framework="accelerate",
    layer=Layer.LIBRARY,
    steps="Optimizer steps, counted by PyTorch's own hook: accumulation and steps that a `GradScaler` skips come out right.",
    total="What `HeadwayTracker(total_steps=…)` is told; else a progress bar around the loop, if there is one.",
    epochs="What `HeadwayTracker(total_epochs=…)` is told; else a progress bar over epochs.",
    metrics="`loss`: what `accelerator.backward` is given, the mean of a step's micro-batches; none where a step has several "
    "losses. `grad_norm` and `learning_rate` as in PyTorch. What `accelerator.log` is told, at the step that is complete then.",
    config="What `accelerator.init_trackers` is told.",
    checkpoints="`accelerator.save_state`: its step, the seconds that it took, and its folder.",
    directives="Ask `headway.current_run()` for `should_checkpoint` and `should_stop` in the loop.",
    by_hand="Accelerator(log_with=HeadwayTracker())",
)
_NO_METRICS: Final = frozenset({"epoch", "step"})
_OPTIMIZER: Final = "torch.optim.optimizer"


class _Ear:
    """What the Accelerators of this process do."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self._of: Any = None
        self._voice: Voice | None = None
        self._forget_losses()

    def _forget_losses(self) -> None:
        self._complete = False
        """The gradients of a step were, after the last loss."""
        self._synced = -1
        """Steps that were complete when the gradients of one were."""
        self._unclear = False

    def voice(self, **facts: Any) -> Voice:
        """The voice of this layer in the run that there is, which begins if there is none."""
        voice, run = self._voice, current_run()
        if run is not self._of:
            self._forget_losses()
        if voice is None or run is not self._of or facts:
            config = {**self.config, **facts.pop("config", {})}
            voice = speak(ABOUT.layer, framework=ABOUT.framework, claims=False, config=config, **facts)
            self._of, self._voice = current_run(), voice
        return voice

    @harmless
    def backward(self, accelerator: Any, loss: Any = None, **_: Any) -> None:
        """A loss goes backward; where a step has several that are no micro-batches, none of them is the step's."""
        voice = self.voice()
        if voice.muted or self._unclear:
            return
        if self._complete and accelerator.optimizer_step_was_skipped:
            voice.take_back("loss")
            self._synced = -1
        self._complete = accelerator.sync_gradients
        if self._complete:
            self._unclear = self._synced == voice.completed
            self._synced = voice.completed
        if self._unclear:
            voice.take_back("loss")
        else:
            voice.note(loss=loss)

    @harmless
    def log(self, accelerator: Any, values: dict[str, Any], *_: Any, **__: Any) -> None:
        """Values are logged; a tracker of ours hears them by itself, and where nothing trains yet nobody does."""
        if current_run() is not None and not any(each.name == _Tracker.name for each in accelerator.trackers):
            say(self.voice(), values)

    @harmless
    def init_trackers(
        self, accelerator: Any, project_name: str, config: dict[str, Any] | None = None, *_: Any, **__: Any
    ) -> None:
        """The configuration is known; it is told when the run begins."""
        self.config = dict(config or {})

    @harmless
    def saved(self, accelerator: Any, seconds: float, path: Any) -> None:
        """The state is saved."""
        if current_run() is not None and not (voice := self.voice()).muted:
            voice.checkpointed(seconds=seconds, path=path)


def say(voice: Voice, values: dict[str, Any]) -> None:
    """Logs what is a number, at the steps that are complete: some scripts number their logs by epochs, some by batches."""
    numbers = {name: each for name, each in values.items() if name not in _NO_METRICS and hasattr(each, "__float__")}
    if numbers and not voice.muted:
        voice.log(**numbers)


_ear = _Ear()


class _Tracker:
    """What the tracker does, apart from its base class.

    Args:
        total_steps: optimizer steps that the whole training takes.
        total_epochs: epochs that the whole training takes.
    """

    name = "headway"
    requires_logging_directory = False

    def __init__(self, total_steps: float | None = None, total_epochs: float | None = None) -> None:
        super().__init__()
        self._totals = {"total_steps": total_steps, "total_epochs": total_epochs}
        self._voice: Voice | None = None

    @property
    def tracker(self) -> Voice | None:
        return self._voice

    @harmless
    def start(self) -> None:
        self._voice = _ear.voice(**self._totals)
        if (module := sys.modules.get(_OPTIMIZER)) is not None:
            auto.call(auto.HOOKS[_OPTIMIZER], module)

    @harmless
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        _ear.voice(config=values)

    @harmless
    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        if self._voice is not None:
            say(self._voice, values)


@functools.cache
def _tracker() -> Any:
    from accelerate.tracking import GeneralTracker

    about = {"__doc__": "Reports what an Accelerator is told to log as this process's run.", "__module__": __name__}
    return type("HeadwayTracker", (_Tracker, GeneralTracker), about)


def hook(module: ModuleType) -> None:
    """Looks at what every Accelerator does: called with ``accelerate.accelerator``."""
    cls = module.Accelerator
    for name in ("backward", "log", "init_trackers"):
        setattr(cls, name, _before(getattr(cls, name), getattr(_ear, name)))
    cls.save_state = _timed(cls.save_state)


def _before(original: Callable[..., Any], look: Callable[..., None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        look(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    return method


def _timed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def save_state(self: Any, *args: Any, **kwargs: Any) -> Any:
        began = time.monotonic()
        path = original(self, *args, **kwargs)
        _ear.saved(self, time.monotonic() - began, path)
        return path

    return save_state


if TYPE_CHECKING:
    from accelerate.tracking import GeneralTracker

    class HeadwayTracker(_Tracker, GeneralTracker):  # type: ignore[misc]
        """Reports what an Accelerator is told to log as this process's run."""


def __getattr__(name: str) -> Any:
    if name == "HeadwayTracker":
        return _tracker()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
