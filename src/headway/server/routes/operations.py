"""For those who run the server: health, Prometheus metrics, the API's own description, and the first page."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get

from headway.errors import ForbiddenError, UnavailableError
from headway.server.answers import JSON, TEXT, plain
from headway.server.auth import bearer, is_local
from headway.server.context import Shared
from headway.server.endpoint import Access, described
from headway.server.metrics import CONTENT_TYPE, render

Call = Request[Any, Any, Any]
_HTML = "text/html"
_FIRST_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Headway</title>
<h1>Headway is running</h1>
<p>This build ships no dashboard. In a terminal: <code>headway ls</code>, <code>headway watch</code>.</p>
<p>The API is under <code>/api/v1</code>; <a href="/api/openapi.json">/api/openapi.json</a> describes it.</p>
</html>
"""


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
async def openapi(context: Shared) -> Response[bytes]:
    """Describes the API."""
    return plain(context.openapi, kind=JSON)


@get("/", opt=described("The first page.", access=Access.OPEN, kind=_HTML))
async def first_page() -> Response[bytes]:
    """Says where the API is."""
    return plain(_FIRST_PAGE, kind=_HTML)


router = Router("/", route_handlers=[healthz, readyz, metrics, openapi, first_page])
