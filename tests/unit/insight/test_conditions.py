"""What is said of a run: each condition on small synthetic runs, and what must not be said."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import pytest

from headway.insight.assess import RunInsight
from headway.insight.findings import Finding
from headway.insight.replay import Replay, replay
from headway.protocol.report import Cell, Point
from headway.protocol.verdict import ConditionType, Verdict

NAN = math.nan


def run(count: int, stride: int = 10, **metrics: Callable[[int], float | None]) -> list[Point]:
    """Points at ``stride`` steps and 30 s from each other; a metric that gives None is not logged there."""
    return [
        Point(
            (index + 1) * stride,
            30.0 * (index + 1),
            {name: Cell(value) for name, of in metrics.items() if (value := of(index)) is not None},
        )
        for index in range(count)
    ]


def noisy(level: Callable[[int], float], noise: float = 0.01, seed: int = 1) -> Callable[[int], float]:
    rng = random.Random(seed)
    return lambda index: level(index) * (1 + noise * rng.gauss(0, 1))


def falling(index: int) -> float:
    return 1 + 4 * (index + 5) ** -0.4


def stuck(index: int) -> float:
    return falling(min(index, 80))


def types(found: Replay) -> list[ConditionType]:
    return [condition.type for condition in found.conditions]


def only(found: Replay, kind: ConditionType) -> list[int]:
    return [condition.detected_step for condition in found.conditions if condition.type is kind]


def stands(insight: RunInsight, now: float = 0.0) -> list[ConditionType]:
    return [finding.type for finding in insight.assess(now).findings]


def feed(insight: RunInsight, points: Iterable[Point], total: int | None = None) -> None:
    for point in points:
        insight.observe(point, total_steps=total)


# --- plateau ---------------------------------------------------------------------------------------------------------


def test_a_run_that_learns_is_progressing_and_finishes() -> None:
    found = replay(run(400, loss=noisy(falling)), total_steps=4000)
    assert types(found) == []
    assert [shown.kind for shown in found.timeline] == [Verdict.STARTING, Verdict.PROGRESSING, Verdict.FINISHING]
    assert found.healthy


def test_a_run_that_stands_still_is_plateaued_with_figures_that_can_be_checked() -> None:
    found = replay(run(400, loss=noisy(stuck, 0.02)), total_steps=4800)
    assert types(found) == [ConditionType.PLATEAUED]
    condition = found.conditions[0]
    assert 500 <= condition.since_step <= 1200
    assert condition.detected_step < 0.7 * 4800
    assert condition.until_step is None
    assert not found.healthy
    low, high = condition.evidence["slopeLow"], condition.evidence["slopeHigh"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < high
    assert condition.evidence["slopeUnit"] == "%/h"
    assert "no measurable improvement of loss" in condition.text
    assert "slope 95 % CI [" in condition.text
    assert "if learning rate and data stay as they are, at most" in condition.text
    ahead_hours = 80 * 30 / 3600
    assert condition.evidence["mostPercent"] == pytest.approx(max(0.0, -low * ahead_hours), rel=0.05)


def test_without_a_total_it_is_asked_what_doubling_the_run_would_bring() -> None:
    found = replay(run(1500, loss=noisy(stuck)))
    assert ConditionType.PLATEAUED in types(found)
    assert "if the run were doubled" in found.conditions[0].text


def test_too_noisy_for_a_verdict_is_undecided_and_says_what_it_would_take() -> None:
    insight = RunInsight()
    feed(insight, run(160, loss=noisy(lambda _: 2.0, 0.2)), 20_000)
    assessment = insight.assess(0.0)
    assert assessment.verdict is Verdict.UNDECIDED
    assert "no measurable improvement of loss for" in assessment.text
    assert "a verdict needs about" in assessment.text
    assert "more points" in assessment.text


def test_epoch_staircases_are_no_plateau() -> None:
    def stairs(index: int) -> float:
        return 1.0 * 0.8 ** (index // 60)

    found = replay(
        run(480, loss=noisy(stairs), epoch=lambda index: index / 60),
        total_steps=4800,
    )
    assert only(found, ConditionType.PLATEAUED) == []


def test_a_warm_up_is_no_plateau() -> None:
    found = replay(
        run(300, loss=noisy(lambda index: 2.0 if index < 55 else falling(index - 55) / 2.5, 0.001),
            learning_rate=lambda index: min(1.0, (index + 1) / 58) * 1e-4),
        total_steps=3000,
    )  # fmt: skip
    assert all(step > 580 for step in only(found, ConditionType.PLATEAUED))


def test_a_learning_rate_that_falls_to_nothing_explains_a_flat_end() -> None:
    def rate(index: int) -> float:
        return 1e-3 * 0.5 * (1 + math.cos(math.pi * min(1.0, index / 400)))

    spent = [0.0]
    for index in range(400):
        spent.append(spent[-1] + rate(index))
    found = replay(
        run(400, loss=noisy(lambda index: 3 - 8 * spent[index], 0.002), learning_rate=rate), total_steps=4000
    )
    assert types(found) == []


def test_evaluation_that_stands_still_while_training_learns_is_a_notice() -> None:
    rng = random.Random(3)
    found = replay(
        run(600, loss=noisy(falling), eval_loss=lambda index: 2 + rng.gauss(0, 0.002) if index % 6 == 5 else None),
        total_steps=7000,
    )
    assert ConditionType.EVAL_PLATEAUED in types(found)
    assert ConditionType.PLATEAUED not in types(found)
    assert "loss still falls" in found.final.text
    assert found.healthy


def test_a_reward_is_judged_upwards_and_the_loss_beside_it_is_not_judged_by_level() -> None:
    learning = replay(
        run(400, reward=noisy(lambda index: 300 - 250 * falling(index) / 3), loss=lambda index: 0.001 * (index + 1)),
        total_steps=4000,
    )
    assert types(learning) == []
    assert learning.final.verdict is Verdict.FINISHING
    capped = replay(run(400, reward=noisy(lambda index: min(500.0, 10.0 * index), 0.001)), total_steps=6000)
    assert only(capped, ConditionType.PLATEAUED)


def test_a_plateau_that_breaks_through_is_withdrawn_and_the_history_says_so() -> None:
    def late(index: int) -> float:
        return stuck(index) if index < 500 else 1.2 * math.exp(-(index - 500) / 150)

    found = replay(run(700, loss=noisy(late)), total_steps=8000)
    plateau = next(condition for condition in found.conditions if condition.type is ConditionType.PLATEAUED)
    assert plateau.until_step is not None
    assert 5000 < plateau.until_step < 6500
    assert found.final.verdict is Verdict.PROGRESSING


# --- divergence and what is not finite -------------------------------------------------------------------------------


def test_a_loss_that_leaves_its_best_level_is_diverging_since_then() -> None:
    found = replay(run(300, loss=noisy(lambda index: falling(index) if index < 200 else 6.0)), total_steps=6000)
    assert types(found) == [ConditionType.DIVERGING]
    assert found.conditions[0].since_step in range(1990, 2040, 10)
    assert found.conditions[0].detected_step <= 2200


def test_the_uniform_guess_is_named_as_a_cause() -> None:
    values = [1.6, 11.8, 11.6, 10.9, 10.3735, 10.3735, 10.3735, 10.3735]
    found = replay([Point(step, NAN, {"loss": Cell(value)}) for step, value in enumerate(values, start=1)])
    diverging = next(condition for condition in found.conditions if condition.type is ConditionType.DIVERGING)
    assert "vocabulary of 32,000" in diverging.text


def test_the_gradient_norm_before_it_and_the_learning_rate_are_named_too() -> None:
    found = replay(
        run(
            80,
            loss=noisy(lambda index: falling(index) if index < 60 else 9.0),
            grad_norm=noisy(lambda index: 1.0 if index < 57 else 40.0, 0.1),
            learning_rate=lambda _: 3e-4,
        ),
        total_steps=2000,
    )
    text = next(condition for condition in found.conditions if condition.type is ConditionType.DIVERGING).text
    assert "grad_norm rose to" in text
    assert "the learning rate is at its peak (0.0003)" in text


def test_a_spike_that_recovers_is_no_alarm_but_a_note() -> None:
    found = replay(
        run(300, loss=noisy(lambda index: 30.0 if index in (100, 101, 200) else falling(index))), total_steps=3000
    )
    assert types(found) == []
    assert found.final.notes == ("loss: 2 spikes that recovered, the last at step 2,010",)


def test_a_divergence_that_comes_back_is_withdrawn() -> None:
    found = replay(run(500, loss=noisy(lambda index: 8.0 if 200 <= index < 260 else falling(index))), total_steps=8000)
    diverging = next(condition for condition in found.conditions if condition.type is ConditionType.DIVERGING)
    assert diverging.until_step is not None
    assert 2600 <= diverging.until_step <= 2800


def test_a_restart_may_raise_the_level_for_a_while() -> None:
    insight = RunInsight()
    feed(insight, run(300, loss=noisy(falling)), 6000)
    insight.begin_attempt(10_000.0, step=2990)
    bump = run(40, loss=noisy(lambda _: 3.0))
    feed(insight, [point._replace(step=point.step + 3000) for point in bump], 6000)
    assert ConditionType.DIVERGING not in stands(insight)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_two_reports_that_are_not_finite_turn_the_verdict_and_leave_other_metrics_alone(value: float) -> None:
    insight = RunInsight()
    feed(insight, run(100, loss=noisy(falling), eval_accuracy=lambda index: 0.5 + index / 1000), 2000)
    insight.observe(Point(1010, 3030.0, {"loss": Cell(value), "eval_accuracy": Cell(0.61)}))
    assert insight.assess(0.0).verdict is not Verdict.NON_FINITE
    insight.observe(Point(1020, 3060.0, {"loss": Cell(value), "eval_accuracy": Cell(0.62)}))
    assessment = insight.assess(0.0)
    assert assessment.verdict is Verdict.NON_FINITE
    assert [finding.metric for finding in assessment.findings] == ["loss"]
    assert assessment.since_step == 1010


def test_one_isolated_nan_is_a_note() -> None:
    insight = RunInsight()
    feed(insight, run(60, loss=noisy(falling), eval_loss=lambda index: NAN if index == 30 else falling(index)), 1000)
    assert stands(insight) == []
    assert any("not finite at step 310" in note for note in insight.assess(0.0).notes)


def test_a_point_most_of_whose_samples_were_bad_is_not_finite() -> None:
    insight = RunInsight()
    feed(insight, [Point(step, float(step), {"loss": Cell(1.0, 10, 0.0, 9)}) for step in (1, 2)])
    assert stands(insight) == [ConditionType.NON_FINITE]
    mostly_good = RunInsight()
    feed(mostly_good, [Point(step, float(step), {"loss": Cell(1.0 + step, 10, 0.0, 1)}) for step in (1, 2)])
    assert stands(mostly_good) == []


def test_zero_with_a_gradient_that_is_not_finite_is_a_hidden_nan() -> None:
    insight = RunInsight()
    feed(insight, run(50, loss=noisy(falling), grad_norm=noisy(lambda _: 1.0)), 1000)
    for step in (510, 520):
        insight.observe(Point(step, float(step), {"loss": Cell(0.0), "grad_norm": Cell(NAN)}))
    finding = insight.assess(0.0).findings[0]
    assert (finding.type, finding.metric) == (ConditionType.NON_FINITE, "loss")
    assert "0.0 in place of NaN" in finding.text


def test_zero_with_finite_companions_is_a_small_loss() -> None:
    found = replay(
        run(100, loss=lambda index: max(0.0, round(0.01 - index / 5000, 4)), grad_norm=noisy(lambda _: 1.0)),
        total_steps=1000,
    )
    assert ConditionType.NON_FINITE not in types(found)
    assert ConditionType.DIVERGING not in types(found)


def test_not_finite_is_withdrawn_when_it_is_finite_again() -> None:
    found = replay(run(120, loss=lambda index: NAN if 50 <= index < 60 else falling(index)), total_steps=2000)
    condition = next(condition for condition in found.conditions if condition.type is ConditionType.NON_FINITE)
    assert (condition.since_step, condition.detected_step, condition.until_step) == (510, 520, 630)


# --- frozen and stale ------------------------------------------------------------------------------------------------


def test_a_series_constant_to_the_last_digit_is_frozen_and_plateaued() -> None:
    found = replay(run(200, loss=lambda index: falling(min(index, 60))), total_steps=3000)
    assert ConditionType.FROZEN in types(found)
    assert ConditionType.PLATEAUED in types(found)


def test_what_never_had_another_value_is_frozen_only_where_it_measures_learning() -> None:
    constant = replay(
        run(200, loss=noisy(falling), **{"clip_ratio": lambda _: 0.0, "completions/max_length": lambda _: 12.0}),
        total_steps=3000,
    )
    assert types(constant) == []
    dead = replay(run(200, loss=lambda _: 0.6931, grad_norm=lambda index: 1.0 / (index + 1)), total_steps=3000)
    assert ConditionType.FROZEN in types(dead)
    stuck = replay(run(200, loss=noisy(falling), entropy=lambda index: max(0.2, 2.0 - index / 20)), total_steps=3000)
    assert ConditionType.FROZEN in types(stuck)


def test_an_old_value_sent_along_is_not_a_plateau() -> None:
    found = replay(
        run(400, loss=noisy(falling), eval_loss=lambda index: 1.1 * falling(20 * (index // 20)) / 2),
        total_steps=4000,
    )
    assert types(found) == []


# --- overfitting -----------------------------------------------------------------------------------------------------


def test_evaluation_that_gets_worse_while_training_gets_better_is_overfitting() -> None:
    rng = random.Random(5)

    def evaluation(index: int) -> float | None:
        if index % 10 != 9:
            return None
        return 1.0 + abs(index - 100) / 200 + rng.gauss(0, 0.01)

    found = replay(
        run(400, loss=noisy(lambda index: 2 * math.exp(-index / 150)), eval_loss=evaluation), total_steps=4000
    )
    condition = next(condition for condition in found.conditions if condition.type is ConditionType.OVERFITTING)
    assert 800 <= condition.since_step <= 1300
    assert condition.detected_step < 2500
    assert condition.evidence["trainChangePercent"] < -15
    assert "worse now" in condition.text


def test_noise_of_evaluations_is_not_overfitting() -> None:
    rng = random.Random(6)
    found = replay(
        run(
            400,
            loss=noisy(falling),
            eval_loss=lambda index: falling(index) * (1 + rng.gauss(0, 0.05)) if index % 5 == 4 else None,
        ),
        total_steps=4000,
    )
    assert ConditionType.OVERFITTING not in types(found)


# --- the whole -------------------------------------------------------------------------------------------------------


def test_findings_of_others_are_weighed_and_all_are_kept() -> None:
    insight = RunInsight()
    feed(insight, run(400, loss=noisy(stuck)), 4800)
    stalled = Finding(type=ConditionType.STALLED, since_t=1.0, text="no step for 25 min")
    assessment = insight.assess(0.0, others=[stalled])
    assert assessment.verdict is Verdict.STALLED
    assert [finding.type for finding in assessment.findings] == [ConditionType.STALLED, ConditionType.PLATEAUED]


def test_ten_minutes_left_is_finishing_but_not_of_a_run_that_has_just_begun() -> None:
    insight = RunInsight()
    feed(insight, run(425, loss=noisy(falling)), 5000)
    assert insight.assess(0.0).verdict is Verdict.PROGRESSING
    assert insight.assess(0.0, eta_seconds=300.0).verdict is Verdict.FINISHING
    begun = RunInsight()
    feed(begun, run(100, loss=noisy(falling)), 100_000)
    assert begun.assess(0.0, eta_seconds=300.0).verdict is Verdict.PROGRESSING


def test_a_late_point_changes_nothing_and_a_rollback_forgets_what_it_passes_again() -> None:
    insight, other = RunInsight(), RunInsight()
    points = run(200, loss=noisy(falling))
    feed(insight, points, 3000)
    feed(other, points, 3000)
    other.observe(points[20])
    assert insight.assess(0.0) == other.assess(0.0)
    again = [point._replace(t=point.t + 10_000) for point in points[100:]]
    feed(other, again, 3000)
    counts = [one._run.watches["loss"].series.count for one in (other, insight)]
    assert abs(counts[0] - counts[1]) <= 8


def test_nothing_can_be_said_without_a_metric_that_has_a_direction() -> None:
    insight = RunInsight()
    feed(insight, run(100, things=float))
    assert insight.assess(0.0).verdict is Verdict.STARTING
    declared = RunInsight(directions={"bleu": "max"})
    feed(declared, run(100, bleu=noisy(lambda index: 40 - falling(index), 0.001)))
    assert declared.assess(0.0).verdict is Verdict.PROGRESSING


def test_a_loss_near_zero_by_design_says_nothing() -> None:
    rng = random.Random(8)
    around = replay(run(300, loss=lambda _: rng.gauss(0, 0.01)), total_steps=3500)
    rising = replay(
        run(300, loss=lambda index: 0.0001 + 0.0002 * index * math.exp(rng.gauss(0, 0.1))), total_steps=3500
    )
    assert types(around) == types(rising) == []
    assert "near zero" in around.final.text


def test_the_words_of_progress_never_quote_a_slope_that_is_none() -> None:
    rng = random.Random(1)
    points = run(600, loss=lambda index: 1.8 + 2.2 * math.exp(-index / 30) + rng.gauss(0, 0.02))
    insight, said = RunInsight(), set[str]()
    for point in points:
        insight.observe(point, total_steps=20_000)
        assessment = insight.assess(point.t)
        if assessment.verdict is Verdict.PROGRESSING:
            said.add(assessment.text)
    assert any(text.startswith("loss falls: slope 95 % CI [-") for text in said)
    assert not any(text.startswith("loss falls: slope 95 % CI [+") for text in said)
    assert any("but at the last look" in text for text in said)
