"""Actions: who is asked what and when, and what is said of it afterwards."""

from __future__ import annotations

import math

import pytest

from headway.errors import ConflictError, InvalidError
from headway.protocol.action import Action, ActionKind, ActionOutcome, ActionRequest, CarriedOut
from headway.protocol.codec import decode, encode
from headway.protocol.directive import DirectiveKind
from headway.protocol.job import Job, JobKey, Spec, State
from headway.protocol.lifecycle import Command, CommandKind, Lifecycle, LifecycleKind, Registration
from headway.protocol.message import Message
from headway.protocol.report import Checkpoint, Ending, EndingKind, Envelope, Report
from headway.testing.reports import SyntheticRun, transformers_post
from headway.tracking.actions import MOST_ACTIONS, ask, commands_for, directives_for
from headway.tracking.conditions.sweep import Patience, sweep
from headway.tracking.document import dump, load
from headway.tracking.fold import fold_lifecycle, fold_registration, fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

ATTEMPT = "attempt-1"


class Steered:
    """A running job with a runner, and a clock."""

    def __init__(self, *, runner: bool = True) -> None:
        self.now = 1_000_000.0
        self.job = TrackedJob(JobKey("local", "job"), "uid", self.now, self.now)
        self.run = SyntheticRun()
        if runner:
            spec = Spec(command=("python", "train.py"))
            fold_registration(self.job, Registration(runner="runner", attempt=ATTEMPT, spec=spec), self.now)
            self.runner(LifecycleKind.STARTED)

    def runner(self, kind: LifecycleKind, attempt: str = ATTEMPT, **more: object) -> tuple[Command, ...]:
        self.now += 1.0
        fold_lifecycle(self.job, Lifecycle(kind=kind, runner="runner", attempt=attempt, **more), self.now)
        return commands_for(self.job, attempt, "runner")

    def takes(self, report: Report, envelope: Envelope | None = None) -> list[DirectiveKind]:
        """What the run that reported is asked in the answer."""
        self.now += 1.0
        folded = fold_report(self.job, report, envelope or Envelope(), self.now)
        asked = directives_for(self.job, folded.attempt, folded.run, self.now)
        self.ids = [each.id for each in asked]
        return [each.kind for each in asked]

    def asks(self, kind: ActionKind, **request: object) -> str:
        identity = f"{kind}-{len(self.job.actions)}"
        ask(self.job, kind, ActionRequest(**request), identity, self.now)
        return identity

    @property
    def shown(self) -> Job:
        return view(load(dump(self.job, self.now)), self.now)

    @property
    def last(self) -> Action:
        """The newest record, as it comes back from the disk and over the wire."""
        return decode(Job, encode(self.shown)).actions[-1]


def test_a_record_says_who_asked_what_why_and_by_when():
    job = Steered()
    job.takes(job.run.at(1))
    job.asks(ActionKind.STOP, by="ann", reason="enough", notice=20.0, grace=5.0)
    action = job.last
    assert (action.kind, action.by, action.reason, action.attempt) == (ActionKind.STOP, "ann", "enough", ATTEMPT)
    assert (action.asked_at, action.deadline, action.grace) == (job.now, job.now + 20.0, 5.0)
    assert (action.acknowledged_at, action.carried_out, action.outcome) == (None, None, None)


def test_a_checkpoint_is_asked_for_until_it_is_saved():
    job = Steered()
    job.asks(ActionKind.CHECKPOINT)
    assert job.takes(job.run.at(1)) == [DirectiveKind.CHECKPOINT]
    assert job.takes(job.run.at(2)) == [DirectiveKind.CHECKPOINT]
    saved = Checkpoint(step=2, seconds=1.0)
    assert job.takes(job.run.at(3, checkpoint=saved, acks=tuple(job.ids))) == []
    assert (job.last.carried_out, job.last.outcome) == (CarriedOut.DIRECTIVE, "saved at step 2")
    assert job.last.acknowledged_at == job.now
    assert job.runner(LifecycleKind.ALIVE) == (), "a runner has no part in it"


def test_a_checkpoint_nobody_saves_is_refused_once_its_time_is_up():
    job = Steered()
    job.takes(job.run.at(1))
    job.asks(ActionKind.CHECKPOINT, notice=10.0)
    job.now += 10.0
    assert job.last.carried_out is None
    assert job.takes(job.run.at(2)) == []
    assert (job.last.carried_out, job.last.outcome) == (CarriedOut.REFUSED, "the run did not save within 10 s")


