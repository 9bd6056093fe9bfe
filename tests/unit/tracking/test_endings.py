"""How jobs end, and in what words: by the platform's word, refined by the run's own, with 100 % never made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.job import JobKey, State
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Checkpoint, Ending, EndingKind, Envelope, Report, RunInfo
from headway.protocol.wire import decode_report
from headway.testing.reports import SyntheticRun, sdk_post, transformers_begin, transformers_last, transformers_post
from headway.tracking.actions import fold_action
from headway.tracking.fold import fold_lifecycle, fold_registration, fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

WIRE = Path(__file__).parents[3].parent / "shared" / "cases" / "wire"

DIRECT = Envelope()


class Tracked:
    """A job, and a clock."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.job = TrackedJob(JobKey("local", "job"), "uid", self.now, self.now)

    def takes(self, report: Report, *, envelope: Envelope = DIRECT, after: float = 1.0) -> None:
        self.now += after
        fold_report(self.job, report, envelope, self.now)

    def runner(self, kind: LifecycleKind, attempt: str = "attempt-1", **more) -> None:
        self.now += 1.0
        fold_lifecycle(self.job, Lifecycle(kind=kind, runner="runner", attempt=attempt, **more), self.now)

    def registered(self, attempt: str = "attempt-1") -> Tracked:
        fold_registration(self.job, Registration(runner="runner", attempt=attempt), self.now)
        self.runner(LifecycleKind.STARTED, attempt)
        return self

    def ends(self, kind: EndingKind, attempt: str = "attempt-1", *, restarting: bool = False, **details) -> None:
        ending = Ending(kind=kind, **details)
        self.runner(LifecycleKind.ENDED, attempt, ending=ending, restarting=restarting)

    @property
    def shown(self):
        return view(self.job, self.now)


STOCK = Envelope(attempt="attempt-1", run="relay")


def transformers(job: Tracked, *, steps: range, total: int, per_epoch: float) -> None:
    """Posts as Transformers' callback sends them, through a relay."""
    job.takes(transformers_begin(total), envelope=STOCK)
    for step in steps:
        job.takes(transformers_post(step, total, epoch=step / per_epoch, loss=1 / step), envelope=STOCK, after=5.0)


@pytest.mark.parametrize("runner", [True, False])
def test_an_early_stop_of_transformers_own_callback(runner: bool):
    """B8: it posts a bare 100 % and no step."""
    job = Tracked()
    if runner:
        job.registered()
    transformers(job, steps=range(7, 398, 13), total=1000, per_epoch=1000 / 3)
    job.takes(transformers_last(loss=0.1, epoch=400 / (1000 / 3), train_runtime=600.1), envelope=STOCK)
    if runner:
        assert job.shown.state is State.RUNNING
        assert job.shown.progress.percent == 40
        job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.summary == "Complete (early stopped at 400/1000)"
    assert job.shown.progress.percent == 40
    assert job.shown.ending.kind is EndingKind.EARLY_STOPPED
    assert (job.shown.ending.step, job.shown.ending.total_steps) == (400, 1000)


def test_an_early_stop_without_the_exact_epoch_keeps_the_last_step_seen():
    if not WIRE.is_dir():
        pytest.skip("needs the wire fixtures in ../shared/cases")
    job = Tracked().registered()
    for name in ("stock-transformers", "stock-transformers-last"):
        job.takes(decode_report(json.loads((WIRE / f"{name}.json").read_text())), envelope=STOCK)
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.summary == "Complete (early stopped at 450/1000)"
    assert job.shown.progress.percent == 45
    assert job.shown.metrics["train_runtime"] == 600.1


@pytest.mark.parametrize(
    ("total", "epochs", "last_seen"), [(1000, 3, 987), (60, 2, 31), (2000, 1, 1900), (177, 3, 160)]
)
def test_a_normal_end_of_throttled_posts_reads_total_of_total(total: int, epochs: int, last_seen: int):
    job = Tracked().registered()
    transformers(job, steps=range(1, last_seen + 1, 10), total=total, per_epoch=total / epochs)
    job.takes(transformers_last(loss=0.1, epoch=float(epochs)), envelope=STOCK)
    assert job.shown.progress.percent < 100
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.summary == "Complete"
    assert (job.shown.progress.percent, job.shown.progress.step) == (100, total)


def test_steps_that_a_throttled_client_never_posted_are_not_called_an_early_stop():
    """The Kubeflow SDK drops every call within five seconds of the last one, the very last call too."""
    job = Tracked().registered()
    for step in (0, 40, 80, 120):
        job.takes(sdk_post(step / 1.5, current_step=step, total_steps=150), envelope=STOCK, after=5.0)
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.summary == "Complete (last heard of at 120/150)"
    assert job.shown.ending.kind is EndingKind.COMPLETED
    assert job.shown.progress.percent == 80, "nothing is invented"


def test_more_steps_than_a_throttled_client_could_hide_are_an_early_stop():
    job = Tracked().registered()
    for step in (0, 40, 80):
        job.takes(sdk_post(step / 1.5, current_step=step, total_steps=150), envelope=STOCK, after=5.0)
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.summary == "Complete (early stopped at 80/150)"


