"""Attempts: which is current, what a late report may change, who writes progress."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.protocol.job import JobKey, State
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Ending, EndingKind, Envelope, Report, RunInfo
from headway.testing.reports import SyntheticRun, sdk_post, transformers_begin, transformers_last, transformers_post
from headway.tracking.fold import Folded, fold_lifecycle, fold_registration, fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

DIRECT = Envelope()


class Tracked:
    """A job, and a clock."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.job = TrackedJob(JobKey("local", "job"), "uid", self.now, self.now)

    def takes(self, report: Report, *, envelope: Envelope = DIRECT, after: float = 1.0) -> Folded:
        self.now += after
        return fold_report(self.job, report, envelope, self.now)

    @property
    def shown(self):
        return view(self.job, self.now)


def crashed_and_resumed() -> tuple[Tracked, SyntheticRun, SyntheticRun]:
    job = Tracked()
    first, second = SyntheticRun("run-a", "attempt-1"), SyntheticRun("run-b", "attempt-2")
    for step in range(1, 213):
        job.takes(first.at(step, t=float(step)))
    job.now += 60.0
    for step in range(201, 204):
        job.takes(second.at(step, t=float(step - 200)))
    return job, first, second


def test_a_crash_at_212_resumed_at_200():
    """C6."""
    job, *_ = crashed_and_resumed()
    shown = job.shown
    assert [(one.ordinal, one.id, one.first_step, one.last_step) for one in shown.attempts] == [
        (1, "attempt-1", 1, 212),
        (2, "attempt-2", 201, 203),
    ]
    assert shown.attempts[1].resumed_from_step == 200
    assert shown.resumed == "resumed at 20 %"
    assert (shown.progress.step, shown.progress.percent) == (203, 20)


def test_a_run_that_says_where_it_began_is_believed():
    """Where values come from a device, few of a second's steps have one, and the first point tells a later beginning."""
    job = Tracked()
    job.takes(SyntheticRun("run-a", "attempt-1").at(212))
    second = SyntheticRun("run-b", "attempt-2")
    job.takes(second.at(237, job=RunInfo(start_step=200)))
    attempt = job.shown.attempts[1]
    assert (attempt.resumed_from_step, attempt.first_step, attempt.last_step) == (200, 201, 237)
    for nonsense in (-1, 10**30):
        job.takes(second.at(238, job=RunInfo(start_step=nonsense)))
        assert job.shown.attempts[1].resumed_from_step == 236


def test_steps_of_both_attempts_are_kept_under_their_own_names():
    job = Tracked()
    first, second = SyntheticRun("run-a", "attempt-1"), SyntheticRun("run-b", "attempt-2")
    assert job.takes(first.at(205)).history.attempt == "attempt-1"
    assert job.takes(second.at(205)).history.attempt == "attempt-2"


def test_a_late_report_of_the_first_attempt_changes_its_history_alone():
    """C7."""
    job, first, _ = crashed_and_resumed()
    late = first.at(213, t=213.0, metrics={"loss": 7.0})
    before = job.shown
    folded = fold_report(job.job, late, Envelope(age=job.now - 1_000_213.0), job.now)
    assert folded.history.attempt == "attempt-1"
    after = job.shown
    assert after.attempts[0].last_step == 213
    assert replace(after, attempts=()) == replace(before, attempts=())
    assert after.attempts[1] == before.attempts[1]


def test_a_late_report_does_not_bring_an_older_attempt_back_even_without_its_age():
    job, first, _ = crashed_and_resumed()
    job.takes(first.at(213, t=213.0))
    assert job.shown.attempts[-1].id == "attempt-2"
    assert job.shown.progress.step == 203


def test_the_best_value_survives_attempts():
    job = Tracked()
    job.takes(SyntheticRun("a", "attempt-1").at(10, metrics={"loss": 0.5, "bleu": 30.0}))
    info = RunInfo(metrics={"bleu": "max"})
    job.takes(SyntheticRun("b", "attempt-2").at(5, metrics={"loss": 0.9, "bleu": 20.0}, job=info))
    assert job.shown.metrics == {"loss": 0.9, "bleu": 20.0}
    assert job.shown.best == {"loss": 0.5, "bleu": 30.0}


