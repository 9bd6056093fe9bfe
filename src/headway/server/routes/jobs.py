"""Jobs as they are: the list, one job, and deleting it."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, delete, get

from headway.protocol.job import SORTABLE, Job, JobPage, JobQuery, State
from headway.protocol.verdict import Verdict
from headway.server.answers import document
from headway.server.context import PathName, Shared
from headway.server.endpoint import described
from headway.server.params import Param, read_job, read_key, read_params

Call = Request[Any, Any, Any]
_JOB = "/{namespace:str}/{name:str}"
_FILTERS = (
    Param(name="job", many=True, says="Only these: `namespace/name`, each percent-encoded."),
    Param(name="namespace", many=True, says="Only jobs of this namespace."),
    Param(name="state", many=True, choices=[state.value for state in State], says="Only jobs in this state."),
    Param(name="verdict", many=True, choices=[verdict.value for verdict in Verdict], says="Only jobs of this verdict."),
    Param(name="framework", many=True, says="Only jobs of this framework."),
    Param(name="owner", many=True, says="Only jobs of this owner."),
    Param(name="tag", many=True, says="Only jobs with this tag."),
    Param(name="text", default="", says="Part of the name or display name, without regard to case."),
    Param(
        name="sort",
        default="-createdAt",
        choices=[sign + name for name in SORTABLE for sign in ("", "-")],
        says="Field to sort by, `-` before it for descending. Unknown values come last.",
    ),
    Param(name="limit", kind=int, default=100, least=1, most=1000, says="Most jobs to answer."),
    Param(name="cursor", says="`next` of the page before."),
)


@get("/", opt=described("A page of jobs.", params=_FILTERS, answer=JobPage))
async def list_jobs(request: Call, context: Shared) -> Response[bytes]:
    """Lists jobs. Each filter may be repeated."""
    given = read_params(_FILTERS, request.scope["query_string"])
    query = JobQuery(
        keys=frozenset(map(read_job, given["job"])),
        namespaces=frozenset(given["namespace"]),
        states=frozenset(State(word) for word in given["state"]),
        verdicts=frozenset(Verdict(word) for word in given["verdict"]),
        frameworks=frozenset(given["framework"]),
        owners=frozenset(given["owner"]),
        tags=frozenset(given["tag"]),
        **{name: given[name] for name in ("text", "sort", "limit", "cursor")},
    )
    return document(context.hub.jobs(query))


@get(_JOB, opt=described("One job.", answer=Job, errors=(404,)))
async def get_job(namespace: PathName, name: PathName, context: Shared) -> Response[bytes]:
    """Answers everything there is to say of a job."""
    return document(context.hub.job(read_key(namespace, name)))


@delete(_JOB, opt=described("Deletes a job that has ended, with its history.", code=204, errors=(404, 409)))
async def delete_job(namespace: PathName, name: PathName, context: Shared) -> None:
    """Forgets a job."""
    await context.hub.delete(read_key(namespace, name))


router = Router("/api/v1/jobs", route_handlers=[list_jobs, get_job, delete_job])
