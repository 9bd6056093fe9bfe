"""``headway checkpoint``, ``pause``, ``resume`` and ``stop``: each asks, waits for what comes of it, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.commands.options import LOCAL, Name, Namespace, finite

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.client.client import Client
    from headway.protocol.job import Job

_SLACK = 15.0
"""Seconds past every deadline within which a runner should have told what came of it."""

Notice = Annotated[
    float | None,
    typer.Option(
        min=0, callback=finite, metavar="S", help="Seconds that the run gets to do it by itself.", show_default=False
    ),
]
Grace = Annotated[
    float,
    typer.Option(
        min=0, callback=finite, metavar="S", help="Seconds between asking the processes to end and killing them."
    ),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.", show_default=False)]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for what comes of it.")]


def checkpoint(
    name: Name, namespace: Namespace = LOCAL, notice: Notice = None, reason: Reason = "", wait: Wait = True
) -> None:
    """Ask a run to save a checkpoint now."""
    _act(
        name,
        namespace,
        lambda client, by: client.checkpoint(name, namespace=namespace, notice=notice, reason=reason, by=by),
        wait=wait,
        done=lambda _, refused: not refused,
    )


def pause(
    name: Name,
    *,
    namespace: Namespace = LOCAL,
    notice: Notice = None,
    grace: Grace = 30.0,
    reason: Reason = "",
    wait: Wait = True,
) -> None:
    """Pause a job: save if the run can, end its processes, free its devices, keep the job."""
    from headway.protocol.job import State

    _act(
        name,
        namespace,
        lambda client, by: client.pause(name, namespace=namespace, notice=notice, grace=grace, reason=reason, by=by),
        wait=wait,
        done=lambda job, _: job.state is State.PAUSED or job.state.ended,
    )


def resume(name: Name, namespace: Namespace = LOCAL, reason: Reason = "", wait: Wait = True) -> None:
    """Start the next attempt of a paused job."""
    _act(
        name,
        namespace,
        lambda client, by: client.resume(name, namespace=namespace, reason=reason, by=by),
        wait=wait,
        done=lambda _, refused: not refused,
    )


def stop(
    name: Name,
    *,
    namespace: Namespace = LOCAL,
    save: Annotated[bool, typer.Option("--save", help="Ask the run to save first.")] = False,
    notice: Notice = None,
    grace: Grace = 30.0,
    reason: Reason = "headway stop",
    wait: Wait = True,
) -> None:
    """Stop a job for good: ask the run, then SIGTERM, then SIGKILL."""
    _act(
        name,
        namespace,
        lambda client, by: client.stop(
            name, namespace=namespace, save=save, notice=notice, grace=grace, reason=reason, by=by
        ),
        wait=wait,
        done=lambda job, _: job.state.ended,
    )


def _act(
    name: str, namespace: str, ask: Callable[[Client, str], Job], *, wait: bool, done: Callable[[Job, bool], bool]
) -> None:
    """Asks, and waits until something came of it and the job is as it was meant to be.

    ``done`` says whether it is, by the job and whether the request was refused.
    """
    import getpass
    import time

    from headway.cli import terminal
    from headway.client.client import Client
    from headway.protocol.action import CarriedOut
    from headway.protocol.job import JobKey

    with Client() as client:
        job = ask(client, getpass.getuser())
        asked = job.actions[-1]
        key = JobKey(namespace, name)
        if not wait:
            terminal.say(f"{key}: {asked.kind} requested")
            return
        given = 0.0 if asked.deadline is None else asked.deadline - asked.asked_at
        end = time.monotonic() + given + asked.grace + _SLACK
        while True:
            action = next((each for each in job.actions if each.id == asked.id), asked)
            refused = action.carried_out is CarriedOut.REFUSED
            if action.carried_out is not None and (refused or done(job, refused)):
                break
            if time.monotonic() >= end:
                terminal.complain(f"{key}: {asked.kind} was requested, but the job is still {job.state}")
                raise typer.Exit(1)
            time.sleep(0.3)
            job = client.job(name, namespace=namespace)
    if refused and not done(job, refused):
        terminal.complain(f"{key}: no {asked.kind}: {action.outcome}")
        raise typer.Exit(1)
    terminal.say(f"{key}: {job.summary} ({action.outcome})")