def test_a_resumed_attempt_keeps_the_total_until_it_names_its_own():
    """B2."""
    job = Tracked()
    job.takes(SyntheticRun("a", "attempt-1", total=1000).at(900))
    job.takes(SyntheticRun("b", "attempt-2", total=None).at(900))
    assert (job.shown.progress.total_steps, job.shown.progress.percent) == (1000, 90)


def test_an_attempt_that_has_told_no_step_yet_shows_where_the_last_one_stood():
    job = Tracked()
    job.takes(SyntheticRun("a", "attempt-1").at(400))
    fold_registration(job.job, Registration(runner="runner", attempt="attempt-2"), job.now)
    assert job.shown.progress.percent == 40
    assert job.shown.resumed is None


def test_an_attempt_that_stopped_early_is_called_so_also_when_it_is_not_the_newest():
    job = Tracked()
    early, again = SyntheticRun("run-a", "attempt-1"), SyntheticRun("run-b", "attempt-2")
    job.takes(early.at(400))
    job.takes(early.end(EndingKind.COMPLETED, 400))
    before = job.shown.attempts[0].ending
    job.takes(again.at(401))
    job.takes(again.end(EndingKind.COMPLETED, 1000))
    kinds = [one.ending.kind for one in job.shown.attempts if one.ending is not None]
    assert before is not None
    assert kinds == [before.kind, EndingKind.COMPLETED] == [EndingKind.EARLY_STOPPED, EndingKind.COMPLETED]


def test_a_restart_from_the_beginning_is_said():
    job = Tracked()
    job.takes(SyntheticRun("a", "attempt-1").at(400))
    job.takes(SyntheticRun("b", "attempt-2").at(0, metrics={}))
    assert job.shown.resumed == "restarted from the beginning"
    assert job.shown.progress.percent == 0


def test_attempts_numbered_by_their_launcher_are_in_its_order():
    job = Tracked()
    for number in (10, 9, 2, 11):
        job.takes(SyntheticRun(f"run-{number}", f"slurm-77-{number}").at(number))
    assert [one.id for one in job.shown.attempts] == ["slurm-77-2", "slurm-77-9", "slurm-77-10", "slurm-77-11"]


def test_an_evaluation_script_within_a_living_attempt_is_auxiliary():
    job = Tracked()
    run, evaluation = SyntheticRun("run-a"), SyntheticRun("run-b", total=10)
    job.takes(run.at(100))
    folded = job.takes(evaluation.at(10, metrics={"loss": 99.0}))
    job.takes(run.at(101))
    job.takes(evaluation.end(EndingKind.COMPLETED, 10))
    shown = job.shown
    assert (shown.state, shown.progress.step, shown.progress.total_steps) == (State.RUNNING, 101, 1000)
    assert shown.metrics["loss"] < 1
    assert [(rank.run, rank.auxiliary) for rank in shown.ranks] == [("run-a", False), ("run-b", True)]
    assert folded.history.attempt == "attempt-1/run-b"


def test_an_evaluation_after_the_training_is_auxiliary_too():
    job = Tracked()
    run = SyntheticRun("run-a", total=10)
    job.takes(run.at(10))
    job.takes(run.end(EndingKind.COMPLETED, 10))
    job.takes(SyntheticRun("run-b", total=5).at(1))
    assert (job.shown.state, job.shown.progress.percent) == (State.COMPLETE, 100)


def test_which_run_is_auxiliary_is_told_by_ids_that_hold_the_time():
    first, second = "01JDX0ZZZZZZZZZZZZZZZZZZZZ", "01JDX1ZZZZZZZZZZZZZZZZZZZZ"
    job = Tracked()
    job.takes(SyntheticRun(second, total=10).at(5))
    job.takes(SyntheticRun(first).at(100))
    assert (job.shown.progress.step, job.shown.progress.total_steps) == (100, 1000)


