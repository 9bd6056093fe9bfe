"""The demo's training script: its schedule, its checkpoints, its fates."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from headway.demo import corpus, train
from headway.demo.collective import Group
from headway.demo.scenarios import SCENARIOS


@pytest.fixture(autouse=True)
def _untracked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DISABLED", "1")
    monkeypatch.setattr(train, "_PACE", 1e9)


def settings(folder: Path, **given: object) -> train.Settings:
    return train.Settings(**{"folder": folder, "steps": 60, **given})


def parameters(folder: Path, text: corpus.Corpus) -> train.Training:
    kept = train.Training(settings(folder), text)
    assert kept.restore()
    return kept


def test_schedule_rises_then_falls() -> None:
    rates = [train.schedule(settings(Path(), warmup=0.1), step, 1000) for step in range(1, 1001)]
    assert max(rates) == pytest.approx(0.006, rel=1e-3)
    assert rates.index(max(rates)) in range(95, 105)
    assert all(a > b for a, b in pairwise(rates[110:]))
    assert rates[-1] == pytest.approx(0.0006, rel=1e-2)


def test_schedule_can_come_to_nothing_early() -> None:
    rates = [train.schedule(settings(Path(), warmup=0.02, decay_by=0.1), step, 1000) for step in range(1, 1001)]
    assert max(rates) == pytest.approx(0.006, rel=1e-2)
    assert max(rates[100:]) == pytest.approx(0.000006, rel=0.01)


def test_a_group_waits_for_a_rank_that_is_lost() -> None:
    group = Group(answers=3)
    assert [group.all_reduce(value) for value in (1.5, 2.5, 1e-300)] == [1.5, 2.5, 1e-300]
    waiting = threading.Thread(target=group.all_reduce, args=(1.0,), daemon=True)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()


def test_a_crashed_run_resumed_ends_where_an_undisturbed_one_does(tmp_path: Path) -> None:
    text = corpus.load(train._CHARACTERS)
    undisturbed = train.train(settings(tmp_path / "a"))
    with pytest.raises(RuntimeError, match="step 30"):
        train.train(settings(tmp_path / "b", crash_at=0.5))
    assert parameters(tmp_path / "b", text).step == 30
    assert train.train(settings(tmp_path / "b", crash_at=0.5)) == undisturbed
    a, b = parameters(tmp_path / "a", text), parameters(tmp_path / "b", text)
    assert a.step == b.step == 60
    for name, value in a.parameters.items():
        np.testing.assert_array_equal(value, b.parameters[name])


def test_a_resumed_run_keeps_its_total(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        train.train(settings(tmp_path, steps=80, crash_at=0.5))
    resumed = train.Training(settings(tmp_path, steps=10), corpus.load(train._CHARACTERS))
    assert resumed.restore()
    assert resumed.total == 80


def test_steps_follow_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(train, "_PACE", 25.0)
    text = corpus.load(train._CHARACTERS)
    assert 50 <= train.measured_steps(settings(tmp_path, seconds=10), text) <= 250
    assert train.measured_steps(settings(tmp_path, seconds=0.01), text) == 50


def test_too_high_a_learning_rate_ends_in_nan(tmp_path: Path) -> None:
    scenario = next(each for each in SCENARIOS if each.name == "lr-too-high")
    options = dict(zip(scenario.options[:-3:2], scenario.options[1:-3:2], strict=True))
    training = train.Training(
        settings(
            tmp_path,
            optimizer="momentum",
            learning_rate=float(options["--learning-rate"]),
            warmup=float(options["--warmup"]),
            clip=False,
        ),
        corpus.load(train._CHARACTERS),
    )
    training.total = 400
    with np.errstate(all="ignore"):
        losses = [training.advance()[0] for _ in range(400)]
    assert min(losses[20:100]) < 2.8, "it learns at first"
    assert not math.isfinite(losses[-1])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_the_command_of_each_scenario_is_one_that_the_script_takes(scenario: object, tmp_path: Path) -> None:
    command = scenario.command(tmp_path, 60.0)
    result = subprocess.run(
        [*command[:4], *command[4:], "--help"], capture_output=True, text=True, env={**os.environ}, check=False
    )
    assert command[0] == sys.executable
    assert result.returncode == 0, result.stderr


def test_reports_go_to_the_spool_when_nobody_listens(tmp_path: Path, headway_home: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "HEADWAY_DISABLED"}
    subprocess.run(
        [sys.executable, "-m", "headway.demo.train", "--folder", str(tmp_path), "--steps", "20"],
        env=environ,
        check=True,
        timeout=60,
        capture_output=True,
    )
    (spool,) = (headway_home / "state" / "spool").glob("*.jsonl")
    bodies = [json.loads(line)["body"]["headway"] for line in spool.read_text().splitlines()[1:]]
    assert bodies[-1]["ending"]["kind"] == "completed"
    assert bodies[-1]["progress"]["step"] == 20
    assert bodies[-1]["progress"]["totalSteps"] == 20
