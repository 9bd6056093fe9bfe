"""The page of one job: ``headway show NAME``. Its head is shared with the live card of ``headway watch NAME``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.text import Text

from headway.cli.render import words
from headway.cli.render.listing import progress_cell
from headway.cli.render.ranks import ranks_section
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import (
    STATE_STYLES,
    Seen,
    View,
    percent_of,
    severity_style,
    standing,
    state_words,
    verdict_style,
    verdict_words,
)
from headway.protocol.action import CarriedOut
from headway.protocol.job import Attempt, Cost, Job, State
from headway.protocol.report import Phase
from headway.protocol.verdict import GOES_NOWHERE, Condition, ConditionType, Verdict

_LOG_LINES = 20
_ACTIONS = 10
"""Actions that are shown, the newest last."""
_CURVE = 32
_STACK_LINES = 12
_AT_THE_END = 5.0
"""Seconds before a job's end within which a condition that ceased to stand was not withdrawn: the job was over."""

History = Mapping[str, Sequence[float]]
"""Values of each metric over the current attempt, oldest first."""


def page(seen: Seen, history: History, view: View) -> list[Text]:
    """Everything worth knowing of a job, most telling first."""
    sheet = Sheet(view)
    head(sheet, seen)
    _verdict(sheet, seen)
    _progress(sheet, seen)
    _metrics(sheet, seen, history)
    ranks_section(sheet, seen)
    _attempts(sheet, seen)
    _actions(sheet, seen)
    _ledger(sheet, seen)
    _spec(sheet, seen)
    _config(sheet, seen)
    _warnings(sheet, seen)
    _log(sheet, seen)
    return sheet.lines


def head(sheet: Sheet, seen: Seen) -> None:
    """Name, state and verdict, and the bar."""
    job, view = seen.job, sheet.view
    facts = [job.namespace]
    if job.spec.devices:
        kind = f" {job.spec.device_type}" if job.spec.device_type else ""
        facts.append(f"{job.spec.devices}{kind} device{'s' if job.spec.devices != 1 else ''}")
    if job.spec.nodes > 1:
        facts.append(f"{job.spec.nodes} nodes")
    if job.host:
        facts.append(job.host)
    facts.extend(f"#{tag}" for tag in job.tags)
    if job.spec.display_name:
        sheet.line((job.spec.display_name, "bold"))
    sheet.line((job.name, "bold"), "  ", (view.gap.join(facts), "dim"))
    mark = ("● " if view.unicode else "* ") if view.fancy else ""
    style = STATE_STYLES.get(job.state, "")
    parts: list[str | tuple[str, str]] = [(f"{mark}{state_words(job)}", style)]
    if job.state_reason and not job.state.ended and job.state_reason not in job.summary:
        parts.append(f" ({job.state_reason})")
    if job.verdict is not None:
        parts += [view.gap, (verdict_words(seen, view.now), verdict_style(job.verdict))]
    if job.resumed:
        parts += [view.gap, (job.resumed, "yellow")]
    age = seen.contact_age(view.now)
    if age is not None:
        word = "ended" if job.state.ended else "heard"
        stale = not job.state.ended and age > 15
        parts += [view.gap, (f"{word} {words.ago(age)}", "yellow" if stale else "dim")]
    sheet.line(*parts)
    if view.fancy and percent_of(job) is not None:
        sheet.line()
        sheet.line("  ", progress_cell(seen, replace(view, bar=min(56, max(10, (view.width or 80) - 12)))))


def _verdict(sheet: Sheet, seen: Seen) -> None:
    job = seen.job
    stand = standing(job)
    past = sorted((each for each in job.conditions if each.until is not None), key=lambda each: -each.since)
    said = job.verdict_text if not stand and job.verdict not in {None, Verdict.PROGRESSING} else None
    if not stand and not past and not said:
        return
    sheet.heading("Verdict")
    if said and job.verdict is not None:
        sheet.line("  ", (job.verdict.value, verdict_style(job.verdict)))
        sheet.paragraph(said, indent="    ")
    nowhere = min((each for each in stand if each.type in GOES_NOWHERE), key=lambda each: each.since, default=None)
    for condition in [*stand, *past]:
        _condition(sheet, condition, job, priced=condition is nowhere)
    stack = next((rank.stack for rank in job.ranks if rank.stack), None)
    if stack and any(each.type is ConditionType.STALLED for each in stand):
        sheet.heading("Where it stands")
        for line in stack.rstrip().splitlines()[-_STACK_LINES:]:
            sheet.line("  ", Text(words.clean_log(line), "dim" if sheet.view.fancy else ""))


