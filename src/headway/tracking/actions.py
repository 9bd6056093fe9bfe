"""Actions: what was asked of a job, who has heard it, and what came of it.

What is remembered (:class:`~headway.tracking.tracked.ActionState`) are facts that only grow; whether an action was carried out,
and by whom, is read from them and from the job when it is shown. A run is asked by a directive in its next answer, a runner by
a command; where something is to be saved first, the run is asked to end only once it has saved, or its time is nearly up.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeAlias

from headway.errors import ConflictError, InvalidError
from headway.protocol.action import (
    END_SECONDS,
    SAVE_SUFFIX,
    Action,
    ActionKind,
    ActionOutcome,
    ActionRequest,
    CarriedOut,
)
from headway.protocol.directive import Directive, DirectiveKind
from headway.protocol.job import State
from headway.protocol.lifecycle import Command, CommandKind
from headway.protocol.message import Message
from headway.tracking.attempts import AttemptState
from headway.tracking.progress import overall
from headway.tracking.runs import RunState
from headway.tracking.state import governing, outcome
from headway.tracking.tracked import ActionState, TrackedJob

MOST_ACTIONS: Final = 50
"""Actions that are remembered of one job; the oldest are dropped first."""

_NOTICE: Final = {ActionKind.CHECKPOINT: 300.0, ActionKind.PAUSE: 60.0}
_SAVE_NOTICE: Final = 60.0
_LONGEST: Final = 7 * 86400.0
_ENDING: Final = frozenset({ActionKind.STOP, ActionKind.PAUSE})
_COMMANDS: Final = {
    ActionKind.STOP: CommandKind.STOP,
    ActionKind.PAUSE: CommandKind.PAUSE,
    ActionKind.RESUME: CommandKind.RESUME,
}


def ask(job: TrackedJob, kind: ActionKind, request: ActionRequest, identity: str, now: float) -> None:
    """Asks something of a job, that is of the attempt that decides its state.

    Raises:
        ConflictError: it cannot be done to the job as it is; says why.
        InvalidError: a time is not between 0 and a week.
    """
    for name, seconds in (("notice", request.notice), ("grace", request.grace)):
        if seconds is not None and not 0 <= seconds <= _LONGEST:
            raise InvalidError(f"expected 0 to {_LONGEST:.0f} seconds, got {seconds}", field=name)
    attempt = governing(job)
    if attempt is None:
        raise ConflictError(f"job {job.key} has not begun: there is nothing to {kind}")
    if (why := _refusal(job, attempt, kind)) is not None:
        raise ConflictError(why)
    fold_action(job, attempt.id, kind, request, identity, now)


def _refusal(job: TrackedJob, attempt: AttemptState, kind: ActionKind) -> str | None:
    state = outcome(job, overall(job)).state
    if kind is ActionKind.RESUME and state is not State.PAUSED:
        again = ""
        if state.ended and job.spec.command:
            name, command = shlex.quote(job.key.name), shlex.join(job.spec.command)
            again = f"; start its next attempt with `headway run --name {name} -- {command}`"
        return f"job {job.key} is {state}, not Paused{again}"
    if state.ended:
        return f"job {job.key} is {state}: there is nothing to {kind}"
    if kind in (ActionKind.CHECKPOINT, ActionKind.PAUSE) and state is not State.RUNNING:
        return f"job {job.key} is {state}: only one that is Running can {_verb(kind)}"
    if kind is ActionKind.PAUSE and not attempt.registered:
        return f"job {job.key} has no runner that could start it again: run it with `headway run`"
    writer = attempt.writer()
    if kind is ActionKind.STOP and not attempt.registered and writer is not None and writer.stock is not None:
        return f"job {job.key} has no runner that could end it, and its client hears no requests"
    return None


def fold_action(  # noqa: PLR0917 - each is a part of one record
    job: TrackedJob, attempt: str, kind: ActionKind, request: ActionRequest, identity: str, now: float
) -> None:
    """Asks something of an attempt."""
    job.actions = [*job.actions[1 - MOST_ACTIONS :], ActionState(identity, kind, attempt, now, request)]
    job.head_fragment = None
    job.updated_at = max(job.updated_at, now)


def notice_of(action: ActionState) -> float:
    """Seconds that the run gets before the platform acts without it."""
    if action.request.notice is not None:
        return action.request.notice
    return _NOTICE.get(action.kind, _SAVE_NOTICE if saves(action) else 0.0)


def saves(action: ActionState) -> bool:
    """Whether the run is asked to save."""
    return action.kind in _NOTICE or (action.kind is ActionKind.STOP and action.request.save)


def directives_for(job: TrackedJob, attempt: AttemptState, run: RunState, now: float) -> tuple[Directive, ...]:
    """What a run of an attempt is still to be asked at ``now``; only the one that writes its progress is asked."""
    if not job.actions or run is not attempt.writer():
        return ()
    return tuple(
        directive for action in job.actions if action.attempt == attempt.id for directive in _directives(action, now)
    )


def _directives(action: ActionState, now: float) -> Iterable[Directive]:
    notice = notice_of(action)
    end = action.asked_at + notice
    deadline = datetime.fromtimestamp(end, UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if notice else None
    saving = saves(action) and action.saved_at is None
    if saving and now < end:
        yield Directive(
            id=action.id + SAVE_SUFFIX,
            kind=DirectiveKind.CHECKPOINT,
            reason=action.request.reason,
            deadline=deadline,
            then=action.id if action.kind in _ENDING else None,
        )
    nearly_over = now >= end - min(END_SECONDS, notice / 2)
    if action.kind in _ENDING and action.heard_at is None and (not saving or nearly_over):
        yield Directive(id=action.id, kind=DirectiveKind.STOP, reason=action.request.reason, deadline=deadline)


def commands_for(job: TrackedJob, attempt: str, runner: str) -> tuple[Command, ...]:
    """What a runner of an attempt is still to be told."""
    return tuple(
        Command(
            id=action.id,
            kind=_COMMANDS[action.kind],
            by=action.request.by,
            reason=action.request.reason,
            save=saves(action),
            notice=notice_of(action),
            grace=action.request.grace,
        )
        for action in job.actions
        if action.attempt == attempt and action.kind in _COMMANDS and runner not in action.runners_heard
    )


def hear(job: TrackedJob, acks: Collection[str], runner: str | None, at: float) -> bool:
    """Notes what a runner (None: a run) has acknowledged; whether it is news."""
    news = False
    for action in job.actions if acks else ():
        if runner is not None:
            if action.id in acks and at < action.runners_heard.get(runner, at + 1):
                news = news or runner not in action.runners_heard
                action.runners_heard[runner] = at
            continue
        if action.id + SAVE_SUFFIX in acks and (action.saved_at is None or at < action.saved_at):
            news, action.saved_at = True, at
        if action.id in acks and (action.heard_at is None or at < action.heard_at):
            news, action.heard_at = True, at
    if news:
        job.head_fragment = None
    return news


def note_outcomes(job: TrackedJob, outcomes: Collection[ActionOutcome], runner: str) -> bool:
    """Notes what a runner says came of its commands; whether it is news."""
    news = False
    told = {one.id: one for one in outcomes}
    for action in job.actions if told else ():
        if action.id in told and runner not in action.outcomes:
            action.outcomes[runner] = told[action.id]
            news, job.head_fragment = True, None
    return news


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
            return CarriedOut.DIRECTIVE, _said("outcome.endedByItself", "the run ended by itself")
        if not action.runners_heard:
            return CarriedOut.REFUSED, _said("outcome.endedUnheard", "it ended before it had heard")
        return CarriedOut.REFUSED, _said("outcome.runnerLost", "its runner was lost")
    if not attempt.registered and action.heard_at is None and late and now > action.asked_at + _SAVE_NOTICE:
        return CarriedOut.REFUSED, _said(
            "outcome.noRunner", "the run did not answer, and it has no runner that could end it"
        )
    return None, None


def _said(kind: str, text: str, **figures: float | None) -> Message:
    return Message(kind=kind, figures=dict(figures), text=text)


def _after_saving(told: ActionOutcome, step: int | None) -> Message:
    """A runner's word, with the step that was saved before."""
    said = told.message or Message(kind="", text=told.text)
    if step is None:
        return replace(said, text=told.text)
    return replace(said, figures={**said.figures, "savedStep": step}, text=f"saved at step {step}; {told.text}")


