"""``headway check``: exit codes, strict JSON, and words that say what is wrong."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headway.cli.main import app


def write(path: Path, stuck: bool, *, bad: bool = False) -> Path:
    rng = random.Random(2)
    rows = ["step,loss,lr"]
    for index in range(300):
        level = 1 + 4 * (min(index, 70) + 5 if stuck else index + 5) ** -0.4
        value = "nan" if bad and index >= 290 else f"{level * (1 + 0.005 * rng.gauss(0, 1)):.5f}"
        rows.append(f"{10 * (index + 1)},{value},0.001")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def check(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["check", *arguments])
    return result.exit_code, result.stdout, result.stderr


def document(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = check(*arguments, "--json")

    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is not strict JSON")

    return code, json.loads(out, parse_constant=refuse)


def test_a_healthy_log(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", stuck=False)
    code, found = document(str(path), "--total-steps", "3000")
    assert code == 0
    assert found == {
        "file": str(path),
        "totalSteps": 3000,
        "verdict": "Finishing",
        "conditions": [],
        "timeline": found["timeline"],
        "eta": None,
    }
    assert [entry["kind"] for entry in found["timeline"]] == ["Starting", "Progressing", "Finishing"]


def test_a_log_that_stood_still(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", stuck=True)
    code, found = document(str(path), "--total-steps", "4000")
    assert code == 3
    assert found["verdict"] == "Plateaued"
    (condition,) = found["conditions"]
    assert condition["type"] == "Plateaued"
    assert condition["metric"] == "loss"
    assert condition["sinceStep"] < condition["detectedStep"] < 3000
    assert condition["untilStep"] is None
    shown = next(entry for entry in found["timeline"] if entry["kind"] == "Plateaued")
    assert shown["step"] == condition["detectedStep"]
    words = check(str(path), "--total-steps", "4000")[1]
    assert "Plateaued of loss since step" in words
    assert "slope 95 % CI" in words


def test_a_log_that_ends_in_nan(tmp_path: Path) -> None:
    code, found = document(str(write(tmp_path / "log.csv", stuck=False, bad=True)))
    assert code == 3
    assert found["verdict"] == "NonFinite"


def test_the_total_of_the_file_is_used_and_the_time_to_the_end_told(tmp_path: Path) -> None:
    rows = [{"step": index * 10, "loss": 2 / math.sqrt(index), "time": 5.0 * index} for index in range(1, 200)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code, found = document(str(path), "--total-steps", "4000")
    assert code == 0
    assert found["eta"]["low"] <= found["eta"]["seconds"] <= found["eta"]["high"]
    assert found["eta"]["seconds"] == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize("arguments", [("nowhere.csv",), ("log.csv", "--metric", "bleu")])
def test_what_cannot_be_judged_is_said_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.csv", stuck=False)
    code, out, err = check(*arguments)
    assert (code, out) == (2, "")
    assert "does not exist" in err or "has no metric 'bleu'" in err


def test_what_stands_is_said_once_and_what_a_watcher_would_have_shown_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", stuck=True)
    words = check(str(path), "--total-steps", "4000")[1]
    assert words.count("no measurable improvement") == 1
    (line,) = [line for line in words.splitlines() if line.startswith("An online watcher would have shown")]
    assert "Starting from step 10, " in line
    assert "Plateaued from step " in line


def test_the_words_fit_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.csv", stuck=True)
    monkeypatch.setenv("COLUMNS", "60")
    words = check("log.csv", "--total-steps", "4000")[1]
    assert max(map(len, words.splitlines())) <= 60


def test_what_was_withdrawn_is_told_apart(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": 2 / math.sqrt(step)} for step in range(1, 200)]
    for row in rows[99:105]:
        row["loss"] = math.nan
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code, words, _ = check(str(path), "--total-steps", "400")
    assert code == 0
    standing, withdrawn = words.split("Withdrawn since:")
    assert "Progressing: " in standing
    assert "NonFinite of loss since step 100, seen at step 101, withdrawn at step 108" in withdrawn


@pytest.mark.parametrize("name", ["metrics.csv", "results.csv"])
def test_the_log_that_a_trainer_left_in_its_folder_is_found(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, stuck=False)
    assert document(str(tmp_path), "--total-steps", "3000")[1]["verdict"] == "Finishing"


def test_the_newest_checkpoint_of_a_folder_is_read(tmp_path: Path) -> None:
    for step in (90, 500, 1000):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        history = [{"step": at, "loss": 2 / math.sqrt(at)} for at in range(10, step + 1, 10)]
        state = {"log_history": history, "global_step": step, "max_steps": 2000}
        (folder / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    assert "steps 10 to 1,000 of 2,000" in check(str(tmp_path))[1]


def test_a_folder_without_a_log_says_what_was_looked_for(tmp_path: Path) -> None:
    code, out, err = check(str(tmp_path))
    assert (code, out) == (2, "")
    assert "metrics.csv" in err
    assert "checkpoint-*" in err


def test_a_metric_of_ones_own(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", stuck=False)
    path.write_text(path.read_text(encoding="utf-8").replace("loss", "my_score"), encoding="utf-8")
    code, out, said = check(str(path))
    assert (code, out) == (2, "")
    assert "my_score" in said
    assert "--metric" in said
    code, out, said = check(str(path), "--metric", "my_score")
    assert code == 0
    assert "my_score falls" in out
    assert "--direction max" in said
    code, found = document(str(path), "--metric", "my_score", "--direction", "max", "--total-steps", "3000")
    assert (code, found["verdict"]) != (0, "Progressing")
    code, _, said = check(str(path), "--direction", "max")
    assert (code, "--metric" in said) == (2, True)


def test_more_steps_than_the_total(tmp_path: Path) -> None:
    code, found = document(str(write(tmp_path / "log.csv", stuck=False)), "--total-steps", "1000")
    wrong = next(one for one in found["conditions"] if one["type"] == "TotalWrong")
    assert (wrong["sinceStep"], wrong["detectedStep"], wrong["evidence"]) == (
        1001,
        1010,
        {"step": 3000, "totalSteps": 1000},
    )
    assert (code, found["verdict"]) == (0, "TotalWrong")
    assert "TotalWrong since step 1,001" in check(str(tmp_path / "log.csv"), "--total-steps", "1000")[1]


def test_the_figures_are_those_of_the_end(tmp_path: Path) -> None:
    """Not those of the last time that the words were made anew, up to 0.5 % of the run before."""
    out = check(str(write(tmp_path / "log.csv", stuck=False)), "--total-steps", "3010")[1]
    assert "by the end (10 steps)" in " ".join(out.split())
    rows = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()[:2]
    (tmp_path / "one.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    out = check(str(tmp_path / "one.csv"))[1]
    assert "1 point, steps 10 to 10" in out
    assert "1 point of loss: too little to judge" in out
