"""The JSON that ``--json`` prints: strict, and the same documents as the API's. docs/reference/cli-json.md describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from headway.protocol.codec import encode, encode_number
from headway.protocol.history import Series
from headway.protocol.job import Job

HISTORY_POINTS = 200
"""Most points of history that ``show --json`` holds for one metric."""


def jobs_document(jobs: Iterable[Job]) -> list[Any]:
    """What ``ls --json`` prints: an array of jobs."""
    return [encode(job) for job in jobs]


def job_document(job: Job, series: Sequence[Series]) -> dict[str, Any]:
    """What ``show --json`` prints: a job, and under ``history`` ``[step, t, mean]`` points of each metric's current attempt."""
    document: dict[str, Any] = encode(job)
    history = {}
    for each in series:
        points = each.points
        if len(points) > HISTORY_POINTS:
            last = len(points) - 1
            points = tuple(points[round(i * last / (HISTORY_POINTS - 1))] for i in range(HISTORY_POINTS))
        history[each.metric] = [[point.step, round(point.t, 3), encode_number(point.mean)] for point in points]
    document["history"] = history
    return document


def strict_json(document: object) -> str:
    """Strict JSON, indented for people; a name that is not valid Unicode does not stop it."""
    return json.dumps(document, allow_nan=False, ensure_ascii=True, indent=2)
