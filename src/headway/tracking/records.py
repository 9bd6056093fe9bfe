"""What came of actions, as it is shown: read from who has heard of each, and from what the job has done since."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from headway.protocol.action import Action, ActionKind, ActionOutcome, CarriedOut
from headway.protocol.message import Message
from headway.tracking.actions import SAVE_NOTICE, notice_of
from headway.tracking.attempts import AttemptState
from headway.tracking.tracked import ActionState, TrackedJob


def records(job: TrackedJob, now: float) -> tuple[Action, ...]:
    """The actions as they are shown, oldest first."""
    return tuple(_record(job, action, now) for action in job.actions)


def _record(job: TrackedJob, action: ActionState, now: float) -> Action:
    notice = notice_of(action)
    heard = [at for at in (action.saved_at, action.heard_at, *action.runners_heard.values()) if at is not None]
    carried_out, said = _came_of(job, action, now)
    return Action(
        id=action.id,
        kind=action.kind,
        by=action.request.by,
        reason=action.request.reason,
        attempt=action.attempt,
        asked_at=action.asked_at,
        deadline=action.asked_at + notice if notice else None,
        grace=action.request.grace,
        acknowledged_at=min(heard, default=None),
        carried_out=carried_out,
        outcome=said.text if said is not None else None,
        outcome_message=said if said is not None and said.kind else None,
    )


_CameOf: TypeAlias = tuple[CarriedOut | None, Message | None]


def _came_of(job: TrackedJob, action: ActionState, now: float) -> _CameOf:
    attempt = job.attempts[action.attempt]
    late = now > action.asked_at + notice_of(action)
    if action.kind is ActionKind.CHECKPOINT:
        return _saved(job, action, attempt, late=late)
    if action.outcomes:
        told = max(action.outcomes.values(), key=lambda one: (one.carried_out is CarriedOut.PLATFORM, one.id))
        return told.carried_out, _after_saving(told, _step_saved(action, attempt))
    if action.kind is ActionKind.RESUME:
        return _refused_if_over(job, attempt, action)
    if _over(job, attempt):
        if action.heard_at is not None:
            return CarriedOut.DIRECTIVE, Message.of("outcome.endedByItself", "the run ended by itself")
        if not action.runners_heard:
            return CarriedOut.REFUSED, Message.of("outcome.endedUnheard", "it ended before it had heard")
        return CarriedOut.REFUSED, Message.of("outcome.runnerLost", "its runner was lost")
    if not attempt.registered and action.heard_at is None and late and now > action.asked_at + SAVE_NOTICE:
        return CarriedOut.REFUSED, Message.of(
            "outcome.noRunner", "the run did not answer, and it has no runner that could end it"
        )
    return None, None


def _after_saving(told: ActionOutcome, step: int | None) -> Message:
    """A runner's word, with the step that was saved before."""
    said = told.message or Message(kind="", text=told.text)
    if step is None:
        return replace(said, text=told.text)
    return replace(said, figures={**said.figures, "savedStep": step}, text=f"saved at step {step}; {told.text}")


def _saved(job: TrackedJob, action: ActionState, attempt: AttemptState, *, late: bool) -> _CameOf:
    if action.saved_at is not None:
        step = _step_saved(action, attempt)
        return CarriedOut.DIRECTIVE, Message.of(
            "outcome.saved", "saved" if step is None else f"saved at step {step}", savedStep=step
        )
    writer = attempt.writer()
    if writer is not None and writer.stock is not None:
        return CarriedOut.REFUSED, Message.of("outcome.deaf", "its client hears no requests")
    if _over(job, attempt):
        return CarriedOut.REFUSED, Message.of("outcome.endedFirst", "the run ended first")
    if late:
        notice = notice_of(action)
        return CarriedOut.REFUSED, Message.of(
            "outcome.notSaved", f"the run did not save within {notice:g} s", seconds=notice
        )
    return None, None


def _refused_if_over(job: TrackedJob, attempt: AttemptState, action: ActionState) -> _CameOf:
    if attempt is not job.current:
        ordinal = job.ordered.index(attempt) + 2
        return CarriedOut.PLATFORM, Message.of("outcome.resumed", f"attempt {ordinal} was begun", attempt=ordinal)
    if attempt.lost_at is not None:
        return CarriedOut.REFUSED, Message.of("outcome.runnerLost", "its runner was lost")
    if not attempt.paused and not action.runners_heard:
        return CarriedOut.REFUSED, Message.of("outcome.runnerUnheard", "it ended before its runner had heard")
    return None, None


def _over(job: TrackedJob, attempt: AttemptState) -> bool:
    writer = attempt.writer()
    return (
        (attempt.runner_ending is not None and not attempt.paused)
        or attempt.lost_at is not None
        or attempt is not job.current
        or (not attempt.registered and writer is not None and writer.ending is not None)
    )


def _step_saved(action: ActionState, attempt: AttemptState) -> int | None:
    if action.saved_at is None or (saved := attempt.checkpoint) is None:
        return None
    return saved.step