def condition_title(condition: Condition, view: View, job: Job) -> list[str | tuple[str, str]]:
    """``Plateaued loss  since step 41,200 (Sat 01:12), for 6 h 12 min``."""
    lasted = condition.until is None or (job.ended_at is not None and condition.until > job.ended_at - _AT_THE_END)
    style = severity_style(condition) if lasted else "dim"
    subject = f" {condition.metric}" if condition.metric else ""
    since = words.moment(condition.since, view.now)
    where = f"step {words.count(condition.since_step)} ({since})" if condition.since_step is not None else since
    if condition.until is None:
        when = f"since {where}, for {words.duration(view.now - condition.since)}"
    elif lasted:
        when = f"from {where} until the end, for {words.duration(condition.until - condition.since)}"
    else:
        when = f"from {where} to {words.moment(condition.until, view.now)}, then withdrawn"
    return [(f"{condition.type.value}{subject}", style), ("  " + when, "dim" if view.fancy else "")]


def _condition(sheet: Sheet, condition: Condition, job: Job, *, priced: bool = False) -> None:
    sheet.line("  ", *condition_title(condition, sheet.view, job))
    if condition.text:
        sheet.paragraph(condition.text, indent="    ")
    since, ahead = _cost(job.ledger.without_progress), _cost(job.ledger.remaining)
    if priced and since:
        sheet.paragraph(f"spent since then: {since}" + (f"; to go: {ahead}" if ahead else ""), indent="    ")
    if condition.until is None and condition.evidence:
        figures = [
            f"{name} {words.number(value) if isinstance(value, (int, float)) else value}"
            for name, value in condition.evidence.items()
            if value is not None
        ]
        sheet.paragraph(", ".join(figures), style="dim" if sheet.view.fancy else "", indent="    ")


def _progress(sheet: Sheet, seen: Seen) -> None:
    job, now = seen.job, sheet.view.now
    progress = job.progress
    sheet.heading("Progress")
    percent = progress.percent
    sheet.pair("percent", words.UNKNOWN if percent is None else f"{percent} %")
    unit = f" ({progress.unit.value.replace('_', ' ')}s)" if progress.unit and progress.step is not None else ""
    sheet.pair("step", words.steps(progress.step, progress.total_steps) + unit)
    if progress.epoch is not None:
        sheet.pair("epoch", words.epochs(progress.epoch, progress.total_epochs))
    for label, amount in (("samples", progress.samples), ("tokens", progress.tokens)):
        if amount is not None:
            sheet.pair(label, words.count(amount))
    if progress.phase is not None and not job.state.ended and progress.phase is not Phase.TRAIN:
        sheet.pair("phase", progress.phase.value)
    if progress.step_seconds is not None:
        sheet.pair("pace", f"{words.short_time(progress.step_seconds)} a step")
    if progress.last_step_age is not None and not job.state.ended:
        sheet.pair("last step", words.ago(progress.last_step_age + max(0.0, now - seen.at)))
    if job.state is State.RUNNING:
        sheet.pair("ETA", eta_words(seen, sheet.view))
        if job.eta is not None and job.eta.basis:
            sheet.pair("", job.eta.basis, style="dim" if sheet.view.fancy else "")
    if job.started_at is not None:
        ended = job.ended_at if job.ended_at is not None else now
        until = "" if job.ended_at is None else f" to {words.moment(job.ended_at, now)}"
        sheet.pair(
            "time", f"{words.duration(ended - job.started_at)} (from {words.moment(job.started_at, now)}{until})"
        )


