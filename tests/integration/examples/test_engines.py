"""The examples of single frameworks, as a user runs them: under ``headway run``."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(240)]


def run(headway: Any, name: str, example: str, *arguments: str, launch: tuple[str, ...] = ()) -> dict[str, Any]:
    script = str(EXAMPLES / example / "train.py")
    command = [sys.executable, *launch, script, *arguments]
    result = headway("run", "--name", name, "--", *command, timeout=200)
    assert result.returncode == 0, result.stdout + result.stderr
    return headway.job(name)


@pytest.mark.parametrize("example", ["05-deepspeed", "07-lightning", "10-xgboost"])
def test_the_script_knows_nothing_of_headway(example: str) -> None:
    tree = ast.parse((EXAMPLES / example / "train.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("headway") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("headway")


def check(job: dict[str, Any], framework: str, total: int, metrics: set[str]) -> None:
    assert job["state"] == "Complete"
    assert job["progress"]["percent"] == 100
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == total
    assert job["spec"]["framework"] == framework
    assert metrics <= set(job["metrics"])
    assert job["checkpoint"]["step"] == total


def test_fsdp(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="pip install --group frameworks")
    arguments = ("--steps", "60", "--checkpoint", str(tmp_path / "checkpoint"))
    job = run(headway, "fsdp", "04-fsdp", *arguments, launch=TORCHRUN)
    check(job, "pytorch-fsdp", 60, {"loss", "learning_rate", "grad_norm"})
    assert sorted(rank["rank"] for rank in job["ranks"]) == [0, 1]


def test_deepspeed(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("deepspeed", reason="pip install --group frameworks")
    arguments = ("--steps", "100", "--checkpoint", str(tmp_path / "checkpoint"))
    job = run(headway, "zero", "05-deepspeed", *arguments, launch=TORCHRUN)
    check(job, "deepspeed", 100, {"loss", "learning_rate", "grad_norm"})
    assert sorted(rank["rank"] for rank in job["ranks"]) == [0, 1]
    assert job["config"]["zero_stage"] == 1


def test_jax(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint", reason="pip install --group frameworks")
    job = run(headway, "jax", "06-jax", "--steps", "100", "--checkpoint", str(tmp_path / "checkpoint"))
    check(job, "jax", 100, {"loss", "grad_norm"})


def test_lightning(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="pip install --group frameworks")
    job = run(headway, "lit", "07-lightning", "--epochs", "1", "--output", str(tmp_path))
    check(job, "lightning", 200, {"loss", "learning_rate", "val_loss"})
    assert (job["progress"]["epoch"], job["progress"]["totalEpochs"]) == (1, 1)
    assert job["config"]["width"] == 128


def test_xgboost_that_stops_early_is_complete(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="pip install --group frameworks")
    arguments = ("--rounds", "1000", "--patience", "2", "--checkpoint", str(tmp_path / "checkpoint"))
    job = run(headway, "trees", "10-xgboost", *arguments)
    assert job["state"] == "Complete"
    assert job["progress"]["unit"] == "tree"
    assert job["progress"]["totalSteps"] == 1000
    assert 50 < job["progress"]["step"] < 1000
    assert job["progress"]["percent"] < 100
    assert job["spec"]["framework"] == "xgboost"
    assert {"train-rmse", "eval-rmse"} <= set(job["metrics"])
    assert job["directions"]["eval-rmse"] == "min"
    assert job["checkpoint"]["path"].endswith(".ubj")
