"""What people and programs do to jobs: checkpoint, pause, resume, stop. Each answers at once; the job's record tells the rest."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, post
from litestar.handlers import HTTPRouteHandler

from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.job import Job
from headway.server.answers import document
from headway.server.body import read_document
from headway.server.context import PathName, Shared
from headway.server.endpoint import described
from headway.server.params import read_key

Call = Request[Any, Any, Any]
_SAYS = {
    ActionKind.CHECKPOINT: "Asks a job's run to save.",
    ActionKind.PAUSE: "Asks a job to save if it can, and to end its processes; the job is kept.",
    ActionKind.RESUME: "Starts the next attempt of a paused job.",
    ActionKind.STOP: "Asks a job to stop, after a checkpoint if `save` is set.",
}


def _handler(kind: ActionKind) -> HTTPRouteHandler:
    @post(
        f"/{{namespace:str}}/{{name:str}}/{kind}",
        status_code=202,
        opt=described(_SAYS[kind], body=ActionRequest, answer={"job": Job}, code=202, errors=(404, 409)),
    )
    async def act(namespace: PathName, name: PathName, request: Call, context: Shared) -> Response[bytes]:
        """Answers the job, whose last action is what was asked."""
        job = await context.hub.act(read_key(namespace, name), kind, await read_document(ActionRequest, request))
        return document({"job": job}, code=202)

    return act


router = Router("/api/v1/jobs", route_handlers=[_handler(kind) for kind in _SAYS])
