"""What the user's command is told, as conditions are heard of: once each, also of those that came and went unseen."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headway.protocol.job import JobKey
from headway.protocol.verdict import Condition, ConditionType, Severity
from headway.runner.on_condition import OnCondition

KEY = JobKey("local", "job")
WRITE = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"


class Told:
    """A real command that writes down what it gets."""

    def __init__(self, folder: Path) -> None:
        self.file, self.said = folder / "told.jsonl", []
        self.hook = OnCondition([sys.executable, "-c", WRITE, str(self.file)], KEY, os.environ, self.said.append)

    def hear(self, *conditions: Condition) -> None:
        self.hook.hear(conditions)

    def all(self) -> list[tuple[str, str, float, float | None]]:
        self.hook.close(60.0)
        assert self.said == []
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        events = [json.loads(line) for line in lines]
        return [
            (event["kind"], event["condition"]["type"], event["condition"]["since"], event["condition"].get("until"))
            for event in events
        ]


@pytest.fixture
def told(tmp_path):
    return Told(tmp_path)


def stalled(since: float, until: float | None = None) -> Condition:
    return Condition(type=ConditionType.STALLED, severity=Severity.CRITICAL, since=since, until=until, text="no step")


def test_onset_and_recovery_are_told_once_each(told):
    told.hear()
    for _ in range(3):
        told.hear(stalled(10.0))
    for _ in range(3):
        told.hear(stalled(10.0, 14.0))
    told.hear()
    assert told.all() == [("onset", "Stalled", 10.0, None), ("recovery", "Stalled", 10.0, 14.0)]


def test_what_came_and_went_between_two_life_signs_is_told(told):
    told.hear()
    told.hear(stalled(10.0, 11.0))
    told.hear(stalled(10.0, 11.0), stalled(20.0))
    told.hear(stalled(10.0, 11.0), stalled(20.0, 22.0))
    assert told.all() == [
        ("onset", "Stalled", 10.0, None),
        ("recovery", "Stalled", 10.0, 11.0),
        ("onset", "Stalled", 20.0, None),
        ("recovery", "Stalled", 20.0, 22.0),
    ]


def test_what_was_over_before_the_first_word_is_not_told(told):
    told.hear(stalled(1.0, 2.0), replace(stalled(5.0), type=ConditionType.SILENT))
    told.hear(stalled(1.0, 2.0))
    kinds = [(kind, type_) for kind, type_, _, _ in told.all()]
    assert kinds == [("onset", "Silent"), ("recovery", "Silent")]


def test_a_server_that_tells_only_what_stands_is_understood(told):
    told.hear()
    told.hear(stalled(10.0))
    told.hear()
    ((onset, *_), (recovery, _, since, until)) = told.all()
    assert (onset, recovery, since) == ("onset", "recovery", 10.0)
    assert until is not None
