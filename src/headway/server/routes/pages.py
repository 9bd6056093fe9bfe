"""The dashboard's page and what it loads."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get

from headway.server.answers import plain
from headway.server.context import PathName, Shared
from headway.server.dashboard import PAGES
from headway.server.endpoint import Access, described

Call = Request[Any, Any, Any]
_HTML = "text/html"
_NO_DASHBOARD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Headway</title>
<h1>Headway is running</h1>
<p>This build ships no dashboard. In a terminal: <code>headway ls</code>, <code>headway watch</code>.</p>
<p>The API is under <code>/api/v1</code>; <a href="/api/openapi.json">/api/openapi.json</a> describes it.</p>
</html>
"""


@get(
    list(PAGES),
    opt=described(
        "The dashboard. The page is open to all; what it shows needs a login.", access=Access.OPEN, kind=_HTML
    ),
)
async def page(context: Shared) -> Response[bytes]:
    """Answers the dashboard's page or, without one, says where the API is."""
    content = context.dashboard.page()
    return plain(_NO_DASHBOARD if content is None else content, kind=_HTML)


@get(
    "/assets/{file:str}",
    opt=described(
        "A file that the dashboard loads.", access=Access.OPEN, kind="application/octet-stream", errors=(404,)
    ),
)
async def asset(file: PathName, request: Call, context: Shared) -> Response[bytes]:
    """Answers one file of the dashboard; its name holds a hash of its content."""
    return context.dashboard.asset(file, request.headers.get("accept-encoding", ""))


router = Router("/", route_handlers=[page, asset])
