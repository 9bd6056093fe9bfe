"""``headway check``: the judgement of a log that is already there, from any tracker."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headway.readers import Log

_UNREADABLE = 2
_UNHEALTHY = 3


class Direction(StrEnum):
    """Which way a metric is better."""

    MIN = "min"
    MAX = "max"


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
    direction: Annotated[
        Direction | None,
        typer.Option(
            "--direction",
            help="Whether lower or higher is better, where the name of --metric does not say; else min.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print strict JSON.")] = False,
) -> None:
    """Say whether the run that wrote FILE was learning, and since when not: as an online watcher would have seen it.

    Exit code: 0 healthy, 3 with a warning or critical condition at the end, 2 for a file that cannot be read or judged.
    """
    from headway.cli import documents, terminal
    from headway.cli.render.judgement import judgement, named
    from headway.errors import InvalidError
    from headway.insight.replay import replay
    from headway.readers import read_log

    try:
        log = read_log(file)
        directions = declared(log, metric, direction)
    except InvalidError as error:
        terminal.complain(str(error))
        raise typer.Exit(_UNREADABLE) from error
    found = replay(log.points, total_steps=total_steps or log.total_steps, metric=metric, directions=directions)
    if found.judged_by is None and not found.final.findings:
        terminal.complain(
            f"{file} cannot be judged: which of {named(log)} says how well it learns? Name it with --metric"
        )
        raise typer.Exit(_UNREADABLE)
    if json:
        terminal.write(documents.strict_json(found.document(str(file))) + "\n")
    else:
        for line in judgement(log, found, terminal.view().width):
            terminal.say(line)
    if metric is not None and direction is None and metric in directions:
        terminal.note(f"{metric}: lower is taken to be better; if higher is, say --direction max")
    for warning in log.warnings:
        terminal.note(f"{file}: {warning}")
    if not found.healthy:
        raise typer.Exit(_UNHEALTHY)


def declared(log: Log, metric: str | None, direction: Direction | None) -> dict[str, str]:
    """Which way the metric to judge by is better, where its name does not say or ``direction`` says otherwise.

    Raises:
        InvalidError: the log has no such metric, or a direction is given without a metric.
    """
    from headway.cli.render.judgement import named
    from headway.errors import InvalidError
    from headway.insight.metrics import sign_of

    if metric is None:
        if direction is not None:
            raise InvalidError("--direction is said of the metric that --metric names")
        return {}
    if not any(metric in point.metrics for point in log.points):
        raise InvalidError(f"{log.path} has no metric {metric!r}; it has {named(log)}")
    if direction is not None:
        return {metric: direction.value}
    return {} if sign_of(metric, {}) is not None else {metric: Direction.MIN.value}
