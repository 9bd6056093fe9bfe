"""What happens to jobs: runners register them and tell of their processes, people ask them to stop."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, post, put

from headway.protocol.job import Job
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer, Registered, Registration, StopRequest
from headway.server.answers import document
from headway.server.body import read_document
from headway.server.context import PathName, Shared
from headway.server.endpoint import Access, described
from headway.server.params import read_key

Call = Request[Any, Any, Any]
_JOB = "/{namespace:str}/{name:str}"


@put(_JOB, opt=described("Registers a job, or its next attempt.", body=Registration, answer=Registered, errors=(409,)))
async def register_job(namespace: PathName, name: PathName, request: Call, context: Shared) -> Response[bytes]:
    """Makes a job known; answers its token."""
    key = read_key(namespace, name)
    job, heartbeat = await context.hub.register(key, await read_document(Registration, request))
    return document(Registered(job=job, token=context.keyring.job_token(key), heartbeat=heartbeat))


@post(
    f"{_JOB}/lifecycle",
    status_code=200,
    opt=described(
        "An event of a job's runner.", access=Access.JOB, body=Lifecycle, answer=LifecycleAnswer, errors=(404, 409)
    ),
)
async def tell_lifecycle(namespace: PathName, name: PathName, request: Call, context: Shared) -> Response[bytes]:
    """Takes in what a runner says of its processes; answers what it is asked to do."""
    return document(await context.hub.lifecycle(read_key(namespace, name), await read_document(Lifecycle, request)))


@post(
    f"{_JOB}/stop",
    status_code=202,
    opt=described("Asks a job to stop.", body=StopRequest, answer={"job": Job}, code=202, errors=(404, 409)),
)
async def stop_job(namespace: PathName, name: PathName, request: Call, context: Shared) -> Response[bytes]:
    """Asks the run, then its runner, to end."""
    job = await context.hub.stop_job(read_key(namespace, name), await read_document(StopRequest, request))
    return document({"job": job}, code=202)


router = Router("/api/v1/jobs", route_handlers=[register_job, tell_lifecycle, stop_job])
