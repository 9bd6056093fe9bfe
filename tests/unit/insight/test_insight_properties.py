"""What holds for every run: units do not matter, the future does not matter, and nothing grows without bound."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.insight.assess import RunInsight
from headway.insight.replay import Replay, replay
from headway.protocol.report import Cell, Point
from headway.protocol.verdict import ConditionType
from headway.testing.curves import Curve, decimated, healthy, with_plateau

CURVES = Path(__file__).parents[4] / "shared" / "curves"
ALARMS = {ConditionType.PLATEAUED, ConditionType.DIVERGING, ConditionType.NON_FINITE, ConditionType.OVERFITTING}
KINDS = {"plateau": ConditionType.PLATEAUED, "diverge": ConditionType.DIVERGING, "nan": ConditionType.NON_FINITE}


def said(found: Replay) -> list[tuple[str, int, int | None]]:
    return [(c.type.value, c.detected_step, c.until_step) for c in found.conditions]


def shown(found: Replay) -> list[tuple[int, str]]:
    return [(entry.step, entry.kind.value) for entry in found.timeline]


def mapped(curve: Curve, *, scale: float = 1.0, stride: int = 1, shift: float = 0.0) -> list[Point]:
    return [
        Point(
            point.step * stride,
            point.t + shift,
            {name: Cell(cell.mean * scale) if name == "loss" else cell for name, cell in point.metrics.items()},
        )
        for point in curve.points
    ]


def false_alarms(curve: Curve) -> list[str]:
    """Alarms before 95 % that are wrong: a plateau with 2 % or more still to come, and anything else at all."""
    found = replay(curve.points, total_steps=curve.total_steps)
    return [
        f"{curve.name}: {condition.type.value} at {condition.detected_step}"
        for condition in found.conditions
        if condition.type in ALARMS
        and condition.detected_step < 0.95 * curve.total_steps
        and (condition.type is not ConditionType.PLATEAUED or curve.still_to_come(condition.detected_step) >= 0.02)
    ]


@given(st.integers(0, 500), st.sampled_from([2.0**-20, 2.0**-3, 2.0**10]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_unit_of_the_loss_does_not_matter(seed: int, scale: float) -> None:
    curve = with_plateau(healthy(seed), 0.4)
    expected = replay(curve.points, total_steps=curve.total_steps)
    found = replay(mapped(curve, scale=scale), total_steps=curve.total_steps)
    assert said(found) == said(expected)
    assert shown(found) == shown(expected)


@given(st.integers(0, 500), st.sampled_from([2, 16]), st.sampled_from([0.0, 1e6]))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_unit_of_steps_and_the_origin_of_time_do_not_matter(seed: int, stride: int, shift: float) -> None:
    curve = with_plateau(healthy(seed), 0.3)
    expected = replay(curve.points, total_steps=curve.total_steps)
    found = replay(mapped(curve, stride=stride, shift=shift), total_steps=curve.total_steps * stride)
    assert [(kind, step // stride) for kind, step, _ in said(found)] == [
        (kind, step) for kind, step, _ in said(expected)
    ]


@given(st.integers(0, 500), st.floats(0.1, 0.9))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_future_does_not_matter(seed: int, share: float) -> None:
    curve = with_plateau(healthy(seed), 0.3)
    cut = max(1, round(share * len(curve.points)))
    whole = shown(replay(curve.points, total_steps=curve.total_steps))
    part = shown(replay(curve.points[:cut], total_steps=curve.total_steps))
    assert part == [entry for entry in whole if entry[0] <= curve.points[cut - 1].step]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),
            st.dictionaries(
                st.sampled_from(["loss", "eval_loss", "learning_rate", "grad_norm", "reward", "x"]),
                st.floats(allow_nan=True, allow_infinity=True),
                max_size=4,
            ),
        ),
        max_size=120,
    ),
    st.one_of(st.none(), st.integers(-1, 200)),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_log_is_too_wild(rows: list[tuple[int, dict[str, float]]], total: int | None) -> None:
    points = [
        Point(step, float(index), {name: Cell(value) for name, value in values.items()})
        for index, (step, values) in enumerate(rows)
    ]
    found = replay(points, total_steps=total)
    json.dumps(found.document("file"), allow_nan=False)
    assert all(before.kind is not after.kind for before, after in pairwise(found.timeline))


def test_healthy_runs_are_left_in_peace() -> None:
    alarms = [alarm for seed in range(90) for alarm in false_alarms(healthy(seed))]
    assert alarms == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_at_most_two_false_alarms_on_a_thousand_healthy_runs() -> None:
    wrong = [alarms for seed in range(1000) if (alarms := false_alarms(healthy(seed)))]
    assert len(wrong) <= 2, wrong


def test_plateaus_cut_into_quiet_runs_are_found_also_with_fewer_points() -> None:
    seeds = [seed for seed in range(90) if healthy(seed).name.split("-")[2] == "0.01"]
    found = Counter[str]()
    for seed in seeds:
        curve = with_plateau(healthy(seed), 0.4)
        for name, version in (("all", curve), ("quarter", decimated(curve, 4))):
            conditions = replay(version.points, total_steps=curve.total_steps).conditions
            steps = [c.detected_step for c in conditions if c.type is ConditionType.PLATEAUED]
            found[name] += bool(steps)
            assert all(step >= 0.38 * curve.total_steps for step in steps)
    assert found["all"] >= 0.9 * len(seeds)
    assert found["quarter"] >= 0.6 * len(seeds)


def test_memory_grows_with_the_logarithm() -> None:
    insight = RunInsight()
    sizes = []
    for index in range(1, 40_001):
        insight.observe(Point(index, float(index), {"loss": Cell(1 + 1 / index + (index * 7919 % 13) / 1000)}))
        if index in (10_000, 40_000):
            history = insight._run.watches["loss"].series.history
            sizes.append(sum(len(level) for level in history._levels))
    assert sizes[1] - sizes[0] <= 2.5 * 3 * 64


@pytest.mark.skipif(not CURVES.is_dir(), reason=f"the labelled curves are not at {CURVES}")
def test_labelled_curves() -> None:
    """No alarm that the labels call false or early, and most of what is wrong is found in time."""
    caught, false = Counter[str](), []
    with (CURVES / "LABELS.csv").open(encoding="utf-8") as labels:
        rows = list(csv.DictReader(labels))
    for row in rows:
        with (CURVES / f"{row['name']}.csv").open(encoding="utf-8") as file:
            points = [
                Point(
                    int(float(line["step"])),
                    math.nan,
                    {k: Cell(float(v)) for k, v in line.items() if v and k != "step"},
                )
                for line in csv.DictReader(file)
            ]
        total, label = int(row["total_steps"]), row["label"]
        conditions = replay(points, total_steps=total).conditions
        forbidden = {KINDS[kind] for kind in row["not_these_verdicts"].split("|") if kind}
        false += [(row["name"], c.type) for c in conditions if c.type in forbidden and c.detected_step < 0.95 * total]
        wanted = {
            "plateau": ConditionType.PLATEAUED,
            "unlearnable": ConditionType.PLATEAUED,
            "diverge": ConditionType.DIVERGING,
            "nan": ConditionType.NON_FINITE,
            "overfit": ConditionType.OVERFITTING,
        }.get(label)
        seen = [c.detected_step for c in conditions if c.type is wanted]
        false += [(row["name"], "early") for step in seen if step < int(row["onset_step"]) - 0.02 * total]
        caught["plateau" if label == "unlearnable" else label] += any(step < 0.9 * total for step in seen)
    assert false == []
    assert caught["plateau"] >= 5
    assert caught["nan"] == 2
    assert caught["diverge"] >= 2
    assert caught["overfit"] >= 5
