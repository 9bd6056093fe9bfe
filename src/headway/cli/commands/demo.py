"""``headway demo``: real training jobs of a small language model, shown live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import subprocess

    from headway.cli.follow import Follower
    from headway.cli.render.view import Seen
    from headway.client.client import Client

_LEAST = 10.0
_CLOSING = 5.0
"""Seconds of the whole that are left for stopping the jobs and printing the summary."""


def demo(
    *,
    seconds: Annotated[
        float | None,
        typer.Option(min=15, metavar="N", help="End after so long; else with the last job.", show_default=False),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the dashboard in a browser.")] = False,
) -> None:
    """Train a few small language models on this machine, each with a fate of its own, and show them live.

    They are jobs like any other: look at them with ls, show and logs afterwards.
    """
    import importlib.util
    import os
    import signal
    import subprocess
    import sys
    import time

    from headway.cli import terminal
    from headway.cli.follow import Follower
    from headway.client.client import Client
    from headway.client.local_server import ensure_server

    if importlib.util.find_spec("numpy") is None:
        terminal.complain(
            "the demo trains with numpy, which is not installed; get it with: pip install 'headway[demo]'"
        )
        raise typer.Exit(1)
    began = time.monotonic()
    url = os.environ.get("HEADWAY_URL") or ensure_server().url
    stories = subprocess.run(
        [sys.executable, "-m", "headway.demo", "--list"], capture_output=True, text=True, check=True
    ).stdout
    terminal.say(f"Headway runs at {url}; small language models are trained on the standard library's sources:")
    names = [story.split()[0] for story in stories.splitlines()]
    for story in stories.splitlines():
        terminal.say(f"  {story}", "dim")
    terminal.say("")
    with Client() as client, Follower(client, namespace="local") as follower:
        if not no_open:
            _open_dashboard(client)
        arguments = [sys.executable, "-m", "headway.demo"]
        if seconds is not None:
            left = seconds - (time.monotonic() - began)
            arguments += ["--seconds", str(max(_LEAST, left - _CLOSING)), "--length", str(max(_LEAST, left - _CLOSING))]
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)  # a closed terminal ends the jobs as Ctrl-C does
        conductor = subprocess.Popen(arguments, stdin=subprocess.DEVNULL)
        try:
            _show(follower, conductor, names)
        except KeyboardInterrupt:
            terminal.note("stopping the demo's jobs")
            conductor.terminate()
            conductor.wait()
        finally:
            if conductor.poll() is None:
                conductor.terminate()
                conductor.wait()
        _summary(client, names)
    if conductor.returncode:
        raise typer.Exit(1)
    terminal.say("")
    terminal.note("They are still there: headway ls, headway show demo-healthy, headway logs demo-crash-resume")


def _show(follower: Follower, conductor: subprocess.Popen[bytes], names: list[str]) -> None:
    """Draws the jobs until the conductor has ended: live on a terminal, as a table each ten seconds elsewhere."""
    import time

    from headway.cli import terminal
    from headway.cli.commands.watch import animate
    from headway.cli.render.listing import listing
    from headway.cli.render.live import board

    def jobs() -> list[Seen]:
        there = {key.name: seen for key, seen in list(follower.jobs.items())}
        return [there[name] for name in names if name in there]

    if terminal.is_fancy():
        animate(
            follower,
            lambda _, view: board(jobs(), view, height=terminal.console().height, arranged=True),
            lambda _: conductor.poll() is not None,
            transient=True,
        )
        return
    drawn = time.monotonic() - 7
    while conductor.poll() is None:
        follower.wait(0.5)
        if time.monotonic() - drawn >= 10 and jobs():
            drawn = time.monotonic()
            terminal.show(listing(jobs(), terminal.view(follower.now)))
            terminal.say("")


def _summary(client: Client, names: list[str]) -> None:
    """What became of each job, and what its numbers said at the end."""
    import time

    from headway.cli import terminal
    from headway.cli.render.listing import SUMMARY_COLUMNS, listing
    from headway.cli.render.view import Seen
    from headway.errors import NotFoundError

    now = time.time()
    jobs = []
    for name in names:
        try:
            jobs.append(Seen(client.job(name), now))
        except NotFoundError:
            continue  # the demo was ended before this one was started
    terminal.show(listing(jobs, terminal.view(now), columns=SUMMARY_COLUMNS))


def _open_dashboard(client: Client) -> None:
    """Opens the dashboard, logged in, where the server has one and there is somebody to look at it."""
    import urllib.error
    import urllib.request
    import webbrowser

    from headway.cli import terminal

    if not terminal.is_fancy():
        return
    try:
        with urllib.request.urlopen(client.url + "/", timeout=2) as page:  # noqa: S310 - the server's own address
            has_page = page.headers.get_content_type() == "text/html"
    except (urllib.error.URLError, OSError):
        return
    if has_page:
        webbrowser.open(client.login_url())
