"""XGBoost: a callback of its training, for ``xgboost.train`` and for the classes that follow scikit-learn.

::

    headway run -- python train.py                                   # each training gets it by itself

    from headway.adapters.xgboost import HeadwayCallback             # or say it, one line
    xgboost.train(params, data, 500, callbacks=[HeadwayCallback(500)])
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About, Earlier, harmless
from headway.protocol.report import Unit
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="XGBoost",
    framework="xgboost",
    layer=Layer.LIBRARY,
    steps="Boosting rounds of `xgboost.train` and of scikit-learn's classes, after those of the model that is given as "
    "`xgb_model`. Not those of `xgboost.cv`, nor of `Booster.update` called in a loop of one's own.",
    total="`num_boost_round`, and the rounds of that model.",
    epochs="None.",
    metrics="What is evaluated after each round, by XGBoost's own names: `train-rmse`.",
    config="The parameters of the training.",
    checkpoints="Each `Booster.save_model`, as `TrainingCheckPoint` calls it: rounds, seconds that training stood still, path.",
    directives="Stops after the round, with the model as it is. Not where several processes train one model: XGBoost's tracker "
    "has no place where they could agree on a round, and one that stops alone leaves the others waiting. There, `headway stop` "
    "and SIGTERM end them at once; `TrainingCheckPoint` keeps what was made.",
    by_hand="xgboost.train(params, data, 500, callbacks=[HeadwayCallback(500)])",
)
_BETTER_UP: Final = ("auc", "aucpr", "map", "ndcg", "pre")
_BETTER_DOWN: Final = (
    *("rmse", "rmsle", "mae", "mape", "mphe", "logloss", "error", "merror", "mlogloss", "quantile", "cox-nloglik"),
    *("poisson-nloglik", "gamma-nloglik", "gamma-deviance", "tweedie-nloglik", "aft-nloglik"),
)


class _Listener:
    """What the callback does, apart from its base class.

    Args:
        num_boost_round: rounds that this training adds; found out if the training was begun after Headway's hooks.
        params: its parameters, for the job's description.
    """

    def __init__(self, num_boost_round: int | None = None, params: Any = None) -> None:
        super().__init__()
        self.num_boost_round = num_boost_round
        self.params = params
        self._voice: Voice | None = None
        self._start = self._before = 0
        self._alone = True

    def before_training(self, model: Any) -> Any:
        """Begins the run, or goes on in it."""
        self._begin(model)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Says of one round; True where the training is asked to stop."""
        return self._complete(epoch, evals_log) or False

    def after_training(self, model: Any) -> Any:
        """From here on nobody asks any more whether to stop."""
        if self._voice is not None:
            self._voice.loop_ended()
        return model

    @harmless
    def _begin(self, model: Any) -> None:
        import xgboost

        from headway.reporter.start import speak

        if not isinstance(model, xgboost.Booster):
            return  # cross-validation: several models at a time
        world = xgboost.collective.get_world_size()  # known to this thread only
        self._alone = world == 1
        self._start = model.num_boosted_rounds()
        config = _config(self.params, self.num_boost_round)
        voice = self._voice = speak(
            ABOUT.layer,
            framework=ABOUT.framework,
            start_step=self._start,
            unit=Unit.TREE,
            config=config,
            place=None if self._alone else (xgboost.collective.get_rank(), world),
        )
        total = None if self.num_boost_round is None else self._start + self.num_boost_round
        self._before, _ = _earlier.begin(voice, start=self._start, total=total)
        voice.set_total(None if total is None else self._before + total)

    @harmless
    def _complete(self, epoch: int, evals_log: Any) -> bool:
        if (voice := self._voice) is None:
            return False
        metrics = {f"{data}-{name}": values[-1] for data, found in evals_log.items() for name, values in found.items()}
        if epoch == 0 and metrics:
            self._tell_directions(metrics)
        voice.step(self._before + self._start + epoch + 1, **metrics)
        return self._alone and voice.should_stop

    def _tell_directions(self, metrics: Mapping[str, Any]) -> None:
        from headway.reporter.start import speak

        directions = {}
        for name in metrics:
            metric = name.partition("-")[2].partition("@")[0].partition(":")[0]
            if metric in _BETTER_UP or metric in _BETTER_DOWN:
                directions[name] = "max" if metric in _BETTER_UP else "min"
        speak(ABOUT.layer, metrics=directions)


_earlier = Earlier()


def _config(params: Any, rounds: int | None) -> dict[str, Any]:
    given = params if isinstance(params, Mapping) else {}
    config = {
        name: value for name, value in given.items() if value is not None
    }  # scikit-learn's way to say "by default"
    return config if rounds is None else {**config, "num_boost_round": rounds}


@functools.cache
def _callback() -> Any:
    from xgboost.callback import TrainingCallback

    about = {"__doc__": "Reports a training as this process's run.", "__module__": __name__}
    return type("HeadwayCallback", (_Listener, TrainingCallback), about)


@harmless
def _with_ours(callbacks: Any, rounds: int, params: Any) -> list[Any]:
    """The callbacks of a training, ours first: XGBoost asks none after one that stops."""
    found = list(callbacks or ())
    ours = next((each for each in found if isinstance(each, _Listener)), None)
    if ours is None:
        return [_callback()(rounds, params), *found]
    ours.num_boost_round = rounds if ours.num_boost_round is None else ours.num_boost_round
    ours.params = ours.params or params
    return found


def hook(module: ModuleType) -> None:
    """Gives every training the callback: called with ``xgboost.training``, before others take ``train`` from it."""
    original = module.train
    by_position = list(inspect.signature(original).parameters).index("callbacks") - 3

    @functools.wraps(original)
    def train(params: Any, dtrain: Any, num_boost_round: int = 10, *args: Any, **kwargs: Any) -> Any:
        if len(args) > by_position:  # XGBoost advises against that, and takes it
            ours = _with_ours(args[by_position], num_boost_round, params)
            args = (*args[:by_position], args[by_position] if ours is None else ours, *args[by_position + 1 :])
        else:
            ours = _with_ours(kwargs.get("callbacks"), num_boost_round, params)
            kwargs["callbacks"] = kwargs.get("callbacks") if ours is None else ours
        return original(params, dtrain, num_boost_round, *args, **kwargs)

    vars(module)["train"] = train


def hook_saving(module: ModuleType) -> None:
    """Notices models that are saved: called with ``xgboost.core``."""
    original = module.Booster.save_model

    @functools.wraps(original)
    def save_model(self: Any, fname: Any) -> None:
        began = time.monotonic()
        original(self, fname)
        _saved(self, time.monotonic() - began, fname)

    module.Booster.save_model = save_model


@harmless
def _saved(model: Any, seconds: float, path: Any) -> None:
    from headway.reporter.start import current_run

    if (run := current_run()) is not None:
        run.checkpointed(model.num_boosted_rounds(), seconds=seconds, path=path)


if TYPE_CHECKING:
    from xgboost.callback import TrainingCallback

    class HeadwayCallback(_Listener, TrainingCallback):  # type: ignore[misc]
        """Reports a training as this process's run."""


def __getattr__(name: str) -> Any:
    if name == "HeadwayCallback":
        return _callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