def test_a_script_started_again_within_its_attempt_goes_on_writing():
    job = Tracked()
    run, again = SyntheticRun("run-a"), SyntheticRun("run-b")
    job.takes(run.at(300))
    job.takes(run.end(EndingKind.FAILED, 300))
    job.takes(again.at(250))
    assert (job.shown.state, job.shown.progress.step) == (State.RUNNING, 300)
    job.takes(again.at(301))
    assert job.shown.progress.step == 301
    assert not any(rank.auxiliary for rank in job.shown.ranks)


def test_a_killed_script_started_again_takes_over_once_the_first_has_been_silent():
    job = Tracked()
    run, again = SyntheticRun("run-a"), SyntheticRun("run-b")
    job.takes(run.at(300))
    job.takes(again.at(301), after=10.0)
    assert job.shown.progress.step == 300
    job.takes(again.at(330), after=30.0)
    assert job.shown.progress.step == 330


def test_a_killed_script_that_its_launcher_started_again_for_a_short_while_has_written_to_the_end():
    job = Tracked()
    fold_registration(job.job, Registration(runner="runner", attempt="attempt-1"), job.now)
    run, again = SyntheticRun("run-a", total=312), SyntheticRun("run-b", total=312)
    job.takes(run.at(300))
    job.takes(again.at(301), after=10.0)
    job.takes(again.at(312))
    job.takes(again.end(EndingKind.COMPLETED, 312))
    ending = Ending(kind=EndingKind.COMPLETED, exit_code=0)
    told = Lifecycle(kind=LifecycleKind.ENDED, runner="runner", attempt="attempt-1", ending=ending)
    fold_lifecycle(job.job, told, job.now)
    assert (job.shown.state, job.shown.progress.step, job.shown.progress.percent) == (State.COMPLETE, 312, 100)
    assert not any(rank.auxiliary for rank in job.shown.ranks)


def test_a_run_of_a_later_start_by_the_launcher_takes_over_at_once():
    job = Tracked()
    run, again = SyntheticRun("run-a"), SyntheticRun("run-b")
    job.takes(run.at(300, job=RunInfo(restarts=0)))
    folded = job.takes(again.at(290, job=RunInfo(restarts=1)))
    assert folded.history.attempt == "attempt-1"
    job.takes(again.at(301))
    assert job.shown.progress.step == 301
    assert not any(rank.auxiliary for rank in job.shown.ranks)


def test_other_ranks_beat_and_never_move_progress():
    job = Tracked()
    job.takes(SyntheticRun(world_size=8).at(450))
    folded = job.takes(SyntheticRun("run-5", rank=5, world_size=8).beat(999))
    assert not folded.keep
    assert job.shown.progress.step == 450
    assert [(rank.rank, rank.step) for rank in job.shown.ranks] == [(0, 450), (5, 999)]
    assert job.shown.attempts[0].world_size == 8


def test_the_rank_that_a_framework_logs_on_writes():
    job = Tracked()
    job.takes(SyntheticRun("run-0", world_size=4).beat())
    last = SyntheticRun("run-3", rank=3, world_size=4)
    job.takes(last.at(7))
    assert (job.shown.progress.step, job.shown.metrics["loss"]) == (7, 0.125)


