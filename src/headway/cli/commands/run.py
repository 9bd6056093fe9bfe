"""``headway run``: starts a training command and tracks it."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.cli.commands.options import LOCAL, Namespace, finite


def _startable(value: str | None) -> str | None:
    """A command that cannot be started is said now, not when it is needed."""
    if value is None:
        return None
    import shlex
    import shutil

    try:
        words = shlex.split(value)
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} cannot be split into words: {error}") from error
    if not words:
        raise typer.BadParameter("no command is given")
    if shutil.which(words[0]) is None:
        raise typer.BadParameter(f"{words[0]!r} is no program that can be started; no shell takes part")
    return value


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run.", show_default=False)],
    *,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the job; else made from the script's.", show_default=False),
    ] = None,
    namespace: Namespace = LOCAL,
    devices: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Devices of the whole job, for the ledger.", show_default=False),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Nodes that take part; else what Slurm says.", show_default=False),
    ] = None,
    device_type: Annotated[str | None, typer.Option(metavar="TYPE", help="Such as H100.", show_default=False)] = None,
    price_per_hour: Annotated[
        float | None,
        typer.Option(min=0, callback=finite, metavar="X", help="Price of the whole job per hour.", show_default=False),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=0, metavar="N", help="Start again after a failure, at most so often.")
    ] = 0,
    stall_floor: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            callback=finite,
            metavar="SECONDS",
            help="Never call it Stalled below so many seconds without a step; else 60.",
            show_default=False,
        ),
    ] = None,
    on_condition: Annotated[
        str | None,
        typer.Option(
            callback=_startable,
            metavar="CMD",
            help="Run CMD (no shell) when a condition such as Stalled or Plateaued begins, and when it is withdrawn; it gets "
            "the event as JSON on standard input.",
            show_default=False,
        ),
    ] = None,
    auto: Annotated[
        bool,
        typer.Option(
            "--auto/--no-auto", help="Find the framework that it trains with, and track that with no line of code."
        ),
    ] = True,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A tag; may be repeated.")] = None,
) -> None:
    """Run a training command and track it. Its exit code becomes this one's.

    headway run --name fraud-ft --devices 8 --price-per-hour 55 -- python train.py
    """
    import shlex

    from headway.runner import RunRequest
    from headway.runner import run as run_job

    code = run_job(
        RunRequest(
            command=tuple(command),
            name=name,
            namespace=namespace,
            devices=devices,
            nodes=nodes,
            device_type=device_type,
            price_per_hour=price_per_hour,
            restarts=restarts,
            tags=tuple(tag or ()),
            stall_floor=stall_floor,
            auto=auto,
            on_condition=tuple(shlex.split(on_condition or "")),
        )
    )
    raise typer.Exit(code)
