"""``headway check``: the judgement of a log that is already there, from any tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_UNREADABLE = 2
_UNHEALTHY = 3


def check(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="trainer_state.json, CSV, JSON Lines, a TensorBoard event file, or a folder with such a log.",
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
    from headway.cli.render.judgement import judgement
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
        for line in judgement(log, found, terminal.view().width):
            terminal.say(line)
    for warning in log.warnings:
        terminal.note(f"{file}: {warning}")
    if not found.healthy:
        raise typer.Exit(_UNHEALTHY)