def test_a_client_that_hears_no_requests_refuses_a_checkpoint_at_once():
    job = Steered()
    job.takes(transformers_post(1, 10), Envelope(attempt=ATTEMPT, run="relay"))
    job.asks(ActionKind.CHECKPOINT)
    assert job.last.outcome == "its client hears no requests"


def test_a_stop_that_saves_asks_to_end_once_it_is_saved():
    job = Steered()
    identity = job.asks(ActionKind.STOP, save=True)
    assert job.takes(job.run.at(1)) == [DirectiveKind.CHECKPOINT]
    (command,) = job.runner(LifecycleKind.ALIVE)
    assert (command.kind, command.save, command.notice) == (CommandKind.STOP, True, 60.0)
    assert job.takes(job.run.at(2, checkpoint=Checkpoint(step=2), acks=tuple(job.ids))) == [DirectiveKind.STOP]
    assert job.ids == [identity]
    assert job.takes(job.run.at(2, acks=(identity,))) == []


def test_a_stop_that_saves_asks_to_end_when_the_time_is_nearly_up():
    job = Steered()
    job.asks(ActionKind.STOP, save=True, notice=60.0)
    job.now += 45.0
    assert job.takes(job.run.at(1)) == [DirectiveKind.CHECKPOINT]
    job.now += 5.0
    assert job.takes(job.run.at(2)) == [DirectiveKind.CHECKPOINT, DirectiveKind.STOP]


def test_a_paused_job_is_kept_with_its_clocks_standing_still():
    job = Steered()
    job.takes(job.run.at(400))
    identity = job.asks(ActionKind.PAUSE, by="ann")
    outcome = ActionOutcome(id=identity, carried_out=CarriedOut.DIRECTIVE, text="the run ended by itself")
    ending = Ending(kind=EndingKind.CANCELLED, exit_code=0)
    job.runner(LifecycleKind.ENDED, ending=ending, paused=True, acks=(identity,), outcomes=(outcome,))
    ended = job.now
    assert (job.shown.state, job.shown.summary) == (State.PAUSED, "Paused at 40 %")
    assert (job.shown.ending, job.shown.ended_at, job.shown.eta, job.shown.verdict) == (None, None, None, None)
    assert (job.last.carried_out, job.last.outcome) == (CarriedOut.DIRECTIVE, "the run ended by itself")
    assert job.last.outcome_message is None  # a runner that knows of no kinds says the text alone
    for _ in range(100):
        job.now += 1.0
        job.runner(LifecycleKind.ALIVE)
        sweep(job.job, job.now, 0.0, Patience())
    assert job.shown.state is State.PAUSED
    assert job.shown.attempts[0].ended_at == ended
    job.asks(ActionKind.RESUME)
    (command,) = job.runner(LifecycleKind.ALIVE)
    assert command.kind is CommandKind.RESUME
    assert job.last.carried_out is None
    registration = Registration(runner="runner", attempt="attempt-2")
    fold_registration(job.job, registration, job.now)
    job.runner(LifecycleKind.STARTED, "attempt-2")
    assert (job.shown.state, job.last.outcome) == (State.RUNNING, "attempt 2 was begun")
    assert commands_for(job.job, "attempt-2", "runner") == ()


def test_a_paused_job_whose_runner_falls_silent_is_lost():
    job = Steered()
    identity = job.asks(ActionKind.PAUSE)
    job.runner(LifecycleKind.ENDED, ending=Ending(kind=EndingKind.FAILED, exit_code=143), paused=True, acks=(identity,))
    job.now += 60.0
    assert sweep(job.job, job.now, 0.0, Patience())
    assert job.shown.state is State.LOST
    with pytest.raises(ConflictError, match=r"headway run --name job -- python train\.py"):
        job.asks(ActionKind.RESUME)


def test_a_paused_job_that_is_stopped_is_stopped():
    job = Steered()
    identity = job.asks(ActionKind.PAUSE)
    ending = Ending(kind=EndingKind.FAILED, exit_code=143)
    job.runner(LifecycleKind.ENDED, ending=ending, paused=True, acks=(identity,))
    job.asks(ActionKind.STOP)
    assert job.last.carried_out is None
    job.runner(LifecycleKind.ENDED, ending=ending)
    assert job.shown.state is State.STOPPED


