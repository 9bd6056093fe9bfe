"""What state a job is in, and in what words.

Where a runner announced the attempt, its word decides; a run's own ending only refines it. A job that reports by itself ends
by its writing run's word. 100 % is never made up, and neither is an ending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headway.errors import ConflictError
from headway.protocol.job import State
from headway.protocol.lifecycle import Registration
from headway.protocol.report import Ending, EndingKind
from headway.tracking.attempts import AttemptState, RunnerState
from headway.tracking.progress import Overall, overall, standing
from headway.tracking.tracked import TrackedJob

_STATES: Final = {
    EndingKind.COMPLETED: State.COMPLETE,
    EndingKind.EARLY_STOPPED: State.COMPLETE,
    EndingKind.FAILED: State.FAILED,
    EndingKind.DEADLINE: State.FAILED,
    EndingKind.CANCELLED: State.STOPPED,
    EndingKind.PREEMPTED: State.PREEMPTED,
}
_GOOD: Final = frozenset({EndingKind.COMPLETED, EndingKind.EARLY_STOPPED})
_HASTE: Final = 1.25
"""How much more than the most steps so far a stretch between two posts may hold."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a job, and how and when it ended, if it did."""

    state: State
    reason: str | None = None
    ending: Ending | None = None
    ended_at: float | None = None


def governing(job: TrackedJob) -> AttemptState | None:
    """The attempt that decides the state: the newest that a runner holds, else the current one."""
    for attempt in reversed(job.ordered):
        if attempt.registered:
            if attempt is job.current or (attempt.runner_ending is None and attempt.lost_at is None):
                return attempt
            break
    return job.current


def refuse_second(job: TrackedJob, registration: Registration, at: float) -> None:
    """Raises what stands against an attempt that began at ``at``.

    Raises:
        ConflictError: the job lives under another attempt, with another runner or by itself.
    """
    attempt = governing(job)
    if attempt is None or attempt.id == registration.attempt or registration.runner in attempt.runners:
        return
    if at < attempt.known_at:
        return  # an older attempt, told late: history
    state = outcome(job, overall(job)).state
    if not state.ended and state not in (State.PREEMPTED, State.RESTARTING):
        raise ConflictError(f"job {job.key} is {state}: stop it first, or give the new one another name")


def outcome(job: TrackedJob, where: Overall) -> Outcome:
    """The state of a job."""
    attempt = governing(job)
    if attempt is None:
        return Outcome(State.CREATED)
    if not attempt.registered:
        return _by_itself(attempt, where)
    end = attempt.runner_ending
    if end is not None:
        ending = _platform_ending(job, attempt, end, where)
        if attempt.paused:
            if attempt.lost_at is not None:
                return Outcome(State.LOST, "no word from its runner, which had paused it", ending, end.ended_at)
            return Outcome(State.PAUSED, None, ending, end.ended_at)
        own = end.ending is None or end.ending.kind is not ending.kind
        state = State.RESTARTING if end.restarting else _state(ending.kind, own=own)
        return Outcome(state, None if end.restarting else ending.message, ending, end.ended_at)
    if attempt.lost_at is not None:
        return _own_word(attempt, where) or Outcome(
            State.LOST, "no word from its runner", None, attempt.runner_heard_at
        )
    if attempt.started_at is not None or attempt.runs:
        return Outcome(State.RUNNING)
    return Outcome(State.CREATED, "its processes have not been started yet")


def _own_word(attempt: AttemptState, where: Overall) -> Outcome | None:
    """How the writing run itself said that it ended; decides where no platform is there to say it."""
    writer = attempt.writer()
    if writer is None or writer.ending is None:
        return None
    at, own = writer.ending.at, writer.ending.how
    ending = _refined(own.kind, own, own, attempt, where)
    return Outcome(_state(ending.kind, own=True), ending.message, ending, at)


def _state(kind: EndingKind, *, own: bool) -> State:
    """A run that was preempted by its own word has stopped: only a platform knows whether it will start it again."""
    return State.STOPPED if own and kind is EndingKind.PREEMPTED else _STATES[kind]


