"""The page of one job: ``headway show NAME``. Its longer sections have modules of their own."""

from __future__ import annotations

import shlex

from rich.text import Text

from headway.cli.render import words
from headway.cli.render.attempts import actions_section, attempts_section, ending_section
from headway.cli.render.head import History, eta_words, head
from headway.cli.render.ledger import ledger_section
from headway.cli.render.ranks import ranks_section
from headway.cli.render.sheet import Sheet
from headway.cli.render.verdict import verdict_section
from headway.cli.render.view import Seen, View, value_text
from headway.protocol.job import State
from headway.protocol.report import Phase

_CURVE = 32


def page(seen: Seen, history: History, view: View) -> list[Text]:
    """Everything worth knowing of a job, most telling first."""
    sheet = Sheet(view)
    head(sheet, seen)
    verdict_section(sheet, seen)
    _progress(sheet, seen)
    _metrics(sheet, seen, history)
    ranks_section(sheet, seen)
    attempts_section(sheet, seen)
    actions_section(sheet, seen)
    ledger_section(sheet, seen)
    _spec(sheet, seen)
    _config(sheet, seen)
    _warnings(sheet, seen)
    ending_section(sheet, seen)
    return sheet.lines


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
        best = words.number(job.best[name]) if name in job.best else words.NONE
        row: list[str | Text] = [name, value_text(job.metrics[name]), best]
        if curves:
            row.append(Text(words.sparkline(history.get(name, ()), _CURVE), "cyan"))
        rows.append(row)
    sheet.table(("NAME", "NEWEST", "BEST", *(("HISTORY",) if curves else ())), rows)


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
            sheet.pair(label, text, whole=label == "log")


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