def test_a_job_whose_runner_is_lost_ends_by_its_own_word_where_it_left_one():
    job, run = Tracked().registered(), SyntheticRun(attempt="attempt-1", total=100)
    job.takes(run.at(99))
    job.job.attempts["attempt-1"].lost_at = job.now
    assert job.shown.state is State.LOST
    job.takes(run.end(EndingKind.COMPLETED, 100))
    assert job.shown.summary == "Complete"
    assert job.shown.progress.percent == 100


def test_a_failure_at_400_of_1000():
    """B9."""
    job = Tracked().registered()
    run = SyntheticRun()
    for step in range(0, 401, 50):
        job.takes(run.at(step))
    job.takes(run.end(EndingKind.FAILED, 400, exception="ValueError", message="no such file"))
    assert job.shown.state is State.RUNNING
    job.ends(EndingKind.FAILED, exit_code=3, log_tail=("Traceback", "ValueError: no such file"))
    shown = job.shown
    assert (shown.state, shown.summary) == (State.FAILED, "Failed at 40 %")
    assert shown.ending == Ending(
        kind=EndingKind.FAILED,
        step=400,
        total_steps=1000,
        exit_code=3,
        exception="ValueError",
        message="no such file",
        log_tail=("Traceback", "ValueError: no such file"),
    )
    assert shown.eta is None
    assert shown.verdict is None
    assert shown.last_contact_age is None


def test_a_job_that_never_reports():
    """B10."""
    job = Tracked().registered()
    assert (job.shown.state, job.shown.summary) == (State.RUNNING, "Running, progress unknown")
    assert job.shown.progress.percent is None
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert (job.shown.state, job.shown.summary) == (State.COMPLETE, "Complete")
    assert job.shown.progress.percent is None


@pytest.mark.parametrize("total", [-1, 0, None, 2**63 - 1])
def test_totals_that_mean_unknown(total: int | None):
    """B4: progress is unknown, not 0; the step, its rate and the last update are shown."""
    job = Tracked().registered()
    run = SyntheticRun(total=total)
    for step in (1, 2, 3):
        job.takes(run.at(step))
    shown = job.shown
    assert shown.progress.percent is None
    assert shown.progress.total_steps is None
    assert shown.summary == "Running, progress unknown"
    assert shown.progress.step == 3
    assert shown.progress.last_step_age == 0.0
    assert shown.updated_at == job.now


def test_a_stock_total_that_means_unknown_makes_a_percentage_of_0_unknown():
    job = Tracked()
    job.takes(sdk_post(0, total_steps=-1))
    assert job.shown.progress.percent is None


def test_past_the_total_is_99_until_the_end_with_one_warning():
    """B3: a callback per micro-batch makes four times as many calls as the total says."""
    job = Tracked().registered()
    run = SyntheticRun(total=100)
    percents = []
    for step in range(1, 401):
        job.takes(run.at(step))
        percents.append(job.shown.progress.percent)
    assert percents == sorted(percents)
    assert percents[-1] == 99
    assert [one for one in job.shown.warnings if "total" in one] == ["step 400 is past the announced total of 100"]
    job.takes(run.end(EndingKind.COMPLETED, 400))
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert (job.shown.progress.percent, job.shown.summary) == (100, "Complete")


def test_percent_is_rounded_down_and_100_only_at_the_end():
    job = Tracked().registered()
    run = SyntheticRun(total=1000)
    job.takes(run.at(999))
    assert job.shown.progress.percent == 99
    job.takes(run.at(1000))
    assert job.shown.progress.percent == 99
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.progress.percent == 100


def test_a_revised_total_is_followed_and_said():
    job = Tracked().registered()
    run = SyntheticRun(total=100)
    job.takes(run.at(50))
    run.total = 200
    job.takes(run.at(60))
    assert job.shown.progress.percent == 30
    assert "the total was revised from 100 to 200 steps" in job.shown.warnings
    said = {one.kind: one.figures for one in job.shown.warning_messages}
    assert said["warning.revisedTotal"] == {"before": 100, "total": 200}


def test_the_platforms_word_wins_over_the_runs_own():
    job = Tracked().registered()
    run = SyntheticRun(total=10)
    job.takes(run.at(10))
    job.takes(run.end(EndingKind.COMPLETED, 10))
    job.ends(EndingKind.FAILED, exit_code=1)
    assert job.shown.state is State.FAILED
    assert job.shown.ending.exit_code == 1
    assert job.shown.progress.percent == 99


def test_an_exit_code_wins_over_the_word_completed():
    job = Tracked().registered()
    job.ends(EndingKind.COMPLETED, exit_code=1)
    assert job.shown.state is State.FAILED


def test_a_signal_is_kept():
    job = Tracked().registered()
    job.takes(SyntheticRun().at(300))
    job.ends(EndingKind.FAILED, exit_code=137, signal="SIGKILL")
    assert (job.shown.summary, job.shown.ending.signal) == ("Failed at 30 %", "SIGKILL")


