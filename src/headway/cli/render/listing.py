"""The table of jobs: ``headway ls`` and ``headway watch``. Narrow terminals lose whole columns, the least telling first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text

from headway.cli.render import words
from headway.cli.render.view import (
    STATE_STYLES,
    Seen,
    View,
    last_verdict,
    metric,
    percent_of,
    severity_style,
    value_text,
    verdict_style,
    verdict_words,
)
from headway.protocol.job import State

_GAP = 2
_NARROWEST = {"STATE": 16, "NAME": 20, "NAMESPACE": 12}
"""How far these shrink before a column is left out."""
_BARS = ((10, 6), (5, 4), (0, 1))
"""Widths of the bar, and down to which rank columns are left out before the next narrower bar is tried."""
_WORTH_SAYING = 0.01
"""Money below this is not told apart."""
_STALE = 15.0
_SILENT = 60.0

Cell = Callable[[Seen, View], Text]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Those of the highest ``rank`` go first when the width does not suffice; 0 always stays."""

    title: str
    cell: Cell
    rank: int


def _name(seen: Seen, _view: View) -> Text:
    return Text(words.clean(seen.job.name), "bold")


def _namespace(seen: Seen, _view: View) -> Text:
    return Text(words.clean(seen.job.namespace), "dim")


def _state(seen: Seen, _view: View) -> Text:
    job = seen.job
    text = job.state.value
    if job.state.ended:
        text = job.summary or text
    elif job.state_reason and job.state is not State.RUNNING:
        text = f"{text} ({job.state_reason})"
    return Text(words.clean(text), STATE_STYLES.get(job.state, ""))


def _verdict(seen: Seen, view: View) -> Text:
    return Text(verdict_words(seen, view.now), verdict_style(seen.job.verdict))


def _last_verdict(seen: Seen, view: View) -> Text:
    last = last_verdict(seen.job)
    return _verdict(seen, view) if last is None else Text(last.type.value, severity_style(last))


def progress_cell(seen: Seen, view: View) -> Text:
    """A bar with its percentage, or the word unknown."""
    percent = percent_of(seen.job)
    if percent is None:
        unknown = seen.job.started_at is not None or seen.job.state.ended
        return Text(words.UNKNOWN if unknown else words.NONE, "dim")
    figure = f"{int(percent)} %"
    if not view.fancy or not view.bar:
        return Text(figure)
    done, rest = words.bar(percent / 100, view.bar, unicode=view.unicode)
    style = STATE_STYLES.get(seen.job.state, "green")
    return Text.assemble((done, style), (rest, "bright_black"), f" {figure:>5}")


def _eta(seen: Seen, view: View) -> Text:
    remaining = seen.eta_seconds(view.now)
    if remaining is not None:
        return Text(words.remaining(remaining[0]))
    return Text(words.UNKNOWN if seen.job.state is State.RUNNING else words.NONE, "dim")


def _step(seen: Seen, view: View) -> Text:
    progress = seen.job.progress
    if progress.step is None:
        return Text(words.UNKNOWN if seen.job.started_at is not None else words.NONE, "dim")
    if view.fancy:
        return Text(words.steps(progress.step, progress.total_steps))
    return Text(str(progress.step) if progress.total_steps is None else f"{progress.step}/{progress.total_steps}")


def _epoch(seen: Seen, _view: View) -> Text:
    progress = seen.job.progress
    if progress.epoch is None:
        return Text(words.NONE, "dim")
    return Text(words.epochs(progress.epoch, progress.total_epochs))


def _metric(canonical: str) -> Cell:
    def cell(seen: Seen, _view: View) -> Text:
        value = metric(seen.job, canonical)
        return Text(words.NONE, "dim") if value is None else value_text(value)

    return cell


def _age(seen: Seen, view: View) -> Text:
    return Text(words.coarse(view.now - seen.job.created_at))


def _updated(seen: Seen, view: View) -> Text:
    age = seen.contact_age(view.now)
    if age is None:
        return Text(words.NONE, "dim")
    if seen.job.state is not State.RUNNING:
        return Text(words.ago(age), "dim")
    return Text(words.ago(age), "bold red" if age > _SILENT else "yellow" if age > _STALE else "")


def _spent(seen: Seen, _view: View) -> Text:
    ledger = seen.job.ledger
    if ledger.spent.money is None:
        return Text(words.NONE, "dim")
    lost = ledger.without_progress.money
    if not lost or lost < _WORTH_SAYING:
        return Text(words.money(ledger.spent.money))
    return Text.assemble(words.money(ledger.spent.money), (f" ({words.money(lost)} for nothing)", "yellow"))


