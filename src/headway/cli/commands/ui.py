"""``headway ui``: the dashboard in a browser."""

from __future__ import annotations

from typing import Annotated

import typer


def ui(
    *,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only print the address, for a browser elsewhere.")
    ] = False,
) -> None:
    """Open the dashboard in a browser, logged in. Starts the server of this machine if none runs.

    The address holds a code that logs one browser in, once, within a few minutes.
    """
    import os
    import webbrowser

    from headway.cli import terminal
    from headway.client.client import Client
    from headway.client.local_server import ensure_server

    if not os.environ.get("HEADWAY_URL"):
        ensure_server()
    with Client() as client:
        url = client.login_url()
    if no_open or not webbrowser.open(url):
        terminal.say(url)
    else:
        terminal.note(f"opened {url.partition('/login')[0]} in a browser")
