"""``headway watch``: jobs drawn live, until they end or Ctrl-C is pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.commands.options import LOCAL, AllNamespaces, Namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from headway.cli.follow import Follower
    from headway.cli.render.view import View

_QUIET = 10.0


def watch(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One job; without it, all.", show_default=False)
    ] = None,
    namespace: Namespace = LOCAL,
    all_namespaces: AllNamespaces = False,
) -> None:
    """Watch one job or all of them, live. Ends with the job; Ctrl-C ends it at any time."""
    from headway.cli import terminal
    from headway.cli.follow import Follower
    from headway.cli.render.live import board, card
    from headway.client.client import Client

    def draw(follower: Follower, view: View) -> list[Text]:
        seen = list(follower.jobs.values())
        if name is not None:
            return card(seen[0], follower.history, view) if seen else []
        return board(seen, view, namespaces=all_namespaces, height=terminal.console().height if view.fancy else None)

    def over(follower: Follower) -> bool:
        return name is not None and bool(follower.jobs) and all(each.job.state.ended for each in follower.jobs.values())

    with (
        Client() as client,
        Follower(client, namespace=None if all_namespaces and name is None else namespace, name=name) as follower,
    ):
        if terminal.is_fancy():
            animate(follower, draw, over)
        else:
            _report(follower, over)


def animate(
    follower: Follower,
    draw: Callable[[Follower, View], list[Text]],
    over: Callable[[Follower], bool],
    *,
    transient: bool = False,
) -> None:
    """Draws anew at each message and each second, until ``over``; the last drawing stays unless ``transient``."""
    from rich.console import Group
    from rich.live import Live

    from headway.cli import terminal

    with Live(
        console=terminal.console(), auto_refresh=False, vertical_overflow="ellipsis", transient=transient
    ) as live:
        while True:
            follower.wait(1.0)
            live.update(Group(*_ended(draw(follower, terminal.view(follower.now)))), refresh=True)
            if over(follower):
                return


def _ended(lines: list[Text]) -> list[Text]:
    for line in lines:
        line.end = "\n"
    return lines


def _report(follower: Follower, over: Callable[[Follower], bool]) -> None:
    """For pipes: one line when something worth a line changes, at least one each ten seconds while steps advance."""
    from headway.cli import terminal
    from headway.cli.render.live import change_line
    from headway.cli.render.view import View

    told: dict[object, tuple[tuple[object, ...], float]] = {}
    while not over(follower) or not told:
        follower.wait(1.0)
        now = follower.now
        for key, seen in list(follower.jobs.items()):
            job = seen.job
            mark = (job.state, job.verdict, job.summary, job.progress.percent)
            before, at = told.get(key, ((), 0.0))
            quiet = now - at > _QUIET and seen.at > at and not job.state.ended
            if mark != before or quiet:
                told[key] = (mark, now)
                terminal.show([change_line(seen, View(now=now))])
