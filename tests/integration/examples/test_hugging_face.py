"""The examples of Accelerate and TRL, as a user runs them: under ``headway run``, with no line of Headway in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(240)]


def run(headway: Any, name: str, example: str, *arguments: str, launch: tuple[str, ...] = ()) -> dict[str, Any]:
    command = [sys.executable, *launch, str(EXAMPLES / example / "train.py"), *arguments]
    result = headway("run", "--name", name, "--", *command, timeout=200)
    assert result.returncode == 0, result.stdout + result.stderr
    return headway.job(name)


@pytest.mark.parametrize("example", ["08-accelerate", "09-trl"])
def test_the_script_knows_nothing_of_headway(example: str) -> None:
    lines = (EXAMPLES / example / "train.py").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if "import" in line and "headway" in line]


def test_accelerate_and_its_resume(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("accelerate", reason="pip install --group frameworks")
    job = run(headway, "spirals", "08-accelerate", "--epochs", "2", "--output", str(tmp_path))
    assert job["state"] == "Complete"
    assert job["progress"]["percent"] == 100
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == 200
    assert job["spec"]["framework"] == "accelerate"
    assert {"loss", "learning_rate", "grad_norm", "eval_accuracy"} <= set(job["metrics"])
    assert job["config"]["accumulation"] == 2
    assert job["checkpoint"]["step"] == 200
    job = run(headway, "spirals", "08-accelerate", "--epochs", "3", "--output", str(tmp_path), "--resume")
    assert job["progress"]["percent"] == 100
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == 300
    assert [attempt["ordinal"] for attempt in job["attempts"]] == [1, 2]


def test_trl_learns_and_its_reward_is_shown(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="pip install --group frameworks")
    job = run(headway, "vowels", "09-trl", "--steps", "40", "--output", str(tmp_path))
    assert job["state"] == "Complete"
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == 40
    assert job["spec"]["framework"] == "trl"
    assert job["directions"]["reward"] == "max"
    rewards = [mean for _, _, mean in job["history"]["reward"]]
    assert job["best"]["reward"] > rewards[0] + 0.2
    assert job["checkpoint"]["step"] == 40
