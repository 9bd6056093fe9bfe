"""The server as a process of its own: what it is told on the command line, its log, its signals and its exit code.

It leaves its address where clients on this host find it only once it takes reports, and takes it away at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable

import headway
from headway.app.serving import Running, serve
from headway.app.settings import Settings
from headway.errors import HeadwayError, SettingsError, StoreLockedError
from headway.reporter.discovery import ServerRecord, read_record, write_record

_log = logging.getLogger("headway.server")


async def _main(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    record_path = settings.folders.server_record

    def on_ready(running: Running) -> None:
        record = ServerRecord(url=running.url, token=running.token, pid=os.getpid(), version=headway.__version__)
        try:
            write_record(record_path, record)
        except OSError as error:
            raise HeadwayError(
                f"{record_path}, where others look for the server, cannot be written: {error}"
            ) from error
        gc.collect()
        gc.freeze()
        kept = "in memory only" if settings.store == "memory" else f"in {settings.folders.store}"
        _log.info("listening on %s; jobs are kept %s", running.url, kept)

    try:
        await serve(settings, stop, on_ready)
    finally:
        record = read_record(record_path)
        if record is not None and record.pid == os.getpid():
            record_path.unlink(missing_ok=True)
    _log.info("ended")


def holder_of(settings: Settings, error: StoreLockedError) -> str:
    """Says who holds the folder, as far as it is known."""
    with contextlib.suppress(SettingsError):
        if (record := read_record(settings.folders.server_record)) is not None:
            return f"{error}; a server with process id {record.pid} is at {record.url} (`headway server status`)"
    return str(error)


def read_arguments(settings: Settings, arguments: list[str] | None = None) -> Settings:
    """The settings as changed by the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m headway.app", description="Runs Headway's server in the foreground."
    )
    parser.add_argument("--host", default=settings.host, help="address to listen on")
    parser.add_argument("--port", type=int, default=settings.port, help="port; 0 takes a free one")
    parser.add_argument("--store", choices=("sqlite", "memory"), default=settings.store)
    given = parser.parse_args(arguments)
    return dataclasses.replace(settings, host=given.host, port=given.port, store=given.store)


def main(arguments: list[str] | None = None) -> int:
    """The server process; returns its exit code."""
    _log_as_server()
    try:
        settings = read_arguments(Settings.from_env(), arguments)
    except SettingsError as error:
        _log.error("%s", error)
        return 2
    return run(settings)


def _log_as_server() -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)


def run(settings: Settings) -> int:
    """Runs a server in this process, which is its own, until it is told to end; returns the process's exit code."""
    # A commit lets go of the interpreter lock and wants it back soon; the event loop would keep it for 5 ms.
    sys.setswitchinterval(0.0002)
    gc.set_threshold(20_000, 20, 50)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_main(settings))
    except StoreLockedError as error:
        _log.error("%s", holder_of(settings, error))
        return 1
    except HeadwayError as error:
        _log.error("%s", error)
        return 1
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