def eta_words(seen: Seen, view: View) -> str:
    """``1 h 12 min (1 h 5 min to 1 h 20 min), ends 16:40``."""
    remaining = seen.eta_seconds(view.now)
    if remaining is None:
        return words.UNKNOWN
    point, low, high = remaining
    interval = (
        "" if words.remaining(low) == words.remaining(high) else f" ({words.remaining(low)} to {words.remaining(high)})"
    )
    return f"{words.remaining(point)}{interval}, ends {words.moment(view.now + point, view.now)}"


def _metrics(sheet: Sheet, seen: Seen, history: History) -> None:
    job = seen.job
    if not job.metrics:
        return
    sheet.heading("Metrics")
    first = ("loss", "eval_loss", "accuracy", "learning_rate", "grad_norm")
    names = sorted(job.metrics, key=lambda name: (first.index(name) if name in first else len(first), name))
    curves = sheet.view.fancy and sheet.view.unicode and any(len(history.get(name, ())) > 1 for name in names)
    rows = []
    for name in names:
        value = words.number(job.metrics[name])
        best = words.number(job.best[name]) if name in job.best else words.NONE
        bad = value in {"NaN", "Infinity", "-Infinity"}
        row: list[str | Text] = [name, Text(value, "bold red" if bad else ""), best]
        if curves:
            row.append(Text(words.sparkline(history.get(name, ()), _CURVE), "cyan"))
        rows.append(row)
    sheet.table(("NAME", "NEWEST", "BEST", *(("HISTORY",) if curves else ())), rows)


def _attempts(sheet: Sheet, seen: Seen) -> None:
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
            sheet.pair("path", job.checkpoint.path)


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


def _actions(sheet: Sheet, seen: Seen) -> None:
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


def _cost(cost: Cost) -> str | None:
    parts = [words.money(cost.money)] if cost.money is not None else []
    if cost.device_hours is not None:
        parts.append(words.hours(cost.device_hours))
    return ", ".join(parts) or None


def _ledger(sheet: Sheet, seen: Seen) -> None:
    ledger = seen.job.ledger
    rows = [("spent", ledger.spent)]
    if not seen.job.state.ended:
        rows += [("to go", ledger.remaining), ("at risk", ledger.at_risk)]
    if ledger.without_progress.device_hours:
        rows.append(("for nothing", ledger.without_progress))
    written = [(label, text) for label, cost in rows if (text := _cost(cost)) is not None]
    if not written:
        return
    sheet.heading("Ledger")
    if ledger.price_per_hour is not None:
        sheet.pair("price", f"{words.money(ledger.price_per_hour)} an hour")
    for label, text in written:
        sheet.pair(label, text)


def _spec(sheet: Sheet, seen: Seen) -> None:
    job = seen.job
    spec = job.spec
    rows = [
        ("command", shlex.join(spec.command) if spec.command else None),
        ("framework", spec.framework),
        ("runtime", spec.runtime),
        ("queue", spec.queue),
        ("owner", spec.owner),
        ("log", job.log),
        ("created", words.stamp(job.created_at)),
    ]
    sheet.heading("Job")
    for label, text in rows:
        if text:
            sheet.pair(label, text)


def _config(sheet: Sheet, seen: Seen) -> None:
    if not seen.job.config:
        return
    sheet.heading("Config")
    for name, value in sorted(seen.job.config.items()):
        text = words.number(value) if isinstance(value, float) else "null" if value is None else str(value)
        sheet.pair(name, text)


def _warnings(sheet: Sheet, seen: Seen) -> None:
    if not seen.job.warnings:
        return
    sheet.heading("Warnings")
    for warning in seen.job.warnings:
        sheet.paragraph(warning, style="yellow")


def _log(sheet: Sheet, seen: Seen) -> None:
    ending = seen.job.ending
    if ending is None or seen.job.state is State.COMPLETE:
        return
    facts = [
        ("exit code", None if ending.exit_code is None else str(ending.exit_code)),
        ("signal", ending.signal),
        ("exception", ending.exception),
        ("message", ending.message),
    ]
    if any(text for _, text in facts):
        sheet.heading("Ending")
        for label, text in facts:
            if text:
                sheet.pair(label, text)
    if ending.log_tail:
        sheet.heading("Last lines of the log")
        for line in ending.log_tail[-_LOG_LINES:]:
            sheet.line("  ", Text(words.clean_log(line), "dim" if sheet.view.fancy else ""))
