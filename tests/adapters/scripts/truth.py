"""What a framework itself says of a training, kept by the script that trains: the suite compares Headway with it."""

from __future__ import annotations

import atexit
import json
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any


def arguments() -> Namespace:
    """Where a script keeps its checkpoint and its truth, where it stops, and whether it resumes."""
    parser = ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--until", type=int, help="after this step and its checkpoint the process ends, with code 3")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--mode", default="")
    return parser.parse_args()


class Truth:
    """Written when the process ends, by the process that Headway should take for the writer."""

    def __init__(self, folder: Path) -> None:
        self.losses: dict[int, float] = {}
        """Step to the loss that its update was made with: the mean of its micro-batches."""
        self.learning_rates: dict[int, float] = {}
        self.grad_norms: dict[int, float] = {}
        self.evaluations: dict[str, dict[int, float]] = {}
        self.checkpoints: list[int] = []
        self.facts: dict[str, Any] = {}
        """``start``, ``steps``, ``total``, ``epoch``, ``epochs``: what the framework says at the end, where it does."""
        if os.environ.get("RANK", "0") == "0":
            number = 1 + len(list(folder.glob("truth-*.json")))
            atexit.register(self.write, folder / f"truth-{number}.json")

    def step(self, step: int, loss: float, learning_rate: float | None = None, grad_norm: float | None = None) -> None:
        self.losses[step] = float(loss)
        if learning_rate is not None:
            self.learning_rates[step] = float(learning_rate)
        if grad_norm is not None:
            self.grad_norms[step] = float(grad_norm)

    def evaluation(self, step: int, **values: float) -> None:
        for name, value in values.items():
            self.evaluations.setdefault(name, {})[step] = float(value)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self)), encoding="utf-8")
