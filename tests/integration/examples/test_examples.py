"""The examples as a user runs them: real scripts under ``headway run``, looked at through ``headway show``."""

from __future__ import annotations

import ast
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(headway: Any, name: str, example: str, *arguments: str, **options: Any) -> Any:
    script = str(EXAMPLES / example / "train.py")
    return headway("run", "--name", name, "--", sys.executable, script, *arguments, timeout=110, **options)


def test_each_example_has_its_readme_and_one_script() -> None:
    folders = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
    assert [path.name for path in folders] >= ["01-custom-loop", "02-transformers", "03-ddp"]
    for folder in folders:
        assert (folder / "README.md").is_file()
        assert (folder / "train.py").is_file()


def test_custom_loop(headway: Any) -> None:
    result = run(headway, "bigram", "01-custom-loop", "--steps", "600")
    assert result.returncode == 0, result.stderr
    job = headway.job("bigram")
    assert job["state"] == "Complete"
    assert job["progress"]["percent"] == 100
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == 600
    assert job["config"]["batch"] == 256
    assert job["metrics"]["loss"] < 4.5 < math.log(256)


def test_custom_loop_needs_no_runner_and_no_server(tmp_path: Path, headway: Any) -> None:
    import subprocess

    result = subprocess.run(
        [sys.executable, str(EXAMPLES / "01-custom-loop" / "train.py"), "--steps", "100"],
        env={**headway.environ, "HEADWAY_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert list((tmp_path / "state" / "spool").glob("*.jsonl"))


def test_transformers_script_knows_nothing_of_headway() -> None:
    tree = ast.parse((EXAMPLES / "02-transformers" / "train.py").read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert "headway" not in imported


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_transformers_to_the_end(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="pip install --group frameworks")
    steps = 500  # enough for a handful of estimates on a quick machine
    runner = headway.start(
        *("run", "--name", "tiny-gpt2", "--price-per-hour", "3", "--"),
        *(
            sys.executable,
            str(EXAMPLES / "02-transformers" / "train.py"),
            "--steps",
            str(steps),
            "--output",
            str(tmp_path),
        ),
    )
    estimates: list[tuple[float, float]] = []
    while runner.poll() is None:
        job = headway.look("tiny-gpt2")
        if job is not None:
            assert job["progress"].get("percent") != 100 or job["state"] == "Complete", "100 % only at the end"
            if job["eta"] is not None and job["state"] == "Running":
                estimates.append((time.time(), job["eta"]["seconds"]))
        time.sleep(0.5)
    assert runner.returncode == 0
    job = headway.job("tiny-gpt2")
    assert job["state"] == "Complete"
    assert job["ending"]["kind"] == "completed"
    assert job["progress"]["percent"] == 100
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == steps
    assert job["progress"]["epoch"] > 0.5
    assert {"loss", "grad_norm", "learning_rate", "eval_loss"} <= set(job["metrics"])
    losses = [mean for _, _, mean in job["history"]["loss"]]
    assert len(losses) >= 3
    assert losses[-1] < losses[0]
    assert len(job["attempts"]) == 1
    assert job["spec"]["command"][-1] == str(tmp_path)
    assert job["ledger"]["spent"]["money"] > 0
    ended = job["endedAt"]
    errors = [abs(at + seconds - ended) for at, seconds in estimates]
    assert len(errors) >= 3, estimates
    assert errors[-1] <= max(5.0, 0.2 * (ended - job["startedAt"])), "the ETA converged"


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_transformers_killed_and_resumed(headway: Any, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="pip install --group frameworks")
    script = [
        sys.executable,
        str(EXAMPLES / "02-transformers" / "train.py"),
        "--steps",
        "600",
        "--output",
        str(tmp_path),
    ]
    runner = headway.start("run", "--name", "killed", "--", *script)
    job = headway.until("killed", lambda job: (job["progress"].get("percent") or 0) >= 40, timeout=200)
    os.kill(_training(runner.pid), signal.SIGKILL)
    assert runner.wait(20) == 137
    job = headway.job("killed")
    reached = job["progress"]["percent"]
    assert 40 <= reached < 100
    assert job["state"] == "Failed"
    assert job["summary"] == f"Failed at {reached} %"
    assert job["ending"]["exitCode"] == 137
    assert job["ending"]["signal"] == "SIGKILL"
    assert any("it/s" in line or "loss" in line for line in job["ending"]["logTail"])
    page = headway("show", "killed").stdout
    assert f"Failed at {reached} %" in page
    assert "SIGKILL" in page

    saved = max(int(path.name.split("-")[1]) for path in tmp_path.glob("checkpoint-*"))
    resumed = headway.start("run", "--name", "killed", "--", *script, "--resume")
    began = time.time()
    first = headway.until(
        "killed",
        lambda job: len(job["attempts"]) == 2 and job["state"] == "Running" and job["progress"].get("step"),
        timeout=60,
    )
    assert first["progress"]["step"] >= saved, "never below its checkpoint"
    assert first["progress"]["percent"] >= 100 * saved // 600
    assert first["state"] == "Running"
    guess = None if first["eta"] is None else (time.time(), first["eta"]["seconds"])
    assert resumed.wait(200) == 0
    job = headway.job("killed")
    assert job["state"] == "Complete"
    assert job["progress"]["percent"] == 100
    assert [each["ordinal"] for each in job["attempts"]] == [1, 2]
    assert job["attempts"][0]["ending"]["signal"] == "SIGKILL"
    if guess is not None:
        truth = job["endedAt"] - guess[0]
        assert guess[1] == pytest.approx(truth, abs=max(8.0, 0.5 * (job["endedAt"] - began)))


def _training(runner: int) -> int:
    import psutil

    return next(
        each.pid for each in psutil.Process(runner).children() if any("train.py" in word for word in each.cmdline())
    )


@pytest.mark.frameworks
@pytest.mark.slow
def test_ddp_has_one_writer(headway: Any) -> None:
    pytest.importorskip("torch", reason="pip install --group frameworks")
    script = str(EXAMPLES / "03-ddp" / "train.py")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    result = headway("run", "--name", "ddp", "--", *launch, "--steps", "300", timeout=110)
    assert result.returncode == 0, result.stderr
    job = headway.job("ddp")
    assert job["state"] == "Complete"
    assert job["progress"]["step"] == job["progress"]["totalSteps"] == 300
    assert job["progress"]["percent"] == 100
    assert sorted(rank["rank"] for rank in job["ranks"]) == [0, 1]
    assert len(job["attempts"]) == 1
    assert job["attempts"][0]["worldSize"] == 2
    steps = [point[0] for point in job["history"]["loss"]]
    assert steps == sorted(set(steps)), "one writer"
