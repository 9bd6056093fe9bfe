"""The past of a job, as ``headway show`` tells it: its attempts and checkpoint, what was asked of it, and how it ended."""

from __future__ import annotations

from rich.text import Text

from headway.cli.render import words
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import Seen
from headway.protocol.action import CarriedOut
from headway.protocol.job import Attempt, State

_LOG_LINES = 20
_ACTIONS = 10
"""Actions that are shown, the newest last."""


def attempts_section(sheet: Sheet, seen: Seen) -> None:
    """A table of the attempts, where there were several or the only one went wrong; then the newest checkpoint."""
    job, now = seen.job, sheet.view.now
    if len(job.attempts) > 1 or (job.attempts and job.ending and job.ending.kind.value != "completed"):
        sheet.heading("Attempts")
        rows = [_attempt(each, now) for each in job.attempts]
        sheet.table(("#", "STARTED", "RAN", "STEPS", "CHECKPOINT", "ENDED"), rows)
    if job.checkpoint is not None:
        sheet.heading("Checkpoint")
        behind = ""
        if job.progress.step is not None and not job.state.ended:
            behind = f", {words.count(max(0, job.progress.step - job.checkpoint.step))} steps ago"
        took = "" if job.checkpoint.seconds is None else f", took {words.short_time(job.checkpoint.seconds)}"
        sheet.pair("step", f"{words.count(job.checkpoint.step)}{behind}{took}")
        if job.checkpoint.path:
            sheet.pair("path", job.checkpoint.path, whole=True)


def _attempt(attempt: Attempt, now: float) -> list[str]:
    first = attempt.resumed_from_step if attempt.resumed_from_step is not None else attempt.first_step
    reached = words.NONE
    if attempt.last_step is not None:
        reached = f"{words.count(first or 0)} to {words.count(attempt.last_step)}"
    resumed = " (resumed)" if attempt.resumed_from_step else ""
    saved = words.NONE if attempt.checkpoint is None else f"step {words.count(attempt.checkpoint.step)}"
    ended = attempt.ended_at if attempt.ended_at is not None else now
    return [
        str(attempt.ordinal),
        words.moment(attempt.started_at, now),
        words.duration(ended - attempt.started_at),
        reached + resumed,
        saved,
        _ending_words(attempt),
    ]


def _ending_words(attempt: Attempt) -> str:
    ending = attempt.ending
    if ending is None:
        return words.NONE if attempt.ended_at is None else "ended"
    parts = [ending.kind.value.replace("_", " ")]
    if ending.exception:
        parts.append(ending.exception)
    if ending.signal:
        parts.append(ending.signal)
    elif ending.exit_code:
        parts.append(f"exit code {ending.exit_code}")
    return ", ".join(parts)


def actions_section(sheet: Sheet, seen: Seen) -> None:
    """What was asked of the job, by whom and why, and what came of it."""
    actions, now = seen.job.actions[-_ACTIONS:], sheet.view.now
    if not actions:
        return
    sheet.heading("Actions")
    for action in actions:
        who = f" by {action.by}" if action.by else ""
        why = f": {action.reason}" if action.reason else ""
        sheet.line(
            "  ",
            (action.kind.value, "bold" if sheet.view.fancy else ""),
            f"  {words.moment(action.asked_at, now)}{who}{why}",
        )
        came_of = action.outcome or ("acknowledged, under way" if action.acknowledged_at else "not heard yet")
        refused = action.carried_out is CarriedOut.REFUSED
        sheet.paragraph(f"refused: {came_of}" if refused else came_of, style="yellow" if refused else "", indent="    ")


def ending_section(sheet: Sheet, seen: Seen) -> None:
    """How a job ended: what it said of it and, if it did not complete, the last lines of its log."""
    ending = seen.job.ending
    if ending is None:
        return
    complete = seen.job.state is State.COMPLETE
    facts = [
        ("exit code", None if complete or ending.exit_code is None else str(ending.exit_code)),
        ("signal", ending.signal),
        ("exception", ending.exception),
        ("message", ending.message),
    ]
    if any(text for _, text in facts):
        sheet.heading("Ending")
        for label, text in facts:
            if text:
                sheet.pair(label, text)
    if ending.log_tail and not complete:
        sheet.heading("Last lines of the log")
        for line in ending.log_tail[-_LOG_LINES:]:
            sheet.line("  ", Text(words.clean_log(line), "dim" if sheet.view.fancy else ""))
