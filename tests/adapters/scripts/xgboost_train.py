"""XGBoost: evaluated after each round, with its own checkpoints, and continued from one. Knows nothing of Headway."""

from __future__ import annotations

import sys
import time

import numpy as np
import xgboost
from truth import Truth, arguments

TOTAL, HALF = 40, 20
options = arguments()


class Pace(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log) -> bool:
        time.sleep(0.04)
        if model.num_boosted_rounds() == options.until:
            sys.exit(3)
        return False


def main() -> None:
    truth = Truth(options.folder)
    x = np.random.default_rng(1).normal(size=(400, 8))
    data = [xgboost.DMatrix(part, part.sum(1)) for part in (x[:300], x[300:])]
    folder = options.folder / "checkpoint"
    folder.mkdir(exist_ok=True)
    half = folder / f"model_{HALF - 1}.ubj"
    start = xgboost.Booster(model_file=half).num_boosted_rounds() if options.resume else 0
    history: dict = {}
    seen = Seen(history)
    try:
        model = xgboost.train(
            {"max_depth": 3, "eta": 0.3, "nthread": 1},
            data[0],
            TOTAL - start,
            evals=[(data[0], "train"), (data[1], "eval")],
            xgb_model=half if options.resume else None,
            callbacks=[seen, xgboost.callback.TrainingCheckPoint(folder, interval=HALF - 1), Pace()],
            verbose_eval=False,
        )
        truth.facts = {"start": start, "steps": model.num_boosted_rounds(), "total": TOTAL}
    finally:
        for number, loss in enumerate(history["train"]["rmse"], start=start + 1):
            truth.step(number, loss)
            truth.evaluation(number, **{"eval-rmse": history["eval"]["rmse"][number - start - 1]})
        if half.exists():
            truth.checkpoints.append(xgboost.Booster(model_file=half).num_boosted_rounds())


class Seen(xgboost.callback.TrainingCallback):
    """XGBoost gives its history back at the end only, and one that breaks has none."""

    def __init__(self, history: dict) -> None:
        self.history = history

    def after_iteration(self, model, epoch, evals_log) -> bool:
        self.history.update(evals_log)
        return False


if __name__ == "__main__":
    main()