NAMESPACE = Column("NAMESPACE", _namespace, 0)
COLUMNS = (
    Column("NAME", _name, 0),
    Column("STATE", _state, 0),
    Column("VERDICT", _verdict, 1),
    Column("PROGRESS", progress_cell, 1),
    Column("ETA", _eta, 2),
    Column("STEP", _step, 4),
    Column("LOSS", _metric("loss"), 3),
    Column("SPENT", _spent, 4),
    Column("AGE", _age, 6),
    Column("UPDATED", _updated, 5),
)
"""What ``ls`` shows, from left to right."""
SORTED_BY = {
    "createdAt": "AGE",
    "updatedAt": "UPDATED",
    "spent": "SPENT",
    "eta": "ETA",
    "verdict": "VERDICT",
    "percent": "PROGRESS",
}
"""The columns by which lists can be sorted and which may be left out otherwise."""

LIVE_COLUMNS = (
    *COLUMNS[:6],
    Column("EPOCH", _epoch, 7),
    COLUMNS[6],
    COLUMNS[7],
    Column("GRAD NORM", _metric("grad_norm"), 8),
    Column("LEARN RATE", _metric("learning_rate"), 9),
    COLUMNS[9],
)
"""What ``watch`` shows: the figures of a running job instead of its age."""

SUMMARY_COLUMNS = tuple(
    replace(column, title="LAST VERDICT", cell=_last_verdict) if column.title == "VERDICT" else column
    for column in COLUMNS
)
"""What became of jobs: the verdict is the one that stood when they ended."""


def listing(
    jobs: Sequence[Seen],
    view: View,
    *,
    columns: Sequence[Column] = COLUMNS,
    namespaces: bool = False,
    needed: str | None = None,
) -> list[Text]:
    """A header line and one line a job, in columns that hold whatever the values are; the one titled ``needed`` stays."""
    columns = [replace(column, rank=0) if column.title == needed else column for column in columns]
    columns = (NAMESPACE, *columns) if namespaces else tuple(columns)
    if all(seen.job.ledger.spent.money is None for seen in jobs):
        columns = tuple(column for column in columns if column.cell is not _spent)
    for bar, rank in _BARS if view.fancy and view.width is not None else ((0, 0),):
        rows = [[column.cell(seen, replace(view, bar=bar)) for column in columns] for seen in jobs]
        widths = [
            max([cell_len(column.title), *(cell_len(row[index].plain) for row in rows)])
            for index, column in enumerate(columns)
        ]
        keep = list(range(len(columns)))
        if view.width is None or _fit(columns, widths, keep, view.width, rank):
            break
    header = [Text(column.title, "bold dim" if view.fancy else "") for column in columns]
    return [_line([cells[i] for i in keep], [widths[i] for i in keep], view) for cells in [header, *rows]]


def _fit(columns: Sequence[Column], widths: list[int], keep: list[int], width: int, rank: int) -> bool:
    """Shrinks ``widths``, then takes columns down to ``rank`` out of ``keep``; whether that was enough.

    With all but those of rank 0 gone, what is left is shrunk until it fits.
    """

    def over() -> int:
        return sum(widths[index] for index in keep) + _GAP * (len(keep) - 1) - width

    for index, column in enumerate(columns):
        if over() > 0 and column.title in _NARROWEST:
            widths[index] = max(min(widths[index], _NARROWEST[column.title]), widths[index] - over())
    while over() > 0 and any(columns[index].rank >= max(1, rank) for index in keep):
        keep.remove(max(keep, key=lambda index: (columns[index].rank, index)))
    if rank <= 1:
        while over() > 0:
            longest = max(keep, key=lambda index: widths[index])
            if widths[longest] <= 4:
                break
            widths[longest] -= 1
    return over() <= 0


def _line(cells: list[Text], widths: list[int], view: View) -> Text:
    line = Text(no_wrap=True, end="")
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        length = cell_len(cell.plain)
        if length > width:
            cell = cell.copy()  # noqa: PLW2901
            cell.truncate(width, overflow="ellipsis" if view.unicode else "crop")
            length = cell_len(cell.plain)
        line.append_text(cell)
        if index < len(cells) - 1:
            line.append(" " * (width - length + _GAP))
    return line
