"""Boosted trees by XGBoost on generated data, with checkpoints and early stopping. Knows nothing of Headway.

headway run --name trees -- python train.py
"""

import argparse
from pathlib import Path

import numpy as np
import xgboost


def friedman(rows: int, seed: int) -> xgboost.DMatrix:
    """Friedman's first function of ten variables, five of them noise (1991, "Multivariate Adaptive Regression Splines")."""
    drawn = np.random.default_rng(seed)
    x = drawn.uniform(size=(rows, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return xgboost.DMatrix(x, y + drawn.normal(size=rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--patience", type=int, default=20, help="rounds without a better one after which it stops")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint"))
    options = parser.parse_args()

    options.checkpoint.mkdir(parents=True, exist_ok=True)
    training, validation = friedman(20_000, 1), friedman(5_000, 2)
    saved = sorted(options.checkpoint.glob("model_*.ubj"), key=lambda path: int(path.stem.split("_")[1]))
    begun = xgboost.Booster(model_file=saved[-1]).num_boosted_rounds() if saved else 0
    model = xgboost.train(
        {"max_depth": 6, "eta": 0.1, "subsample": 0.8, "nthread": 1, "seed": 0},
        training,
        options.rounds - begun,
        evals=[(training, "train"), (validation, "eval")],
        early_stopping_rounds=options.patience,
        xgb_model=saved[-1] if saved else None,
        callbacks=[xgboost.callback.TrainingCheckPoint(options.checkpoint, interval=50)],
        verbose_eval=100,
    )
    print(f"rmse {model.best_score:.3f} after {model.best_iteration + 1} rounds of {model.num_boosted_rounds()}")


if __name__ == "__main__":
    main()
