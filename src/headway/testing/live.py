"""A real server for tests: uvicorn on a free loopback port, in a thread of this process.

::

    with live_server(tmp_path) as server:
        client = Client(server.url, server.token)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from headway.app.serving import Running, serve
from headway.app.settings import Settings
from headway.hub.hub import Hub, HubSettings
from headway.protocol.job import Job, JobKey
from headway.reporter.folders import Folders
from headway.server.context import Context
from headway.server.settings import ServerSettings
from headway.store.base import Store

T = TypeVar("T")
_START_SECONDS = 20.0
_STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """A server that runs in a thread."""

    url: str
    token: str
    """The user's token."""
    hub: Hub
    """Belongs to the server's event loop: call its coroutines with :meth:`call`."""
    context: Context
    folders: Folders
    loop: asyncio.AbstractEventLoop

    def call(self, coroutine: Coroutine[Any, Any, T], *, timeout: float = 20.0) -> T:
        """Runs a coroutine in the server's event loop, and returns what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def job(self, key: JobKey) -> Job:
        """One job as it is now, asked for in the server's event loop: the hub is its alone."""

        async def ask() -> Job:
            return self.hub.job(key)

        return self.call(ask())

    def job_token(self, name: str, namespace: str = "local") -> str:
        """A job's own token, as a registration answers it."""
        return self.context.keyring.job_token(JobKey(namespace, name))


@contextmanager
def live_server(
    folder: Path,
    *,
    store: Literal["sqlite", "memory"] | Store = "sqlite",
    hub: HubSettings | None = None,
    server: ServerSettings | None = None,
    port: int = 0,
) -> Generator[LiveServer, None, None]:
    """Runs a server on 127.0.0.1 whose folders lie under ``folder``; ends it with the block.

    The same folder gives the same jobs and tokens again: leave the block and enter a new one to restart the server.

    Raises:
        HeadwayError: the server could not start.
    """
    settings = Settings(
        folders=Folders(folder / "state", folder / "run"),
        port=port,
        store=store if isinstance(store, str) else "sqlite",
        server=server or ServerSettings(),
        hub=hub or HubSettings(),
    )
    started = threading.Event()
    ready: list[tuple[Running, asyncio.AbstractEventLoop, asyncio.Event]] = []
    failed: list[BaseException] = []

    async def run() -> None:
        stop = asyncio.Event()

        def on_ready(running: Running) -> None:
            ready.append((running, asyncio.get_running_loop(), stop))
            started.set()

        await serve(settings, stop, on_ready, None if isinstance(store, str) else store)

    def body() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failed.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=body, name="live-server", daemon=True)
    thread.start()
    if not started.wait(_START_SECONDS):
        raise TimeoutError("the server did not start in time")
    if not ready:
        thread.join(_STOP_SECONDS)
        raise failed[0]
    running, loop, stop = ready[0]
    try:
        yield LiveServer(
            url=running.url,
            token=running.token,
            hub=running.hub,
            context=running.context,
            folders=settings.folders,
            loop=loop,
        )
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_STOP_SECONDS)
        if thread.is_alive():
            raise TimeoutError("the server did not end in time")
        if failed:
            raise failed[0]
