"""The composition root: settings in, a running server out. ``python -m headway.app`` is the server process.

Everything is wired here and nowhere else: folders, keys, store, hub, HTTP face. The server leaves its address where clients on
this host find it only once it takes reports, and takes it away at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import uvicorn

import headway
from headway.errors import HeadwayError, SettingsError, StoreLockedError
from headway.hub.hub import Hub, HubSettings
from headway.reporter.discovery import ServerRecord, read_record, write_record
from headway.reporter.folders import Folders, private_folder
from headway.server.addresses import Addresses
from headway.server.answers import write_json
from headway.server.app import create_app
from headway.server.auth import Hosts
from headway.server.connection import HttpProtocol
from headway.server.context import Context
from headway.server.settings import DEFAULT_PORT, ServerSettings
from headway.server.status import StatusEndpoint
from headway.server.tokens import Keyring, load_keys
from headway.store.base import Store
from headway.store.memory import MemoryStore
from headway.store.sqlite import SqliteStore

_log = logging.getLogger("headway.server")

_GRACE_SECONDS: Final = 3
"""How long requests under way may take once the server is asked to end."""
_IDLE_SECONDS: Final = 120
"""How long an idle connection is kept: longer than any reporter's interval, as Kubeflow's status server has it."""
_BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a server process."""

    folders: Folders
    """Where everything lies; see :mod:`headway.reporter.folders`."""
    host: str = "127.0.0.1"
    """Address to listen on. The default can be reached from this machine only. Env: ``HEADWAY_SERVER_HOST``."""
    port: int | None = None
    """Port to listen on; 0 takes a free one. Unset: 7447, or a free one when that is taken. Env: ``HEADWAY_SERVER_PORT``."""
    store: str = "sqlite"
    """``sqlite`` keeps everything in the state folder; ``memory`` forgets at the end. Env: ``HEADWAY_SERVER_STORE``."""
    server: ServerSettings = field(default_factory=ServerSettings)
    """Settings of the HTTP face. ``allowed_hosts`` by env ``HEADWAY_SERVER_ALLOWED_HOSTS``, separated by commas;
    ``open_metrics`` by env ``HEADWAY_SERVER_OPEN_METRICS``, 0 or 1."""
    hub: HubSettings = field(default_factory=HubSettings)
    """Settings of the hub; its spool folder is that of ``folders`` when not set. ``stall_floor`` by env
    ``HEADWAY_STALL_FLOOR``."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """The settings that the environment asks for.

        Raises:
            SettingsError: a variable cannot be used; names it.
        """
        given = cls(folders=Folders.from_env(environ))
        changes: dict[str, object] = {}
        if host := environ.get("HEADWAY_SERVER_HOST"):
            changes["host"] = host
        if port := environ.get("HEADWAY_SERVER_PORT"):
            if not port.isdecimal() or int(port) > 65535:
                raise SettingsError(f"HEADWAY_SERVER_PORT is {port!r}; expected a number from 0 to 65535")
            changes["port"] = int(port)
        if store := environ.get("HEADWAY_SERVER_STORE"):
            if store not in ("sqlite", "memory"):
                raise SettingsError(f"HEADWAY_SERVER_STORE is {store!r}; expected sqlite or memory")
            changes["store"] = store
        if floor := environ.get("HEADWAY_STALL_FLOOR"):
            try:
                changes["hub"] = dataclasses.replace(given.hub, stall_floor=float(floor))
            except ValueError as error:
                raise SettingsError(f"HEADWAY_STALL_FLOOR is {floor!r}; expected a number of seconds") from error
        face: dict[str, object] = {}
        if hosts := environ.get("HEADWAY_SERVER_ALLOWED_HOSTS"):
            face["allowed_hosts"] = frozenset(name.strip().lower() for name in hosts.split(",") if name.strip())
        if metrics := environ.get("HEADWAY_SERVER_OPEN_METRICS"):
            if metrics not in ("0", "1"):
                raise SettingsError(f"HEADWAY_SERVER_OPEN_METRICS is {metrics!r}; expected 0 or 1")
            face["open_metrics"] = metrics == "1"
        changes["server"] = dataclasses.replace(given.server, **face)  # type: ignore[arg-type]
        return dataclasses.replace(given, **changes)  # type: ignore[arg-type]

    @property
    def keys(self) -> Path:
        """The file of the server's keys."""
        return self.folders.state / "keys.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that takes requests."""

    url: str
    token: str
    """The user's token."""
    hub: Hub
    context: Context


