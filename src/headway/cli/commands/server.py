"""``headway server``: the server of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from headway.cli.commands.options import Json

app = typer.Typer(help="Start, stop and look at the server of this machine.", no_args_is_help=True)


@app.command()
def start() -> None:
    """Start the server in the background, unless it runs already. ``headway run`` does so by itself."""
    from headway.cli import terminal
    from headway.client.local_server import ensure_server, server_status

    there = server_status().running
    record = ensure_server()
    terminal.say(f"the server {'already runs' if there else 'runs'} at {record.url} (process {record.pid})")


@app.command()
def stop() -> None:
    """Stop the server. Jobs go on; what they report meanwhile waits, and is taken in at the next start."""
    from headway.cli import terminal
    from headway.client.local_server import stop_server

    terminal.say("the server has stopped" if stop_server() else "no server was running")


@app.command()
def status(json: Json = False) -> None:
    """Say whether the server runs, and where. Exit code 4 when it does not."""
    from headway.cli import terminal
    from headway.cli.documents import strict_json
    from headway.cli.render.sheet import Sheet
    from headway.client.client import Client
    from headway.client.local_server import server_status
    from headway.protocol.job import JobQuery, State
    from headway.reporter.folders import Folders

    folders = Folders.from_env()
    found = server_status(folders)
    jobs = running = None
    if found.ready:
        with Client(folders=folders) as client:
            jobs = client.jobs(JobQuery(limit=1)).total
            running = client.jobs(JobQuery(limit=1, states=frozenset({State.RUNNING}))).total
    if json:
        document = {
            "running": found.running,
            "ready": found.ready,
            "url": found.url,
            "pid": found.pid,
            "version": found.version,
            "jobs": jobs,
            "runningJobs": running,
            "store": str(folders.store),
            "log": str(found.log),
        }
        terminal.write(strict_json(document) + "\n")
    elif found.running:
        sheet = Sheet(terminal.view())
        sheet.pair("server", "ready" if found.ready else "starting, or not able to work: see its log")
        sheet.pair("address", found.url or "")
        sheet.pair("process", str(found.pid))
        sheet.pair("version", found.version or "")
        if jobs is not None:
            sheet.pair("jobs", f"{jobs}, {running} running")
        sheet.pair("store", str(folders.store))
        sheet.pair("log", str(found.log))
        terminal.show(sheet.lines)
    else:
        terminal.say("no server runs on this machine; start one with: headway server start")
    if not found.running:
        raise typer.Exit(4)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback address; 0: any free one.")] = 0,
) -> None:
    """Run the server in the foreground, until Ctrl-C."""
    import os
    import sys

    os.execv(sys.executable, [sys.executable, "-m", "headway.app", "--port", str(port), *context.args])  # noqa: S606
