"""``headway logs``: the output of a job."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.cli.commands.options import LOCAL, Name, Namespace


def logs(
    name: Name,
    namespace: Namespace = LOCAL,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    tail: Annotated[int, typer.Option(min=0, metavar="N", help="So many of the last lines.")] = 100,
) -> None:
    """Print the last lines of a job's log. What would move the cursor or ring the bell is made visible."""
    from headway.cli import terminal
    from headway.cli.render import words
    from headway.client.client import Client

    with Client() as client:
        for line in client.log(name, namespace=namespace, tail=tail, follow=follow):
            terminal.write(words.clean_log(line) + "\n")