class TestStockClients:
    """Clients that send neither attempt nor run nor sequence number."""

    def test_one_attempt_until_the_step_falls(self):
        job = Tracked()
        job.takes(transformers_begin(1000))
        for step in range(10, 213, 10):
            job.takes(transformers_post(step, 1000, loss=1.0), after=5.0)
        job.takes(transformers_post(150, 1000, loss=1.0), after=60.0)
        job.takes(transformers_post(160, 1000, loss=1.0), after=5.0)
        shown = job.shown
        assert [(one.ordinal, one.last_step) for one in shown.attempts] == [(1, 210), (2, 160)]
        assert (shown.progress.percent, shown.resumed) == (16, "resumed at 14 %")

    def test_a_post_overtaken_by_the_next_is_no_restart(self):
        job = Tracked()
        for step in (10, 20, 40, 30, 50):
            folded = job.takes(transformers_post(step, 1000, loss=1.0))
            assert folded.history.points[0].step == step
        assert len(job.shown.attempts) == 1
        assert job.shown.progress.step == 50

    def test_the_post_with_which_transformers_begins_begins_an_attempt(self):
        job = Tracked()
        for step in range(100, 500, 100):
            job.takes(transformers_post(step, 1000))
        job.takes(transformers_begin(1000))
        job.takes(transformers_post(450, 1000))
        assert [one.last_step for one in job.shown.attempts] == [400, 450]

    def test_a_relay_gives_identity(self):
        job = Tracked()
        envelope = Envelope(attempt="runner-1", run="relay-1", seq=1)
        first = job.takes(transformers_post(10, 100, loss=1.0), envelope=envelope)
        again = job.takes(transformers_post(10, 100, loss=1.0), envelope=envelope)
        assert (first.duplicate, again.duplicate) == (False, True)
        assert first.history[:3] == again.history[:3] == ("runner-1", "relay-1", 1)

    def test_a_post_of_a_registered_job_belongs_to_its_attempt(self):
        job = Tracked()
        fold_registration(job.job, Registration(runner="runner", attempt="attempt-1"), job.now)
        fold_lifecycle(job.job, Lifecycle(kind=LifecycleKind.STARTED, runner="runner", attempt="attempt-1"), job.now)
        job.takes(transformers_post(10, 100))
        assert [one.id for one in job.shown.attempts] == ["attempt-1"]

    def test_one_point_per_post_of_what_is_a_number(self):
        job = Tracked()
        folded = job.takes(sdk_post(45, loss="0.25", grad_norm="-inf", note="hello", current_step="450"))
        (point,) = folded.history.points
        assert point.step == 450
        assert {name: cell.mean for name, cell in point.metrics.items()} == {"loss": 0.25, "grad_norm": float("-inf")}

    def test_a_client_that_counts_no_steps_is_shown_by_its_percentage(self):
        job = Tracked()
        for percent in (10, 20, 99):
            job.takes(sdk_post(percent, loss=0.5))
        assert (job.shown.progress.percent, job.shown.progress.step) == (99, None)
        job.takes(sdk_post(100, loss=0.5))
        assert (job.shown.state, job.shown.progress.percent) == (State.COMPLETE, 100)

    def test_posting_on_after_100_percent_means_that_it_was_not_the_end(self):
        job = Tracked()
        for report in (transformers_post(900, 1000), transformers_last(loss=1.0), transformers_post(950, 1000)):
            job.takes(report)
        assert (job.shown.state, job.shown.progress.percent) == (State.RUNNING, 95)


@pytest.mark.parametrize("name", ["a b", "x/y", "métrique", "\x07bell", "<b>bold</b>", "", "🚀"])
def test_names_are_kept_as_they_are(name: str):
    """D6."""
    job = Tracked()
    job.takes(SyntheticRun(f"run-{name}", f"attempt-{name}").at(1, metrics={f"m-{name}": 1.0}))
    assert job.shown.metrics == {f"m-{name}": 1.0}
    assert job.shown.attempts[0].id == f"attempt-{name}"


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_finite_come_back_and_leave_the_rest_alone(bad: float):
    """D1."""
    job = Tracked()
    run = SyntheticRun()
    job.takes(run.at(1, metrics={"loss": 0.5, "accuracy": 0.7}))
    job.takes(run.at(2, metrics={"loss": bad, "accuracy": 0.8}))
    assert repr(job.shown.metrics["loss"]) == repr(bad)
    assert job.shown.metrics["accuracy"] == 0.8
    assert job.shown.best == {"loss": 0.5, "accuracy": 0.8}


def test_numbers_that_nothing_can_store_are_left_out():
    job = Tracked()
    run = SyntheticRun()
    strange = run.at(2**70, t=float("nan"), last_step_age=float("inf"), epoch=float("nan"))
    folded = job.takes(strange)
    assert folded.history is None
    assert job.shown.progress.epoch is None
