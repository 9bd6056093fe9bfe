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
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About
from headway.adapters.lightning.listener import FRAMEWORK, LAYER, Listener

ABOUT: Final = About(
    title="Lightning",
    framework=FRAMEWORK,
    layer=LAYER,
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
_NAMES: Final = ("lightning.pytorch", "pytorch_lightning")


@functools.cache
def _callback(package: str) -> Any:
    base = importlib.import_module(package).Callback
    about = {"__doc__": "Reports every fit of a Trainer as this process's run.", "__module__": __name__}
    return type("HeadwayCallback", (Listener, base), about)


def hook(module: ModuleType) -> None:
    """Gives every Trainer the callback, unless it has one: called with ``lightning.pytorch.trainer.trainer``, or its twin."""
    package = module.__name__.removesuffix(".trainer.trainer")
    original = module.Trainer.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not any(isinstance(each, Listener) for each in self.callbacks):
            self.callbacks.insert(0, _callback(package)())

    module.Trainer.__init__ = init


if TYPE_CHECKING:
    from lightning.pytorch import Callback

    class HeadwayCallback(Listener, Callback):  # type: ignore[misc]
        """Reports every fit of a Trainer as this process's run."""


def __getattr__(name: str) -> Any:
    if name == "HeadwayCallback":
        return _callback(next((each for each in _NAMES if each in sys.modules), _NAMES[0]))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