def _saved(job: TrackedJob, action: ActionState, attempt: AttemptState, *, late: bool) -> _CameOf:
    if action.saved_at is not None:
        step = _step_saved(action, attempt)
        return CarriedOut.DIRECTIVE, _said(
            "outcome.saved", "saved" if step is None else f"saved at step {step}", savedStep=step
        )
    writer = attempt.writer()
    if writer is not None and writer.stock is not None:
        return CarriedOut.REFUSED, _said("outcome.deaf", "its client hears no requests")
    if _over(job, attempt):
        return CarriedOut.REFUSED, _said("outcome.endedFirst", "the run ended first")
    if late:
        notice = notice_of(action)
        return CarriedOut.REFUSED, _said(
            "outcome.notSaved", f"the run did not save within {notice:g} s", seconds=notice
        )
    return None, None


def _refused_if_over(job: TrackedJob, attempt: AttemptState, action: ActionState) -> _CameOf:
    if attempt is not job.current:
        ordinal = job.ordered.index(attempt) + 2
        return CarriedOut.PLATFORM, _said("outcome.resumed", f"attempt {ordinal} was begun", attempt=ordinal)
    if attempt.lost_at is not None:
        return CarriedOut.REFUSED, _said("outcome.runnerLost", "its runner was lost")
    if not attempt.paused and not action.runners_heard:
        return CarriedOut.REFUSED, _said("outcome.runnerUnheard", "it ended before its runner had heard")
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


def _verb(kind: ActionKind) -> str:
    return "save" if kind is ActionKind.CHECKPOINT else "be paused"
