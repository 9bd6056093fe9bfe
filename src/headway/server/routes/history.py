"""What a job has been through: metric history, attempts and ranks, its log."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get
from litestar.response import Stream

from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import Attempt, RankInfo
from headway.server.answers import TEXT, document
from headway.server.context import PathName, Shared
from headway.server.endpoint import described
from headway.server.logs import open_log
from headway.server.params import Param, read_key, read_params

Call = Request[Any, Any, Any]
_JOB = "/{namespace:str}/{name:str}"
_SERIES = (
    Param(name="metric", many=True, says="Name of a metric; none: all."),
    Param(name="attempt", says="Id of an attempt; none: all."),
    Param(name="points", kind=int, default=1000, least=2, most=100_000, says="Most points per metric and attempt."),
    Param(name="from", kind=int, says="First step."),
    Param(name="to", kind=int, says="Last step."),
)
_LOG = (
    Param(name="tail", kind=int, default=100, least=0, most=100_000, says="Lines from the end to begin with."),
    Param(name="follow", kind=bool, default=False, says="Whether to go on until the job has ended."),
)


@get(
    f"{_JOB}/series",
    opt=described(
        "Metric history; the extremes of every stretch are kept.",
        params=_SERIES,
        answer={"series": list[Series]},
        errors=(404,),
    ),
)
async def get_series(namespace: PathName, name: PathName, request: Call, context: Shared) -> Response[bytes]:
    """Answers the history of some metrics, drawn with as many points as asked for."""
    given = read_params(_SERIES, request.scope["query_string"])
    query = SeriesQuery(
        metrics=tuple(given["metric"]),
        attempt=given["attempt"],
        points=given["points"],
        first_step=given["from"],
        last_step=given["to"],
    )
    return document({"series": await context.hub.series(read_key(namespace, name), query)})


@get(
    f"{_JOB}/metrics", opt=described("Names of all metrics with history.", answer={"metrics": list[str]}, errors=(404,))
)
async def get_metrics(namespace: PathName, name: PathName, context: Shared) -> Response[bytes]:
    """Answers the names of a job's metrics, sorted."""
    return document({"metrics": await context.hub.metrics(read_key(namespace, name))})


_ATTEMPTS = {"attempts": list[Attempt], "ranks": list[RankInfo]}


@get(f"{_JOB}/attempts", opt=described("Attempts, and the ranks of the current one.", answer=_ATTEMPTS, errors=(404,)))
async def get_attempts(namespace: PathName, name: PathName, context: Shared) -> Response[bytes]:
    """Answers a job's attempts and ranks."""
    job = context.hub.job(read_key(namespace, name))
    return document({"attempts": job.attempts, "ranks": job.ranks})


@get(f"{_JOB}/log", opt=described("The log, as text.", params=_LOG, kind=TEXT, errors=(404,)))
async def get_log(namespace: PathName, name: PathName, request: Call, context: Shared) -> Stream:
    """Answers the end of a job's log and, if asked to, what is added to it."""
    given = read_params(_LOG, request.scope["query_string"])
    return Stream(open_log(context, read_key(namespace, name), given["tail"], follow=given["follow"]), media_type=TEXT)


router = Router("/api/v1/jobs", route_handlers=[get_series, get_metrics, get_attempts, get_log])
