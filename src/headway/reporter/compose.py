"""Puts a report together: a batch, the snapshot of this moment, who speaks. Always within 64 KiB.

The points of a batch are fitted once, when it is made, for a batch never changes afterwards; what surrounds them is cut in a
fixed order: most of the status's metrics, then the stack, then the run's description.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from headway.protocol.codec import dumps
from headway.protocol.limits import MAX_BODY_BYTES
from headway.protocol.report import Device, Point, Progress, Report, RunInfo, RunReport, TrainerStatus
from headway.protocol.wire import encode_point, encode_report
from headway.reporter.identity import Placement
from headway.reporter.outbox import Batch

POINTS_BYTES: Final = 40 * 1024
"""Room for points in a body; the rest is for the status (256 metrics) and the run's description."""
_FEW_METRICS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Everything a report says besides its batch."""

    run: str
    attempt: str
    placement: Placement
    sent_after: float
    progress: Progress
    status: TrainerStatus | None
    """Only the writing rank has one."""
    info: RunInfo | None = None
    stack: str | None = None
    acks: tuple[str, ...] = ()
    device: Device | None = None


def fit(points: list[Point], most_bytes: int = POINTS_BYTES) -> tuple[list[Point], list[Point]]:
    """The points that fit into so many bytes, oldest first, and those that do not.

    A single point that does not fit is divided by its metrics into points of the same step; one with a single metric that
    does not fit even so (a name of kilobytes) loses it.
    """
    fitted: list[Point] = []
    rest = points[::-1]
    room = most_bytes
    while rest:
        point = rest.pop()
        size = len(dumps(encode_point(point))) + 1
        if size <= room:
            room -= size
            fitted.append(point)
        elif fitted:
            rest.append(point)
            break
        elif len(point.metrics) > 1:
            names = list(point.metrics)
            for half in (names[len(names) // 2 :], names[: len(names) // 2]):
                rest.append(Point(point.step, point.t, {name: point.metrics[name] for name in half}))
        else:
            fitted.append(Point(point.step, point.t, {}))
            room = 0
    return fitted, rest[::-1]


def compose(batch: Batch, moment: Moment, *, plain: bool = False) -> bytes:
    """The body of a report; ``plain``: only what a stock Kubeflow server knows."""
    status, stack, info = moment.status, moment.stack, moment.info
    if batch.lean:
        status, stack, info = _with_metrics(status, 4), None, None
    for trimmed in (
        replace(moment, status=status, stack=stack, info=info),
        replace(moment, status=_with_metrics(status, _FEW_METRICS), stack=stack, info=info),
        replace(moment, status=_with_metrics(status, _FEW_METRICS), stack=None, info=info),
    ):
        body = _encode(batch, trimmed, plain=plain)
        if len(body) <= MAX_BODY_BYTES:
            return body
    return _encode(
        batch, replace(moment, status=_with_metrics(status, _FEW_METRICS), stack=None, info=None), plain=plain
    )


def _with_metrics(status: TrainerStatus | None, most: int) -> TrainerStatus | None:
    return status and replace(status, metrics=dict(list(status.metrics.items())[:most]))


def _encode(batch: Batch, moment: Moment, *, plain: bool) -> bytes:
    headway = None
    if not plain:
        headway = RunReport(
            run=moment.run,
            seq=batch.seq,
            attempt=moment.attempt,
            rank=moment.placement.rank,
            world_size=moment.placement.world_size,
            sent_after=moment.sent_after,
            progress=moment.progress,
            points=tuple(batch.points),
            checkpoint=batch.checkpoint,
            device=moment.device,
            job=moment.info,
            ending=batch.ending,
            stack=moment.stack,
            acks=moment.acks,
        )
    body: dict[str, Any] = encode_report(Report(status=moment.status, headway=headway))
    return dumps(body)
