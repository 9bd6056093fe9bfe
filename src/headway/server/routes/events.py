"""The event stream of jobs: what watchers and the dashboard listen to (:mod:`headway.server.sse` writes it)."""

from __future__ import annotations

from typing import Any

from litestar import Request, Router, get
from litestar.response import Stream

from headway.protocol.job import Changes
from headway.protocol.limits import STREAM_SECONDS
from headway.protocol.row import RowChanges
from headway.server.context import Shared
from headway.server.endpoint import described
from headway.server.params import Param, read_params
from headway.server.sse import CONTENT_TYPE, stream

_FILTERS = (
    Param(name="namespace", says="Only jobs of this namespace."),
    Param(name="name", says="Only the job of this name; with `namespace`."),
    Param(
        name="view",
        default="jobs",
        choices=["jobs", "rows"],
        says="`rows`: of each job only what a list shows, in messages of the shape `RowChanges`; their snapshot comes in parts.",
    ),
    Param(name="seconds", kind=float, least=0, most=STREAM_SECONDS, says="End after so long; else go on."),
)


@get(
    "/events",
    opt=described(
        "Server-sent events: a `snapshot`, then `changes`. `Last-Event-ID` goes on from where a stream broke off.",
        params=_FILTERS,
        answer=Changes | RowChanges,
        kind=CONTENT_TYPE,
    ),
)
async def get_events(request: Request[Any, Any, Any], context: Shared) -> Stream:
    """Streams what changes."""
    given = read_params(_FILTERS, request.scope["query_string"])
    last = request.headers.get("last-event-id")
    parts = stream(
        context,
        namespace=given["namespace"],
        name=given["name"],
        rows=given["view"] == "rows",
        last_event_id=last,
        seconds=given["seconds"],
    )
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return Stream(parts, media_type=CONTENT_TYPE, headers=headers)


router = Router("/api/v1", route_handlers=[get_events])
