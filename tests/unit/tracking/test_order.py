"""Folding is a join: no order, repetition, loss or delay of reports matters to what is shown."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.protocol.codec import encode
from headway.protocol.job import JobKey
from headway.protocol.report import Checkpoint, EndingKind, Envelope, Phase, Report, RunInfo
from headway.testing.reports import SyntheticRun
from headway.tracking.document import dump, load
from headway.tracking.fold import fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

NOW = 1_900_000_000.0
METRICS = ("loss", "eval_loss", "accuracy", "learning_rate")


@dataclass(frozen=True)
class Sent:
    """A report, and when it was sent."""

    at: float
    report: Report


@st.composite
def streams(draw) -> list[Sent]:
    """What several attempts send, in order: restarts that begin lower, ranks that beat, an evaluation that reports too."""
    sent: list[Sent] = []
    clock = 1_000_000.0
    attempts = draw(st.integers(1, 4))
    step = 0
    for number in range(1, attempts + 1):
        total = draw(st.sampled_from([None, 50, 100]))
        run = SyntheticRun(f"run-{number}", f"attempt-{number}", total=total)
        beats = SyntheticRun(f"beat-{number}", f"attempt-{number}", total=total, rank=1, world_size=2)
        evaluation = SyntheticRun(f"zz-eval-{number}", f"attempt-{number}", total=10)
        step = draw(st.integers(0, step))
        began = clock
        for index in range(draw(st.integers(1, 8))):
            clock += draw(st.floats(0.5, 5.0))
            step += draw(st.integers(0, 9))
            names = draw(st.lists(st.sampled_from(METRICS), unique=True, max_size=3))
            values = {name: draw(st.floats(-10, 10) | st.sampled_from([float("nan"), float("inf")])) for name in names}
            more = {"epoch": step / 10, "phase": draw(st.sampled_from([Phase.TRAIN, Phase.EVAL, Phase.CHECKPOINT]))}
            if total is not None and draw(st.integers(0, 9)) == 0:
                run.total = total = total + 50
            if draw(st.booleans()):
                more["checkpoint"] = Checkpoint(step=step)
            if index == 0:
                more["job"] = RunInfo(framework="pytorch", metrics={"accuracy": "max"}, config={"lr": number / 10})
            sent.append(Sent(clock, run.at(step, t=clock - began, metrics=values, **more)))
            if draw(st.booleans()):
                sent.append(Sent(clock + 0.1, beats.beat(step, t=clock - began)))
            if index > 0 and draw(st.integers(0, 4)) == 0:
                sent.append(Sent(clock + 0.2, evaluation.at(index, t=float(index), metrics={"loss": -99.0})))
        if draw(st.booleans()):
            clock += 1.0
            kind = draw(st.sampled_from([EndingKind.FAILED, EndingKind.COMPLETED, EndingKind.CANCELLED]))
            sent.append(Sent(clock, run.end(kind, step, t=clock - began)))
        clock += draw(st.floats(5.0, 100.0))
    return sent


def new_job() -> TrackedJob:
    return TrackedJob(JobKey("local", "job"), "uid", created_at=0.0, updated_at=0.0)


def shown(job: TrackedJob) -> dict:
    document = encode(replace(view(job, NOW), eta=None))
    document["attempts"].sort(key=lambda attempt: attempt["ordinal"])
    return _rounded(document)


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 3) if isinstance(value, float) else value


def fold_all(arrivals: list[tuple[Sent, float]]) -> TrackedJob:
    """Folds reports as they arrive, each delayed by so much and saying so."""
    job = new_job()
    for sent, delay in arrivals:
        fold_report(job, sent.report, Envelope(age=delay), sent.at + delay)
    return job


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.randoms(use_true_random=False), st.floats(0.0, 0.5))
def test_any_interleaving_doubling_loss_and_delay(stream: list[Sent], shuffle: random.Random, loss: float):
    kept = [one for one in stream if shuffle.random() >= loss]
    ordered = fold_all([(one, 0.0) for one in kept])
    arrivals = [one for one in kept for _ in range(shuffle.choice((1, 1, 2, 3)))]
    shuffle.shuffle(arrivals)
    disordered = fold_all([(one, shuffle.uniform(0.0, 1000.0)) for one in arrivals])
    assert shown(disordered) == shown(ordered)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.randoms(use_true_random=False))
def test_a_restart_of_the_server_at_any_moment_changes_nothing(stream: list[Sent], choose: random.Random):
    writers = [one for one in stream if one.report.status is not None]  # those that only beat are not stored
    job = new_job()
    for one in writers:
        fold_report(job, one.report, Envelope(), one.at)
        if choose.random() < 0.3:
            job = load(dump(job, one.at))
    assert shown(job) == shown(fold_all([(one, 0.0) for one in writers]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams())
def test_percent_only_grows_within_an_attempt(stream: list[Sent]):
    job = new_job()
    last: dict[str, int] = {}
    totals: dict[str, int | None] = {}
    for one in stream:
        fold_report(job, one.report, Envelope(), one.at)
        seen = view(job, one.at)
        attempt, percent = seen.attempts[-1].id, seen.progress.percent
        if percent is None or seen.attempts[-1].last_step is None:
            continue
        if totals.get(attempt) == seen.progress.total_steps:
            assert percent >= last.get(attempt, 0)
        assert percent < 100 or seen.state == "Complete"
        last[attempt], totals[attempt] = percent, seen.progress.total_steps
