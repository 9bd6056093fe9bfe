"""What happens to jobs: runners register them and tell of their processes."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, post, put

from headway.protocol.job import Job
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer, Registered, Registration
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
    f"{_JOB}/token",
    status_code=200,
    opt=described(
        "A job's own token, for who starts its processes without a runner; makes the job known.",
        answer={"job": Job, "token": str},
    ),
)
async def give_token(namespace: PathName, name: PathName, context: Shared) -> Response[bytes]:
    """Makes a job known, if it is not, and answers what opens its status endpoint."""
    key = read_key(namespace, name)
    job = await context.hub.announce(key)
    return document({"job": job, "token": context.keyring.job_token(key)})


router = Router("/api/v1/jobs", route_handlers=[register_job, tell_lifecycle, give_token])
