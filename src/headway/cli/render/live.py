"""What ``headway watch`` draws anew each second: a card of one job, or the table of many under a line of totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from headway.cli.render import words
from headway.cli.render.head import History, condition_title, eta_words, head
from headway.cli.render.listing import LIVE_COLUMNS, listing
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import Seen, View, metric_name, standing, state_words, value_text
from headway.protocol.job import Job, State
from headway.protocol.report import Phase

_CURVE = 56


def card(seen: Seen, history: History, view: View) -> list[Text]:
    """One job: bar, remaining time with its interval, the figures of training, the curve of its loss, its conditions."""
    job = seen.job
    progress = job.progress
    sheet = Sheet(view)
    head(sheet, seen)
    sheet.line()
    if job.state is State.RUNNING:
        sheet.pair("ETA", eta_words(seen, view))
    sheet.pair("step", _join([words.steps(progress.step, progress.total_steps), _pace(seen, view)], view))
    if progress.epoch is not None:
        sheet.pair("epoch", words.epochs(progress.epoch, progress.total_epochs))
    if progress.phase not in {None, Phase.TRAIN} and not job.state.ended:
        sheet.pair("phase", progress.phase.value if progress.phase else "")
    for canonical, label in (
        ("loss", "loss"),
        ("eval_loss", "eval loss"),
        ("grad_norm", "grad norm"),
        ("learning_rate", "learning rate"),
    ):
        _figure(sheet, job, canonical, label)
    loss = metric_name(job, "loss")
    if view.fancy and view.unicode and loss is not None and len(history.get(loss, ())) > 1:
        width = min(_CURVE, max(10, (view.width or 80) - 18))
        sheet.pair("curve", Text(words.sparkline(history[loss], width), "cyan"))
    if job.checkpoint is not None:
        sheet.pair("checkpoint", f"step {words.count(job.checkpoint.step)}")
    if job.ledger.spent.money is not None:
        sheet.pair("spent", words.money(job.ledger.spent.money))
    for condition in standing(job):
        sheet.line()
        sheet.line("  ", *condition_title(condition, view, job))
        if condition.text:
            sheet.paragraph(condition.text, indent="    ")
    return sheet.lines


def _pace(seen: Seen, view: View) -> str:
    progress = seen.job.progress
    parts = []
    if progress.step_seconds is not None:
        parts.append(f"{words.short_time(progress.step_seconds)} a step")
    if progress.last_step_age is not None and not seen.job.state.ended:
        age = progress.last_step_age + max(0.0, view.now - seen.at)
        if age > max(10.0, 5 * (progress.step_seconds or 0.0)):
            parts.append(f"last one {words.ago(age)}")
    return view.gap.join(parts)


def _join(parts: Sequence[str], view: View) -> str:
    return view.gap.join(part for part in parts if part)


def _figure(sheet: Sheet, job: Job, canonical: str, label: str) -> None:
    name = metric_name(job, canonical)
    if name is None:
        return
    text = value_text(job.metrics[name], "bold")
    if name in job.best and words.number(job.best[name]) != text.plain:
        text.append(f"  best {words.number(job.best[name])}", "dim")
    sheet.pair(label, text)


def board(
    jobs: Sequence[Seen], view: View, *, namespaces: bool = False, height: int | None = None, arranged: bool = False
) -> list[Text]:
    """Many jobs: totals, then the table; what does not fit into ``height`` lines is counted.

    Those that run come first, the newest before the others, unless they are ``arranged`` already.
    """
    order = list(jobs)
    if not arranged:
        order.sort(key=lambda seen: (seen.job.state.ended, -seen.job.created_at))
    rows = len(order) if height is None else max(1, height - 4)
    lines = [totals([seen.job for seen in jobs]), Text(end="")]
    lines += listing(order[:rows], view, columns=LIVE_COLUMNS, namespaces=namespaces)
    if len(order) > rows:
        lines.append(Text(f"and {len(order) - rows} more", "dim", end=""))
    return lines


def totals(jobs: Sequence[Job]) -> Text:
    """``5 jobs: 3 running, 1 complete, 1 failed``."""
    counts = Counter(job.state.value.lower() for job in jobs)
    parts = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    line = Text(f"{len(jobs)} job{'' if len(jobs) == 1 else 's'}", "bold", end="")
    return line.append(f": {parts}" if parts else "", "not bold")


def change_line(seen: Seen, view: View) -> Text:
    """One job in one line, for a watch whose output is a pipe or a file."""
    job = seen.job
    parts = [
        words.stamp(view.now),
        f"{job.namespace}/{job.name}",
        state_words(job),
        job.verdict.value if job.verdict else words.NONE,
        words.UNKNOWN if job.progress.percent is None else f"{job.progress.percent} %",
        f"step {words.steps(job.progress.step, job.progress.total_steps)}",
    ]
    remaining = seen.eta_seconds(view.now)
    if remaining is not None:
        parts.append(f"ETA {words.remaining(remaining[0])}")
    name = metric_name(job, "loss")
    if name is not None:
        parts.append(f"{name} {words.number(job.metrics[name])}")
    return Text("  ".join(words.clean(part) for part in parts), end="")
