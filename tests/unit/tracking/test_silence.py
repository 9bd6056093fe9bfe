"""What silence means: Silent, then Lost, and never while the server itself did not listen."""

from __future__ import annotations

import pytest

from headway.protocol.job import JobKey, State
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import EndingKind, Envelope, Report
from headway.protocol.verdict import ConditionType, Verdict
from headway.testing.reports import SyntheticRun, transformers_post
from headway.tracking.conditions.patience import Patience
from headway.tracking.conditions.sweep import sweep
from headway.tracking.fold import fold_lifecycle, fold_registration, fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

PATIENCE = Patience(report_interval=1.0, heartbeat=2.0, lost_after=300.0)


class Watched:
    """A job under a clock that is looked at once a second."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.listening_since = 0.0
        self.job = TrackedJob(JobKey("local", "job"), "uid", self.now, self.now)
        self.alive = False

    def runs(self) -> Watched:
        fold_registration(self.job, Registration(runner="runner", attempt="attempt-1"), self.now)
        self.runner(LifecycleKind.STARTED)
        self.alive = True
        return self

    def runner(self, kind: LifecycleKind) -> None:
        fold_lifecycle(self.job, Lifecycle(kind=kind, runner="runner", attempt="attempt-1"), self.now)

    def takes(self, report: Report, age: float = 0.0) -> None:
        fold_report(self.job, report, Envelope(age=age), self.now)

    def passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1.0
            if self.alive and self.now % 2 == 0:
                self.runner(LifecycleKind.ALIVE)
            sweep(self.job, self.now, self.listening_since, PATIENCE)

    @property
    def shown(self):
        return view(self.job, self.now)


@pytest.mark.parametrize("beat", [1, 5])
def test_a_killed_process_is_silent_within_three_missed_beats_and_five_seconds(beat: int):
    """C1."""
    job = Watched().runs()
    run = SyntheticRun()
    for step in range(1, 31):
        job.takes(run.at(step))
        job.passes(beat)
        assert job.shown.verdict is Verdict.PROGRESSING
    killed = job.now - beat
    while job.shown.verdict is not Verdict.SILENT:
        job.passes(1)
        assert job.now - killed <= 3 * beat + 5
    assert job.shown.state is State.RUNNING
    (condition,) = job.shown.conditions
    assert (condition.type, condition.since, condition.since_step) == (ConditionType.SILENT, killed, 30)


def test_contact_withdraws_silent_and_says_how_long_it_stood():
    job = Watched().runs()
    run = SyntheticRun()
    job.takes(run.at(1))
    job.passes(60)
    job.takes(run.at(2))
    job.passes(1)
    assert job.shown.verdict is Verdict.PROGRESSING
    (condition,) = job.shown.conditions
    assert condition.until == job.now
    assert condition.until_step == 2


def test_a_kept_report_does_not_look_fresh():
    job = Watched().runs()
    job.takes(SyntheticRun().at(1), age=3600.0)
    assert job.shown.last_contact_age == 3600.0
    assert job.shown.progress.last_step_age == 3600.0
    job.passes(1)
    assert job.shown.verdict is Verdict.SILENT


def test_a_job_that_never_reported_is_not_silent():
    job = Watched().runs()
    job.passes(3600)
    assert (job.shown.state, job.shown.conditions) == (State.RUNNING, ())


def test_three_days_at_a_step_a_minute_never_raise_an_alarm():
    """C5, of a client that does not beat: each post is a minute after the last."""
    job = Watched().runs()
    for step in range(1, 3 * 24 * 60):
        fold_report(job.job, transformers_post(step, 10_000, loss=1.0), Envelope(), job.now)
        for _ in range(4):
            job.now += 15.0
            job.runner(LifecycleKind.ALIVE)
            sweep(job.job, job.now, 0.0, PATIENCE)
    assert job.shown.conditions == ()
    assert job.shown.state is State.RUNNING


def test_a_runner_that_dies_leaves_the_job_lost_not_running():
    job = Watched().runs()
    job.takes(SyntheticRun().at(400))
    job.passes(10)
    job.alive = False
    heard = job.job.attempts["attempt-1"].runner_heard_at
    job.passes(8)
    shown = job.shown
    assert (shown.state, shown.summary) == (State.LOST, "Lost at 40 %")
    assert shown.ended_at == heard
    assert shown.verdict is None
    assert all(one.until is not None for one in shown.conditions)


def test_a_late_heartbeat_brings_running_back():
    job = Watched().runs()
    job.alive = False
    job.passes(20)
    assert job.shown.state is State.LOST
    job.runner(LifecycleKind.ALIVE)
    assert (job.shown.state, job.shown.ended_at) == (State.RUNNING, None)


def test_a_job_without_a_runner_is_silent_then_lost_then_back():
    job = Watched()
    run = SyntheticRun()
    job.takes(run.at(100))
    job.passes(30)
    assert job.shown.verdict is Verdict.SILENT
    job.passes(272)
    assert (job.shown.state, job.shown.summary) == (State.LOST, "Lost at 10 %")
    job.takes(run.at(101))
    job.passes(1)
    assert (job.shown.state, job.shown.verdict) == (State.RUNNING, Verdict.PROGRESSING)


def test_a_stock_client_at_its_total_that_falls_silent_is_complete_not_lost():
    job = Watched()
    job.takes(transformers_post(1000, 1000))
    job.passes(1000)
    assert (job.shown.state, job.shown.progress.percent) == (State.COMPLETE, 100)


def test_time_in_which_the_server_did_not_listen_is_not_held_against_a_job():
    job = Watched().runs()
    job.takes(SyntheticRun().at(1))
    job.now += 3600.0
    job.listening_since = job.now
    sweep(job.job, job.now, job.listening_since, PATIENCE)
    assert (job.shown.state, job.shown.conditions) == (State.RUNNING, ())
    job.alive = False
    job.passes(8)
    assert job.shown.state is State.LOST


def test_an_ended_job_is_neither_silent_nor_lost():
    job = Watched()
    run = SyntheticRun()
    job.takes(run.at(100))
    job.passes(10)
    job.takes(run.end(EndingKind.COMPLETED, 100))
    job.passes(3600)
    assert job.shown.state is State.COMPLETE
    assert all(one.until is not None for one in job.shown.conditions)


def test_a_total_that_was_wrong_is_a_notice_that_goes_when_the_total_is_revised():
    job = Watched().runs()
    run = SyntheticRun(total=10)
    job.takes(run.at(12))
    job.passes(1)
    (condition,) = job.shown.conditions
    assert (condition.type, condition.severity, condition.since_step) == (ConditionType.TOTAL_WRONG, "notice", 11)
    run.total = 100
    job.takes(run.at(13))
    job.passes(1)
    assert job.shown.conditions[0].until == job.now
