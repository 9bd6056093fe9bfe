"""The course of one metric of many jobs in a few points each: what a list of jobs draws beside each name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from litestar import Request, Response, Router, get

from headway.errors import InvalidError, NotFoundError
from headway.hub.hub import Hub
from headway.protocol.history import Series, SeriesQuery, Sparkline, SparkPoint
from headway.protocol.job import Job, JobKey
from headway.protocol.limits import CANONICAL_METRICS
from headway.server.answers import document
from headway.server.context import Shared
from headway.server.endpoint import described
from headway.server.params import Param, read_job, read_params

Call = Request[Any, Any, Any]
MOST_JOBS = 100
_QUERY = (
    Param(name="job", many=True, says=f"`namespace/name`, each percent-encoded; at most {MOST_JOBS}."),
    Param(
        name="metric", default="loss", says="Name of the metric, or the canonical name that the job's own stands for."
    ),
    Param(name="points", kind=int, default=40, least=2, most=200, says="Most points per job."),
)


@get(
    "/sparklines",
    opt=described(
        "One metric of many jobs, drawn with few points. Jobs that are gone or lack the metric are left out.",
        params=_QUERY,
        answer={"sparklines": list[Sparkline]},
    ),
)
async def get_sparklines(request: Call, context: Shared) -> Response[bytes]:
    """Answers the course of a metric for each job asked for."""
    given = read_params(_QUERY, request.scope["query_string"])
    jobs: list[str] = given["job"]
    if len(jobs) > MOST_JOBS:
        raise InvalidError(f"expected at most {MOST_JOBS} jobs, got {len(jobs)}", field="job")
    found = [await _sparkline(context.hub, read_job(text), given["metric"], given["points"]) for text in jobs]
    return document({"sparklines": [each for each in found if each is not None]})


async def _sparkline(hub: Hub, key: JobKey, metric: str, points: int) -> Sparkline | None:
    try:
        job = hub.job(key)
        own = own_name(job, metric)
        series = [] if own is None else await hub.series(key, SeriesQuery(metrics=(own,), points=2 * points))
    except NotFoundError:
        return None
    course = thin(
        join(series), points
    )  # the store merges by halves: of twice as many there are enough, whatever it has merged
    if own is None or not course:
        return None
    return Sparkline(namespace=key.namespace, name=key.name, metric=own, points=tuple(course))


def own_name(job: Job, metric: str) -> str | None:
    """What a job calls a metric: its name, else an alias of it."""
    if metric in job.metrics:
        return metric
    return next((name for name in job.metrics if CANONICAL_METRICS.get(name) == metric), None)


def join(series: Sequence[Series]) -> list[SparkPoint]:
    """One course out of those of all attempts, oldest first: each attempt takes over where it begins."""
    course: list[SparkPoint] = []
    for each in series:
        if each.points:
            begin = each.points[0].step
            while course and course[-1].step >= begin:
                course.pop()
        course += [SparkPoint(point.step, point.mean) for point in each.points]
    return course


def thin(course: Sequence[SparkPoint], points: int) -> list[SparkPoint]:
    """At most so many points: the means of equal stretches, NaN only where nothing was finite."""
    if len(course) <= points:
        return list(course)
    edges = [round(index * len(course) / points) for index in range(points + 1)]
    return [_mean(course[begin:end]) for begin, end in pairwise(edges)]


def _mean(stretch: Sequence[SparkPoint]) -> SparkPoint:
    finite = [point.value for point in stretch if math.isfinite(point.value)]
    return SparkPoint(stretch[-1].step, sum(finite) / len(finite) if finite else math.nan)


router = Router("/api/v1", route_handlers=[get_sparklines])
