"""The servers that reports go to: that of this machine, the one that HEADWAY_URL names, and what waits for others."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

from headway.cli.checks.check import Check, Level
from headway.errors import HeadwayError
from headway.reporter.folders import Folders


def server(folders: Folders) -> Check:
    """The server of this machine: there, the one it claims to be, ready, of this version."""
    from headway.client.local_server import server_status

    try:
        found = server_status(folders)
    except HeadwayError as error:
        return Check(Level.FAIL, "server", str(error), "headway server stop, remove the file, headway server start")
    if not found.running:
        if folders.server_record.exists():
            text = "its record is there, but nothing answers at that address that can prove to be it"
            return Check(Level.WARN, "server", text, "headway server start")
        return Check(Level.OK, "server", "not running; headway run starts it")
    ours = importlib.metadata.version("headway")
    if not found.ready:
        return Check(Level.FAIL, "server", f"{found.url} is up, but not ready to work", f"see {found.log}")
    if found.version != ours:
        return Check(
            Level.WARN,
            "server",
            f"it is version {found.version}, this is {ours}",
            "headway server stop; headway server start",
        )
    return Check(Level.OK, "server", f"{found.url}, process {found.pid}, proved to be yours")


def spooled(folders: Folders) -> Iterator[Check]:
    """Reports that wait for a server on another machine; one here takes its own in by itself."""
    from headway.reporter.transports.spool import read_spool

    waiting: dict[str, int] = {}
    for path in folders.spool.glob("*.jsonl"):
        try:
            header, lines = read_spool(path)
            if header.server is not None:
                waiting[header.server] = waiting.get(header.server, 0) + sum(1 for _ in lines)
        except (OSError, HeadwayError):
            continue  # gone meanwhile, or no spool file: the server puts that aside, and says so
    for address, count in sorted(waiting.items()):
        text = f"{count} report{'' if count == 1 else 's'} in {folders.spool} for {address}"
        todo = f"HEADWAY_URL={address} headway run … hands them on, with a token that opens everything there"
        yield Check(Level.WARN, "kept reports", text, todo)


def remote(url: str) -> Check:
    """The server that HEADWAY_URL names."""
    from headway.client.client import Client
    from headway.protocol.job import JobQuery

    try:
        with Client(timeout=5) as client:
            health = client.health()
            if health.ready:
                client.jobs(JobQuery(limit=1))
    except HeadwayError as error:
        return Check(Level.FAIL, "HEADWAY_URL", str(error), "check HEADWAY_URL, HEADWAY_TOKEN and the network")
    if not health.ready:
        return Check(Level.FAIL, "HEADWAY_URL", f"{url} is not ready: {health.text}", "wait, or look at its log")
    return Check(Level.OK, "HEADWAY_URL", f"{url} answers, and the token opens it")
