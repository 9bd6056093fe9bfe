"""``headway check``: the judgement of a log that is already there, from any tracker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headway.insight.replay import Replay
    from headway.readers.log import Log

_UNREADABLE = 2
_UNHEALTHY = 3


def check(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="trainer_state.json, CSV, JSON Lines, a TensorBoard event file, or a folder with one of them.",
            show_default=False,
        ),
    ],
    *,
    total_steps: Annotated[
        int | None,
        typer.Option(
            "--total-steps", min=1, metavar="N", help="Steps planned; else as the file says.", show_default=False
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", metavar="NAME", help="Judge the run by this metric.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print strict JSON.")] = False,
) -> None:
    """Say whether the run that wrote FILE was learning, and since when not: as an online watcher would have seen it.

    Exit code: 0 healthy, 3 with a warning or critical condition at the end, 2 for a file that cannot be read.
    """
    from headway.cli import documents, terminal
    from headway.errors import InvalidError
    from headway.insight.replay import replay
    from headway.readers import read_log

    try:
        log = read_log(file)
    except InvalidError as error:
        terminal.complain(str(error))
        raise typer.Exit(_UNREADABLE) from error
    known = sorted({name for point in log.points for name in point.metrics})
    if metric is not None and metric not in known:
        terminal.complain(f"{file} has no metric {metric!r}; it has {', '.join(known)}")
        raise typer.Exit(_UNREADABLE)
    found = replay(log.points, total_steps=total_steps or log.total_steps, metric=metric)
    if json:
        terminal.write(documents.strict_json(found.document(str(file))) + "\n")
    else:
        for line in _lines(log, found):
            terminal.write(line + "\n")
    for warning in log.warnings:
        terminal.note(f"{file}: {warning}")
    if not found.healthy:
        raise typer.Exit(_UNHEALTHY)


def _lines(log: Log, found: Replay) -> list[str]:
    from headway.insight import wording

    last = log.points[-1].step
    of = f" of {wording.step(found.total_steps)}" if found.total_steps else ""
    lines = [
        f"{log.path} ({log.format}): {wording.step(found.points)} points, steps {wording.step(log.points[0].step)} to "
        f"{wording.step(last)}{of}",
        f"{found.final.verdict.value}: {found.final.text}",
    ]
    if found.eta is not None and found.eta.seconds > 0:
        eta = found.eta
        lines.append(
            f"ends in {wording.duration(eta.seconds)} ({wording.duration(eta.low)} to {wording.duration(eta.high)}, 80 %)"
        )
    if found.conditions:
        lines += ["", "What an online watcher would have said:"]
    for condition in found.conditions:
        until = "stands" if condition.until_step is None else f"withdrawn at step {wording.step(condition.until_step)}"
        lines.append(
            f"  {condition.type.value} of {condition.metric} since step {wording.step(condition.since_step)}, seen at step "
            f"{wording.step(condition.detected_step)}, {until}"
        )
        lines.append(f"    {condition.text}")
    if found.final.notes:
        lines += ["", *(f"Note: {note}" for note in found.final.notes)]
    if found.total_steps is None:
        lines += ["", "The file does not say how long the run was to be; --total-steps makes the judgement sharper."]
    return lines
