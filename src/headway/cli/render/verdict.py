"""The verdict of a job, as ``headway show`` explains it: its conditions, those that stand first, with evidence and cost."""

from __future__ import annotations

from rich.text import Text

from headway.cli.render import words
from headway.cli.render.head import condition_title
from headway.cli.render.ledger import cost_words
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import Seen, standing, verdict_style
from headway.insight.frames import main_thread
from headway.protocol.job import Job
from headway.protocol.verdict import GOES_NOWHERE, Condition, ConditionType, Verdict

_STACK_LINES = 12
_MOMENTS = frozenset({"lastContact"})
"""Evidence that is a point in time, in Unix seconds."""


def verdict_section(sheet: Sheet, seen: Seen) -> None:
    """The conditions, and the stack of a run that stands still; nothing where there is nothing to explain."""
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
        for line in main_thread(stack)[-_STACK_LINES:]:
            sheet.line("  ", Text(words.clean_log(line), "dim" if sheet.view.fancy else ""))


def _condition(sheet: Sheet, condition: Condition, job: Job, *, priced: bool = False) -> None:
    sheet.line("  ", *condition_title(condition, sheet.view, job))
    if condition.text:
        sheet.paragraph(condition.text, indent="    ")
    since, ahead = cost_words(job.ledger.without_progress), cost_words(job.ledger.remaining)
    if priced and since:
        sheet.paragraph(f"spent since then: {since}" + (f"; to go: {ahead}" if ahead else ""), indent="    ")
    if condition.until is None and condition.evidence:
        figures = [
            f"{name} {_figure(name, value, sheet.view.now)}"
            for name, value in condition.evidence.items()
            if value is not None
        ]
        sheet.paragraph(", ".join(figures), style="dim" if sheet.view.fancy else "", indent="    ")


def _figure(name: str, value: float | str, now: float) -> str:
    if isinstance(value, str):
        return value
    return words.moment(value, now) if name in _MOMENTS else words.number(value)