def test_a_failing_rank_tells_why_when_the_writer_could_not():
    job = Tracked().registered()
    job.takes(SyntheticRun().at(10))
    rank = SyntheticRun("run-3", rank=3, world_size=4)
    job.takes(rank.beat(10, ending=Ending(kind=EndingKind.FAILED, exception="OutOfMemoryError", message="CUDA")))
    job.ends(EndingKind.FAILED, exit_code=1)
    assert job.shown.ending.exception == "OutOfMemoryError"


def test_stopped_on_request_once_the_command_was_acknowledged():
    job = Tracked().registered()
    job.takes(SyntheticRun().at(250))
    fold_action(job.job, "attempt-1", ActionKind.STOP, ActionRequest(by="me"), "stop-1", job.now)
    job.runner(LifecycleKind.ALIVE, acks=("stop-1",))
    assert job.shown.state is State.RUNNING
    job.ends(EndingKind.FAILED, exit_code=143, signal="SIGTERM")
    assert (job.shown.state, job.shown.summary) == (State.STOPPED, "Stopped at 25 %")
    assert job.shown.ending.kind is EndingKind.CANCELLED


def test_a_failure_before_a_stop_was_heard_is_a_failure():
    job = Tracked().registered()
    fold_action(job.job, "attempt-1", ActionKind.STOP, ActionRequest(), "stop-1", job.now)
    job.ends(EndingKind.FAILED, exit_code=1)
    assert job.shown.state is State.FAILED


def test_a_run_that_completes_although_asked_to_stop_is_complete():
    job = Tracked().registered()
    run = SyntheticRun(total=10)
    job.takes(run.at(9))
    fold_action(job.job, "attempt-1", ActionKind.STOP, ActionRequest(), "stop-1", job.now)
    job.runner(LifecycleKind.ALIVE, acks=("stop-1",))
    job.takes(run.end(EndingKind.COMPLETED, 10))
    job.ends(EndingKind.COMPLETED, exit_code=0)
    assert job.shown.state is State.COMPLETE


def test_restarting_is_not_an_end():
    job = Tracked().registered()
    job.takes(SyntheticRun().at(212))
    job.ends(EndingKind.FAILED, exit_code=1, restarting=True)
    assert (job.shown.state, job.shown.ending, job.shown.ended_at) == (State.RESTARTING, None, None)
    assert job.shown.attempts[0].ending.exit_code == 1


@pytest.mark.parametrize(
    ("kind", "state", "summary"),
    [
        (EndingKind.COMPLETED, State.COMPLETE, "Complete (early stopped at 50/1000)"),
        (EndingKind.FAILED, State.FAILED, "Failed at 5 %"),
        (EndingKind.CANCELLED, State.STOPPED, "Stopped at 5 %"),
        (EndingKind.DEADLINE, State.FAILED, "Failed at 5 %"),
        (EndingKind.PREEMPTED, State.STOPPED, "Stopped at 5 %"),
    ],
)
def test_a_job_that_reports_by_itself_ends_by_its_own_word(kind: EndingKind, state: State, summary: str):
    job = Tracked()
    run = SyntheticRun()
    job.takes(run.at(50))
    job.takes(run.end(kind, 50))
    assert (job.shown.state, job.shown.summary) == (state, summary)
    assert job.shown.attempts[0].ended_at == job.now


def test_an_ending_that_comes_before_the_reports_it_ends():
    job = Tracked()
    run = SyntheticRun(total=10)
    late = [run.at(step) for step in (3, 6, 10)]
    job.takes(run.end(EndingKind.COMPLETED, 10))
    for report in late:
        job.takes(report)
    assert (job.shown.state, job.shown.progress.percent) == (State.COMPLETE, 100)


def test_a_run_that_could_not_save_in_its_grace_is_warned_of() -> None:
    job = Tracked()
    run = SyntheticRun()
    told = replace(run.at(50, job=RunInfo(grace=30.0), checkpoint=Checkpoint(step=40, seconds=41.0)))
    job.takes(replace(told, headway=replace(told.headway, progress=replace(told.headway.progress, step_seconds=1.5))))
    (warning,) = job.shown.warnings
    assert warning.startswith("a step and a save took 42 s together, but only 30 s lie between SIGTERM and SIGKILL")
    patient = Tracked()
    patient.takes(SyntheticRun().at(50, job=RunInfo(grace=120.0), checkpoint=Checkpoint(step=40, seconds=41.0)))
    assert patient.shown.warnings == ()


def test_a_run_that_obeyed_a_signal_was_preempted_whatever_its_launcher_exits_with() -> None:
    for code, said in ((0, EndingKind.COMPLETED), (1, EndingKind.FAILED)):
        job = Tracked()
        run = SyntheticRun()
        job.registered()
        job.takes(run.at(50))
        job.takes(run.end(EndingKind.PREEMPTED, 50, signal="SIGTERM"))
        job.ends(said, exit_code=code)
        shown = job.shown
        assert (shown.state, shown.ending.kind, shown.ending.step) == (State.STOPPED, EndingKind.PREEMPTED, 50)
