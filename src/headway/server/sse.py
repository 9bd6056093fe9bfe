"""The event stream: a snapshot of the jobs, then what changes, as server-sent events.

A plain stream of bytes; :mod:`headway.server.events` writes each message once for all who hear it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from headway.server.context import Context
from headway.server.events import Message

CONTENT_TYPE: Final = "text/event-stream"
_RETRY_MILLISECONDS: Final = 2000


async def stream(
    context: Context,
    *,
    namespace: str | None = None,
    name: str | None = None,
    rows: bool = False,
    last_event_id: str | None = None,
    seconds: float | None = None,
) -> AsyncIterator[bytes]:
    """The bytes of one viewer's stream, until the viewer goes, the server ends or ``seconds`` are over. The hub sets the pace.

    ``rows``: what lists show, instead of whole documents.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    subscribe = context.hub.subscribe_rows if rows else context.hub.subscribe
    subscription = subscribe(namespace=namespace, name=name, last_event_id=last_event_id)
    counters = context.counters
    counters.viewers += 1
    closing: asyncio.Future[bool] = asyncio.ensure_future(context.closing.wait())
    upcoming: asyncio.Future[Message] | None = None
    try:
        yield f"retry: {_RETRY_MILLISECONDS}\n\n".encode()
        while not context.closing.is_set():
            if upcoming is None:
                upcoming = asyncio.ensure_future(anext(subscription))
            waited: set[asyncio.Future[Any]] = {upcoming, closing}
            done, _ = await asyncio.wait(
                waited,
                timeout=min(context.settings.keepalive_seconds, max(0.0, end - time.monotonic())),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if upcoming in done:
                try:
                    content = context.events.write(upcoming.result())
                except StopAsyncIteration:
                    return
                upcoming = None
                counters.events_sent += 1
                counters.events_bytes += len(content)
                yield content
            elif time.monotonic() >= end:
                return
            elif not done:
                yield b": still here\n\n"
    finally:
        counters.viewers -= 1
        closing.cancel()
        if upcoming is not None:
            upcoming.cancel()
        subscription.close()
