"""Actions: what was asked of a job, of whom, and who has heard it.

What is remembered (:class:`~headway.tracking.tracked.ActionState`) are facts that only grow; whether an action was carried out,
and by whom, is read from them when it is shown (:mod:`headway.tracking.records`). A run is asked by a directive in its next
answer, a runner by a command; where something is to be saved first, the run is asked to end only once it has saved, or its time
is nearly up.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Final

from headway.errors import ConflictError, InvalidError
from headway.protocol.action import (
    END_SECONDS,
    SAVE_SUFFIX,
    ActionKind,
    ActionOutcome,
    ActionRequest,
)
from headway.protocol.directive import Directive, DirectiveKind
from headway.protocol.job import State
from headway.protocol.lifecycle import Command, CommandKind
from headway.tracking.attempts import AttemptState
from headway.tracking.progress import overall
from headway.tracking.runs import RunState
from headway.tracking.state import governing, outcome
from headway.tracking.tracked import ActionState, TrackedJob

MOST_ACTIONS: Final = 50
"""Actions that are remembered of one job; the oldest are dropped first."""

_NOTICE: Final = {ActionKind.CHECKPOINT: 300.0, ActionKind.PAUSE: 60.0}
SAVE_NOTICE: Final = 60.0
"""Seconds that a run gets to save in before it is ended, where nobody said how many."""
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
    return _NOTICE.get(action.kind, SAVE_NOTICE if saves(action) else 0.0)


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


def _verb(kind: ActionKind) -> str:
    return "save" if kind is ActionKind.CHECKPOINT else "be paused"
