"""``headway server``: the server of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.commands.options import Json

if TYPE_CHECKING:
    from headway.reporter.discovery import ServerRecord

app = typer.Typer(help="Start, stop and look at the server of this machine.", no_args_is_help=True)


@app.command()
def start() -> None:
    """Start the server in the background, unless it runs already. headway run does so by itself."""
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


@app.command()
def address() -> None:
    """Print the address of the server, for scripts. Exit code 4 when none runs."""
    from headway.cli import terminal

    terminal.write(_record().url + "\n")


@app.command()
def token() -> None:
    """Print the user's token, for a file on another machine of yours: HEADWAY_TOKEN_FILE. Exit code 4 when no server runs.

    Whoever has it can see, stop and delete every job of the server, and with `headway run` nothing more is needed than that and a
    way to the server. Keep it in a file that only you can read, and out of scripts, images and logs.
    """
    from headway.cli import terminal

    record = _record()
    terminal.write(record.token + "\n")
    terminal.note("whoever has this token can see, stop and delete all jobs here: keep it in a file with mode 0600")


def _record() -> ServerRecord:
    from headway.cli import terminal
    from headway.reporter.discovery import find_server
    from headway.reporter.folders import Folders

    record = find_server(Folders.from_env().server_record)
    if record is None:
        terminal.complain("no server runs on this machine; start one with: headway server start")
        raise typer.Exit(4)
    return record


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback address; 0: any free one.")] = 0,
) -> None:
    """Run the server in the foreground, until Ctrl-C."""
    import os
    import sys

    os.execv(sys.executable, [sys.executable, "-m", "headway.app", "--port", str(port), *context.args])  # noqa: S606