class _Uvicorn(uvicorn.Server):
    """uvicorn, with signals left to us, and open streams told when the server ends."""

    def __init__(self, config: uvicorn.Config, context: Context, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._context = context
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._context.closing.set()
        await super().shutdown(sockets)


def make_store(settings: Settings) -> Store:
    """The store that the settings ask for, not yet open."""
    return MemoryStore() if settings.store == "memory" else SqliteStore(private_folder(settings.folders.store))


def bind(host: str, port: int | None) -> socket.socket:
    """A socket to listen on.

    Raises:
        SettingsError: the address cannot be had; says why.
    """
    wanted = DEFAULT_PORT if port is None else port
    try:
        return _bind(host, wanted)
    except OSError as error:
        if port is None:
            with contextlib.suppress(OSError):
                return _bind(host, 0)
        raise SettingsError(f"cannot listen on {host} port {wanted}: {error.strerror or error}") from error


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


@contextlib.asynccontextmanager
async def running_hub(settings: Settings, store: Store) -> AsyncIterator[Hub]:
    """A hub over a store, started, and stopped at the end."""
    hub_settings = dataclasses.replace(settings.hub, write_json=write_json)
    if hub_settings.spool is None:
        hub_settings = dataclasses.replace(hub_settings, spool=settings.folders.spool)
    hub = Hub(store, settings=hub_settings)
    await hub.start()
    try:
        yield hub
    finally:
        await hub.stop()


async def serve(
    settings: Settings, stop: asyncio.Event, on_ready: Callable[[Running], None], store: Store | None = None
) -> None:
    """Runs a server until ``stop`` is set; ``on_ready`` hears of it once it takes requests.

    Raises:
        StoreLockedError: another server holds the state folder.
        HeadwayError: it cannot start for another reason; says which.
    """
    async with running_hub(settings, store or make_store(settings)) as hub:
        keys = load_keys(settings.keys)
        keyring = Keyring(
            keys,
            job_token_days=settings.server.job_token_days,
            session_days=settings.server.session_days,
            code_seconds=settings.server.code_seconds,
        )
        app, context = create_app(hub, keyring, settings.server)
        listener = bind(settings.host, settings.port)
        try:
            url = url_of(listener)
            addresses = Addresses(settings.folders.addresses, settings.server.allowed_hosts)
            addresses.add(url)
            hub.intake.own = addresses.__contains__
            connection = functools.partial(
                HttpProtocol, status=StatusEndpoint(context), hosts=Hosts(settings.server.allowed_hosts)
            )
            running = Running(url=url, token=keys.user, hub=hub, context=context)
            config = uvicorn.Config(
                app,
                http=cast("Any", connection),
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_IDLE_SECONDS,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                backlog=_BACKLOG,
                ws="none",
            )
            server = _Uvicorn(config, context, lambda: on_ready(running))
            stopping = asyncio.create_task(_stop(server, stop))
            try:
                await server.serve(sockets=[listener])
            finally:
                stopping.cancel()
        finally:
            listener.close()


async def _stop(server: uvicorn.Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True


def url_of(listener: socket.socket) -> str:
    """The base URL by which clients on this host reach a socket."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _main(settings: Settings) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    record_path = settings.folders.server_record

    def on_ready(running: Running) -> None:
        record = ServerRecord(url=running.url, token=running.token, pid=os.getpid(), version=headway.__version__)
        write_record(record_path, record)
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


if __name__ == "__main__":
    sys.exit(main())
