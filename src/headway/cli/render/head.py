"""The head of a job: name, state, verdict and bar, with the words that its page and its live card share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headway.cli.render import words
from headway.cli.render.listing import progress_cell
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import (
    STATE_STYLES,
    Seen,
    View,
    percent_of,
    severity_style,
    state_words,
    verdict_style,
    verdict_words,
)
from headway.protocol.job import Job
from headway.protocol.verdict import Condition

_AT_THE_END = 5.0
"""Seconds before a job's end within which a condition that ceased to stand was not withdrawn: the job was over."""

History = Mapping[str, Sequence[float]]
"""Values of each metric over the current attempt, oldest first."""


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
