"""Puts the HTTP face together: the one place that says which routes there are."""

from __future__ import annotations

from typing import cast

from litestar import Litestar, Router, asgi
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from headway.errors import HeadwayError
from headway.hub.hub import Hub
from headway.protocol.limits import STATUS_PATH
from headway.server.answers import on_any_error, on_headway_error, on_http_error
from headway.server.auth import guard
from headway.server.context import Context
from headway.server.edge import Edge
from headway.server.endpoint import Access, described
from headway.server.ingest.status import StatusEndpoint
from headway.server.limits import RateLimiter
from headway.server.routes import access, actions, events, history, jobs, lifecycle, operations, pages, sparklines
from headway.server.settings import ServerSettings
from headway.server.tokens import Keyring


def create_app(hub: Hub, keyring: Keyring, settings: ServerSettings | None = None) -> tuple[ASGIApp, Context]:
    """The ASGI application over a hub, and what its routes share. Starting and stopping the hub is the caller's business."""
    settings = settings or ServerSettings()
    limiter = RateLimiter(settings.reports_per_second, settings.report_burst)
    context = Context(hub=hub, keyring=keyring, settings=settings, limiter=limiter)
    app = make_routes(context)
    return Edge(cast("ASGIApp", app), context), context


def make_routes(context: Context) -> Litestar:
    """The routes as a Litestar application: everything that this server answers."""
    status = StatusEndpoint(context)

    @asgi(  # mounted: the handler reads the names from the raw path itself
        STATUS_PATH.partition("/{namespace}")[0],
        is_mount=True,
        copy_scope=False,
        opt=described("Takes a report of a training process; answers once it is persisted.", access=Access.JOB),
    )
    async def report(scope: Scope, receive: Receive, send: Send) -> None:
        await status(cast("HTTPScope", scope), receive, send)

    guarded = Router(
        "/",
        guards=[guard],
        route_handlers=[
            jobs.router,
            lifecycle.router,
            actions.router,
            history.router,
            sparklines.router,
            events.router,
            access.router,
            operations.router,
            pages.router,
        ],
    )
    app = Litestar(
        route_handlers=[report, guarded],
        dependencies={"context": Provide(lambda: context, sync_to_thread=False)},
        exception_handlers={
            HeadwayError: on_headway_error,
            HTTPException: on_http_error,
            Exception: on_any_error,
        },
        request_max_body_size=context.settings.max_document_bytes,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    app.state.context = context
    return app
