"""The evidence of each condition: what the documentation names, and all figures of the text."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path

import pytest

from headway.insight.assess import RunInsight
from headway.insight.findings import Finding
from headway.insight.stall import StallWatch
from headway.insight.throughput import SlowWatch
from headway.protocol.report import Cell, Point
from headway.protocol.verdict import ConditionType

DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "verdicts.md"


def documented() -> dict[str, set[str]]:
    """Names of figures by condition, from the table in the documentation."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text[text.index("## The figures behind each") : text.index("## What it costs")]
    names: dict[str, set[str]] = {}
    hints = set(re.findall(r"`(\w+)`", section[section.index("Figures of hints") :]))
    for types, figures in re.findall(r"^\| ([A-Z][\w, ]+) \| (.*) \|$", section, re.MULTILINE):
        for one in types.split(", "):
            names[one] = set(re.findall(r"`(\w+)`", figures)) | (hints if "`hint`" in figures else set())
    return names


def observed(*columns: dict[str, float], total: int | None = None) -> list[Finding]:
    insight = RunInsight()
    for step, column in enumerate(columns, 1):
        metrics = {name: Cell(value) for name, value in column.items()}
        insight.observe(Point(step, 10.0 * step, metrics), total_steps=total)
    return list(insight.assess(10.0 * len(columns)).findings)


def found() -> dict[ConditionType, Finding]:
    """A finding of each type that numbers alone can bring about."""
    rng = random.Random(1)
    flat = [{"loss": 1.3863 + 0.002 * rng.gauss(0, 1)} for _ in range(200)]
    overfitted = [{"loss": 3 / (1 + step / 9), "eval_loss": 1 + abs(step - 20) / 40} for step in range(80)]
    level = [
        {"loss": 3 / (1 + step / 9), "eval_loss": 2.0 + 0.004 * rng.gauss(0, 1), "learning_rate": 1e-4}
        for step in range(120)
    ]
    away = [{"loss": 2.0 - 0.01 * step, "grad_norm": 1 + 0.1 * rng.random()} for step in range(60)]
    away[-1]["grad_norm"] = 90.0
    away += [{"loss": math.log(32000), "grad_norm": 1.0} for _ in range(20)]
    nan = [{"loss": 1.0}, {"loss": math.nan}, {"loss": math.nan}]
    findings = [
        *observed(*flat, total=400),
        *observed(*overfitted, total=100),
        *observed(*level, total=240),
        *observed(*away, total=400),
        *observed(*nan),
    ]
    stall, slow = StallWatch(), SlowWatch()
    stall.begin_attempt(0, 0.0)
    slow.begin_attempt(0, 0.0)
    t = 0.0
    for step in range(1, 1200):
        t += 1.0 if step < 800 else 2.0
        stall.observe(step, t)
        slow.observe(step, t)
    findings += [one for one in (stall.finding(t + 1000), slow.finding(t)) if one is not None]
    return {finding.type: finding for finding in findings}


FOUND = found()


@pytest.mark.parametrize("kind", sorted(FOUND), ids=str)
def test_the_documentation_names_every_figure(kind: ConditionType) -> None:
    assert set(FOUND[kind].evidence) <= documented()[kind.value]


def test_every_type_is_documented_and_most_are_tried() -> None:
    assert documented().keys() == {kind.value for kind in ConditionType}
    tried = {"Plateaued", "EvalPlateaued", "Diverging", "NonFinite", "Overfitting", "Frozen", "Stalled", "Slow"}
    assert {kind.value for kind in FOUND} >= tried


def test_a_plateau_says_by_figures_all_that_its_text_says() -> None:
    evidence = FOUND[ConditionType.PLATEAUED].evidence
    text = FOUND[ConditionType.PLATEAUED].text
    assert evidence["uniformClasses"] == 4
    assert "4 classes" in text
    assert evidence["remainingSteps"] == 200
    assert evidence["remainingSeconds"] == pytest.approx(2000, rel=0.02)
    assert "33 min" in text
    assert (evidence["worsening"], evidence["rateAtPeak"], evidence["trainMetric"]) == ("no", "no", None)
    assert evidence["newestStep"] == 200


def test_the_figures_of_causes_are_named() -> None:
    evidence = FOUND[ConditionType.DIVERGING].evidence
    assert evidence["uniformClasses"] == 32000
    assert evidence["gradientMetric"] == "grad_norm"
    assert evidence["gradientBefore"] == 90.0
    assert evidence["gradientUsual"] == pytest.approx(1.05, abs=0.06)


def test_the_companion_that_still_falls_is_named() -> None:
    assert FOUND[ConditionType.EVAL_PLATEAUED].evidence["trainMetric"] == "loss"
    assert FOUND[ConditionType.EVAL_PLATEAUED].evidence["rateAtPeak"] == "yes"
    assert FOUND[ConditionType.OVERFITTING].evidence["trainMetric"] == "loss"
