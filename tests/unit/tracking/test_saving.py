"""CheckpointLate: later than the job's own habit of saving explains."""

from __future__ import annotations

import pytest

from headway.protocol.job import JobKey, Spec
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Checkpoint, EndingKind, Envelope, Report
from headway.protocol.verdict import Condition, ConditionType
from headway.testing.reports import SyntheticRun
from headway.tracking.conditions.merge import standing
from headway.tracking.conditions.patience import Patience
from headway.tracking.conditions.sweep import sweep
from headway.tracking.fold import fold_lifecycle, fold_registration, fold_report
from headway.tracking.tracked import TrackedJob

PATIENCE = Patience()


class Saving:
    """A job of one step a second, on a clock of its own."""

    def __init__(self, price: float | None = 36.0) -> None:
        self.now = 1_000_000.0
        self.job = TrackedJob(JobKey("local", "job"), "uid", self.now, self.now)
        self.price = price
        self.begin("attempt-1")

    def begin(self, attempt: str) -> None:
        spec = Spec(price_per_hour=self.price)
        fold_registration(self.job, Registration(runner="runner", attempt=attempt, spec=spec), self.now)
        self.runner(LifecycleKind.STARTED, attempt)
        self.attempt, self.run, self.began = attempt, SyntheticRun(run=attempt, attempt=attempt), self.now

    def runner(self, kind: LifecycleKind, attempt: str) -> None:
        fold_lifecycle(self.job, Lifecycle(kind=kind, runner="runner", attempt=attempt), self.now)

    def takes(self, report: Report) -> None:
        fold_report(self.job, report, Envelope(), self.now)

    def steps(self, first: int, last: int, *, every: int | None = None) -> None:
        """From ``first`` to ``last``, saving ``every`` so many steps."""
        for step in range(first, last + 1, 10):
            self.now += 10.0
            saved = Checkpoint(step=step) if every is not None and step % every == 0 else None
            self.takes(self.run.at(step, t=self.now - self.began, checkpoint=saved))
            self.runner(LifecycleKind.ALIVE, self.attempt)
            sweep(self.job, self.now, 0.0, PATIENCE)

    @property
    def late(self) -> Condition | None:
        found = [one for one in standing(self.job.conditions) if one.type is ConditionType.CHECKPOINT_LATE]
        return found[0] if found else None


def test_a_run_that_saves_as_usual_is_not_late():
    job = Saving()
    job.steps(10, 2000, every=200)
    assert job.late is None


def test_three_times_the_usual_steps_without_a_checkpoint_are_late_and_the_next_one_withdraws_it():
    job = Saving()
    job.steps(10, 1000, every=200)
    job.steps(1010, 1600)
    assert job.late is None
    job.steps(1610, 1800)
    assert job.late is not None
    assert (job.late.since_step, job.late.since) == (1000, 1_001_000.0)
    assert job.late.evidence == {
        "step": 1800,
        "lastCheckpointStep": 1000,
        "stepsAtRisk": 800,
        "secondsAtRisk": 800.0,
        "moneyAtRisk": 8.0,
        "usualSteps": 200,
        "limitSteps": 600.0,
    }
    assert job.late.text == (
        "no checkpoint for 800 steps (13 min, 8.0 at the job's price), since the one at step 1,000; "
        "usually there is one every 200 steps"
    )
    job.steps(1810, 2000, every=2000)
    assert job.late is None


def test_without_a_price_there_is_no_money():
    job = Saving(price=None)
    job.steps(10, 1000, every=200)
    job.steps(1010, 1800)
    assert job.late is not None
    assert job.late.evidence["moneyAtRisk"] is None
    assert "price" not in job.late.text


@pytest.mark.parametrize("every", [None, 500])
def test_a_job_whose_habit_is_not_known_is_not_judged(every):
    job = Saving()
    job.steps(10, 1000, every=every)
    job.steps(1010, 9000)
    assert job.late is None


def test_work_of_a_few_minutes_is_not_at_risk():
    job = Saving()
    job.steps(10, 60, every=10)
    job.steps(70, 350)
    assert job.late is None
    job.steps(360, 370)
    assert job.late is not None


def test_an_attempt_that_saves_no_more_though_the_one_before_did_is_late():
    job = Saving()
    job.steps(10, 1000, every=200)
    job.takes(job.run.end(EndingKind.FAILED, 1000, t=job.now - job.began))
    job.runner(LifecycleKind.ENDED, "attempt-1")
    job.now += 60.0
    job.begin("attempt-2")
    job.steps(1010, 1900)
    assert job.late is not None
    assert job.late.evidence["lastCheckpointStep"] is None
    assert "none in this attempt yet" in job.late.text


def test_one_that_saves_only_now_and_then_is_given_twice_its_longest_gap():
    job = Saving()
    for first, last in ((10, 100), (110, 300), (310, 1000), (1010, 1100)):
        job.steps(first, last, every=last)
    job.steps(1110, 2400)
    assert job.late is None
    job.steps(2410, 2600)
    assert job.late is not None
