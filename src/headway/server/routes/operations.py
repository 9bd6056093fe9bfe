"""For those who run the server: health, Prometheus metrics, and the API's own description."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get

from headway.errors import ForbiddenError, UnavailableError
from headway.protocol.codec import dumps
from headway.server.answers import JSON, TEXT, plain
from headway.server.auth import bearer, is_local
from headway.server.context import Shared
from headway.server.endpoint import Access, described
from headway.server.metrics import CONTENT_TYPE, render
from headway.server.openapi import build

Call = Request[Any, Any, Any]


@get("/healthz", opt=described("Whether the process answers.", access=Access.OPEN, kind=TEXT))
async def healthz() -> Response[bytes]:
    """Says that the process answers."""
    return plain("ok\n")


@get(
    "/readyz",
    opt=described("Whether jobs are loaded and reports are taken.", access=Access.OPEN, kind=TEXT, errors=(503,)),
)
async def readyz(context: Shared) -> Response[bytes]:
    """Says whether reports are taken."""
    if not context.hub.ready or context.closing.is_set():
        raise UnavailableError("not ready: jobs are being loaded, or the server is about to end")
    return plain("ok\n")


@get(
    "/metrics",
    opt=described(
        "Prometheus metrics. Over the loopback interface no token is needed, unless the settings say so.",
        access=Access.OPEN,
        kind=CONTENT_TYPE,
    ),
)
async def metrics(request: Call, context: Shared) -> Response[bytes]:
    """Answers what Prometheus collects."""
    if not (context.settings.open_metrics and is_local(request)):
        token = bearer(request.headers.get("authorization"))
        if token is None or not context.keyring.is_user(token):
            raise ForbiddenError("metrics need the user's token when asked from another host")
    return plain(render(context), kind=CONTENT_TYPE)


@get("/api/openapi.json", opt=described("This description, OpenAPI 3.1.", access=Access.OPEN, answer=dict[str, Any]))
async def openapi(request: Call, context: Shared) -> Response[bytes]:
    """Describes the API."""
    if not context.openapi:
        context.openapi = dumps(build(request.app))
    return plain(context.openapi, kind=JSON)


router = Router("/", route_handlers=[healthz, readyz, metrics, openapi])
