"""The event stream: a snapshot of the jobs, then what changes, as server-sent events.

A plain stream of bytes; :mod:`headway.server.events` writes each message once for all who hear it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from headway.hub.broadcast import Subscription
from headway.protocol.job import Changes
from headway.server.context import Context

CONTENT_TYPE: Final = "text/event-stream"
_RETRY_MILLISECONDS: Final = 2000


async def stream(context: Context, subscription: Subscription) -> AsyncIterator[bytes]:
    """The bytes of one viewer's stream, until the viewer goes or the server ends."""
    counters = context.counters
    counters.viewers += 1
    closing = asyncio.ensure_future(context.closing.wait())
    upcoming: asyncio.Future[Changes] | None = None
    try:
        yield f"retry: {_RETRY_MILLISECONDS}\n\n".encode()
        while not context.closing.is_set():
            if upcoming is None:
                upcoming = asyncio.ensure_future(anext(subscription))
            done, _ = await asyncio.wait(
                {upcoming, closing},
                timeout=context.settings.keepalive_seconds,
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
                await asyncio.wait({closing}, timeout=1.0 / context.settings.events_per_second)
            elif not done:
                yield b": still here\n\n"
    finally:
        counters.viewers -= 1
        closing.cancel()
        if upcoming is not None:
            upcoming.cancel()
        subscription.close()
