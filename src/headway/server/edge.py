"""The outermost layer of the HTTP face: every request passes here before it is routed, every answer on its way out.

Three things that hold for all routes alike: only requests that name a host of ours are heard; paths are routed as they were
sent, so that a percent-encoded slash stays part of a name; and answers carry the headers that keep browsers from doing more
with them than intended. Reports go straight to their endpoint, which is in the route table like the others: the router's way
there costs a fifth of the processor time that HTTP takes of a report.
"""

from __future__ import annotations

from typing import cast

import msgspec
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from headway.protocol.problem import Reason, status_object
from headway.server.answers import NO_STORE, SECURITY_HEADERS
from headway.server.auth import Hosts
from headway.server.context import Context
from headway.server.ingest.status import StatusEndpoint

STATUS_PREFIX = b"/apis/"
_PROBES = (b"/healthz", b"/readyz")


class Edge:
    """An ASGI application around the routes."""

    def __init__(self, app: ASGIApp, context: Context) -> None:
        self._app = app
        self._status = StatusEndpoint(context)
        self._context = context
        self._hosts = Hosts(context.settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Routes one request."""
        if "method" not in scope:  # no HTTP
            await self._app(scope, receive, send)
            return
        raw = scope["raw_path"]
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        if host not in self._hosts and raw not in _PROBES:
            self._context.counters.refused += 1
            await _refuse(send)
            return
        scope["path"] = raw.decode("latin-1")
        if raw.startswith(STATUS_PREFIX):
            await self._status(cast("HTTPScope", scope), receive, send)
            return

        extra = SECURITY_HEADERS
        private = not raw.startswith(b"/assets/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *extra]
                if private and not any(name == b"cache-control" for name, _ in headers):
                    headers.append(NO_STORE)
                message["headers"] = headers
            await send(message)

        await self._app(scope, receive, send_with_headers)


async def _refuse(send: Send) -> None:
    body = msgspec.json.encode(
        status_object(
            Reason.FORBIDDEN,
            "the Host header names a host that this server does not answer for; HEADWAY_SERVER_ALLOWED_HOSTS, set where it "
            "is started, adds to those it does",
        )
    )
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), NO_STORE]
    await send({"type": "http.response.start", "status": 403, "headers": [*headers, *SECURITY_HEADERS]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