def _by_itself(attempt: AttemptState, where: Overall) -> Outcome:
    if (said := _own_word(attempt, where)) is not None:
        return said
    writer = attempt.writer()
    here = standing(attempt)
    quiet = attempt.lost_at is not None
    if writer is not None and writer.stock is not None and (here.finished or (quiet and where.complete)):
        ending = _refined(EndingKind.COMPLETED, None, None, attempt, where)
        return Outcome(State.COMPLETE, None, ending, writer.spoke_at)
    if quiet:
        return Outcome(State.LOST, "no word from it, and nobody else watches it", None, attempt.heard_at)
    return Outcome(State.RUNNING)


def _platform_ending(job: TrackedJob, attempt: AttemptState, end: RunnerState, where: Overall) -> Ending:
    own = _own_ending(attempt)
    said = end.ending or own
    if said is None:
        unsaid = Ending(kind=EndingKind.FAILED, message="its runner did not say how")
        return _refined(EndingKind.FAILED, unsaid, None, attempt, where)
    kind = said.kind
    if kind in _GOOD and said.exit_code not in (None, 0):
        kind = EndingKind.FAILED
    if kind in (EndingKind.COMPLETED, EndingKind.FAILED) and own is not None and own.kind is EndingKind.PREEMPTED:
        kind = EndingKind.PREEMPTED  # it obeyed a signal, whatever exit code that came to
    asked = any(action.ends for action in job.actions if action.attempt == attempt.id)
    if asked and not (kind in _GOOD and where.complete):
        kind = EndingKind.CANCELLED
    if kind is EndingKind.COMPLETED and own is not None and own.kind is EndingKind.EARLY_STOPPED:
        kind = EndingKind.EARLY_STOPPED
    return _refined(kind, said, own, attempt, where)


def _own_ending(attempt: AttemptState) -> Ending | None:
    """What the processes said of their end: the writing run or, where it said nothing, the first that failed."""
    writer = attempt.writer()
    if writer is not None and writer.ending is not None:
        return writer.ending.how
    failed = [run.ending for run in attempt.runs.values() if run.ending and run.ending.how.kind is EndingKind.FAILED]
    return min(failed, key=lambda ended: ended.at).how if failed else None


def _refined(
    kind: EndingKind, said: Ending | None, own: Ending | None, attempt: AttemptState, where: Overall
) -> Ending:
    step, total = where.step, where.total
    left = 0 if step is None or total is None else total - step
    if kind is EndingKind.COMPLETED and left > 0 and not _may_have_gone_on(attempt, left):
        kind = EndingKind.EARLY_STOPPED
    said = said or Ending(kind=kind)
    own = own or said
    return Ending(
        kind=kind,
        step=step,
        total_steps=total,
        exit_code=said.exit_code,
        signal=said.signal,
        exception=own.exception or said.exception,
        message=(own.message if own.exception else None) or said.message or own.message,
        log_tail=said.log_tail or own.log_tail,
    )


def _may_have_gone_on(attempt: AttemptState, left: int) -> bool:
    """Whether the steps left may have passed unheard.

    A stock client leaves out what comes soon after its last post, its own end included (the Kubeflow SDK's within five
    seconds). If no more was left than usually lay between two posts, nobody can say that it stopped early.
    """
    writer = attempt.writer()
    if writer is None or writer.stock is None or writer.stock.final is not None:
        return False
    return left <= _HASTE * writer.stock.worth


def summary(state: State, ending: Ending | None, percent: int | None, where: Overall) -> str:
    """The state in words."""
    if state is State.COMPLETE:
        if ending is None or ending.kind is not EndingKind.EARLY_STOPPED:
            if where.step is None or where.total is None or where.step >= where.total:
                return "Complete"
            return f"Complete (last heard of at {where.step}/{where.total})"
        if where.step is None:
            return "Complete (early stopped)"
        at = f"{where.step}/{where.total}" if where.total is not None else f"step {where.step}"
        return f"Complete (early stopped at {at})"
    if state is State.RUNNING:
        return "Running, progress unknown" if percent is None else f"Running, {percent} %"
    if state.ended or state in (State.PREEMPTED, State.RESTARTING, State.PAUSED):
        if percent is not None:
            return f"{state} at {percent} %"
        if where.step is not None:
            return f"{state} at step {where.step}"
    return str(state)
