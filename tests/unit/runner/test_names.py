"""What jobs and attempts are called when nobody says."""

from __future__ import annotations

import pytest

from headway.runner.names import attempt_id, next_name, slurm_name, stem_of


@pytest.mark.parametrize(
    ("command", "stem"),
    [
        (["python", "train.py", "--lr", "1"], "train"),
        (["python3", "-u", "/a/b/fine tune.py"], "fine-tune"),
        (["torchrun", "--nproc-per-node", "2", "src/ddp.py"], "ddp"),
        (["python", "-m", "pkg.sub.main", "x"], "main"),
        (["python3.11", "-m", "train"], "train"),
        (["bash", "run.sh"], "run"),
        (["/usr/bin/make", "-m", "x"], "make"),
        (["./train"], "train"),
        (["..."], "job"),
        (["ü" * 10 + "x"], "x"),
        (["a" * 100], "a" * 48),
    ],
)
def test_a_job_is_called_after_its_script(command: list[str], stem: str) -> None:
    assert stem_of(command) == stem


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ([], "train"),
        (["other", "train-x", "retrain", "train-2-3"], "train"),
        (["train"], "train-2"),
        (["train-2", "train", "train-9"], "train-10"),
        (["train-3"], "train-4"),
    ],
)
def test_names_are_counted_up_and_never_used_again(taken: list[str], name: str) -> None:
    assert next_name("train", taken) == name


def test_within_slurm_all_nodes_arrive_at_the_same_name_and_attempt() -> None:
    environ = {"SLURM_JOB_ID": "77"}
    assert slurm_name("train", environ) == "train-77"
    assert slurm_name("train", {}) is None
    assert attempt_id("A", 1, environ) == attempt_id("B", 1, environ) == "slurm-77-0"
    assert attempt_id("A", 1, {**environ, "SLURM_RESTART_COUNT": "2"}) == "slurm-77-2"
    assert attempt_id("A", 2, environ) == "slurm-77-0.2"
    assert attempt_id("A", 2, {}) == "runner-A-2"
    told = {"HEADWAY_ATTEMPT": "night-3"}
    assert attempt_id("A", 1, told) == attempt_id("B", 1, told) == "night-3"
    assert attempt_id("A", 2, told) == "night-3.2"
