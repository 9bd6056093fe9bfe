"""Wires a server together and runs it: store, hub, keys, HTTP face, socket. The one place where the parts meet."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import socket
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, cast

import uvicorn

from headway.app.listener import bind, url_of
from headway.app.settings import Settings
from headway.hub.hub import Hub
from headway.reporter.folders import private_folder
from headway.server.addresses import Addresses
from headway.server.answers import write_json
from headway.server.app import create_app
from headway.server.auth import Hosts
from headway.server.context import Context
from headway.server.ingest.connection import HttpProtocol
from headway.server.ingest.status import StatusEndpoint
from headway.server.tokens import Keyring, load_keys
from headway.store.base import Store
from headway.store.memory import MemoryStore
from headway.store.sqlite import SqliteStore

_GRACE_SECONDS: Final = 3
"""How long requests under way may take once the server is asked to end."""
_IDLE_SECONDS: Final = 120
"""How long an idle connection is kept: longer than any reporter's interval, as Kubeflow's status server has it."""
_BACKLOG: Final = 1024


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