def test_the_word_of_a_runner_decides_how_it_was_carried_out():
    job = Steered()
    identity = job.asks(ActionKind.STOP, save=True, notice=20.0)
    job.takes(job.run.at(8))
    job.takes(job.run.at(9, checkpoint=Checkpoint(step=9), acks=tuple(job.ids)))
    text = "ended by SIGTERM after 20 s"
    message = Message(kind="outcome.forced", figures={"seconds": 20.0}, text=text)
    forced = ActionOutcome(id=identity, carried_out=CarriedOut.PLATFORM, text=text, message=message)
    job.runner(LifecycleKind.ENDED, ending=Ending(kind=EndingKind.FAILED, exit_code=143), outcomes=(forced,))
    assert (job.last.carried_out, job.last.outcome) == (
        CarriedOut.PLATFORM,
        "saved at step 9; ended by SIGTERM after 20 s",
    )
    assert job.last.outcome_message == Message(
        kind="outcome.forced", figures={"seconds": 20.0, "savedStep": 9}, text=f"saved at step 9; {text}"
    )


def test_without_a_runner_a_run_can_be_asked_but_not_forced():
    job = Steered(runner=False)
    job.takes(job.run.at(1))
    identity = job.asks(ActionKind.STOP)
    assert job.takes(job.run.at(2)) == [DirectiveKind.STOP]
    job.now += 61.0
    assert job.last.outcome == "the run did not answer, and it has no runner that could end it"
    job.takes(job.run.at(3, acks=(identity,)))
    job.takes(job.run.end(EndingKind.CANCELLED, 3))
    assert (job.last.carried_out, job.last.outcome) == (CarriedOut.DIRECTIVE, "the run ended by itself")
    job = Steered(runner=False)
    job.takes(transformers_post(1, 10))
    with pytest.raises(ConflictError, match="hears no requests"):
        job.asks(ActionKind.STOP)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (ActionKind.PAUSE, "no runner that could start it again"),
        (ActionKind.RESUME, "is Running, not Paused"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(kind: ActionKind, says: str):
    job = Steered(runner=False)
    job.takes(job.run.at(1))
    with pytest.raises(ConflictError, match=says):
        job.asks(kind)


@pytest.mark.parametrize("kind", [ActionKind.CHECKPOINT, ActionKind.PAUSE, ActionKind.STOP])
def test_an_ended_job_takes_no_action(kind: ActionKind):
    job = Steered()
    job.runner(LifecycleKind.ENDED, ending=Ending(kind=EndingKind.COMPLETED, exit_code=0))
    with pytest.raises(ConflictError, match=f"nothing to {kind}"):
        job.asks(kind)


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_times_that_are_none_are_refused(seconds: float):
    job = Steered()
    with pytest.raises(InvalidError, match="notice"):
        job.asks(ActionKind.STOP, notice=seconds)
    with pytest.raises(InvalidError, match="grace"):
        job.asks(ActionKind.STOP, grace=seconds)


def test_acknowledgements_in_any_order_tell_the_same():
    job = Steered()
    identity = job.asks(ActionKind.STOP, save=True)
    reports = [
        job.run.at(1, acks=(f"{identity}-save",), checkpoint=Checkpoint(step=1)),
        job.run.at(2, acks=(f"{identity}-save", identity)),
        job.run.at(3, acks=(identity,)),
    ]
    document = dump(job.job, job.now)
    told = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2, 1)):
        again = load(document)
        for index in order:
            age = 3.0 - index
            fold_report(again, reports[index], Envelope(age=age), job.now + 5.0)
        told.append(view(again, job.now + 5.0).actions)
    assert told[0] == told[1] == told[2]


def test_old_actions_are_forgotten():
    job = Steered()
    for _ in range(MOST_ACTIONS + 10):
        job.asks(ActionKind.CHECKPOINT)
    assert len(job.shown.actions) == MOST_ACTIONS


def test_requests_to_stop_of_an_older_document_are_read():
    job = Steered()
    text = dump(job.job, job.now).decode()
    stop = '{"id":"s","attempt":"attempt-1","askedAt":5.0,"request":{"notice":0.0},"runHeard":false,"runnersHeard":["runner"]}'
    assert '"actions":[]' in text
    job.job = load(text.replace('"actions":[]', f'"stops":[{stop}]').encode())
    assert (job.last.kind, job.last.acknowledged_at) == (ActionKind.STOP, 5.0)
    job.runner(LifecycleKind.ENDED, ending=Ending(kind=EndingKind.FAILED, exit_code=143))
    assert job.shown.state is State.STOPPED
