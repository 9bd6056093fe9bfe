"""What a list shows of a job: a few fields of its document under the same names, and the messages of the stream of such rows.

A program that wants to know everything of every job listens to whole documents; a list of thousands that only one person
looks at would spend most of its time on what it does not show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from headway.protocol.job import Cost, Eta, Job, JobKey, JobProgress, Ledger, Spec, State
from headway.protocol.limits import CANONICAL_METRICS
from headway.protocol.report import Checkpoint
from headway.protocol.verdict import Condition, Verdict

_LOSS: Final = "loss"
_LOSSES: Final = frozenset(name for name, canonical in CANONICAL_METRICS.items() if canonical == _LOSS)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as a list shows it; its fields mean what those of a Job mean."""

    ALWAYS_COMPLETE: ClassVar = True

    namespace: str
    name: str
    uid: str
    state: State
    summary: str
    verdict: Verdict | None = None
    conditions: tuple[Condition, ...] = ()
    """Those that stand."""
    progress: JobProgress = field(default_factory=JobProgress)
    """Percent, step and total."""
    eta: Eta | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    """The loss alone, by its own name."""
    checkpoint: Checkpoint | None = None
    """Its step."""
    ledger: Ledger = field(default_factory=Ledger)
    spec: Spec = field(default_factory=Spec)
    """Nodes, devices, framework, owner and display name."""
    tags: tuple[str, ...] = ()
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    updated_at: float
    last_contact_age: float | None = None
    at: float
    """When the row was made, as Unix seconds by the server's clock: ages and what remains count from then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """One message of the stream of rows: the whole list at first, in parts, newest jobs first; then what changed."""

    id: str
    """Where in the stream this is; sent back as ``Last-Event-ID`` to go on from here."""
    snapshot: bool = False
    more: bool = False
    """Whether the snapshot goes on in the next message. Only its last part has an id to go on from."""
    rows: tuple[JobRow, ...] = ()
    deleted: tuple[JobKey, ...] = ()
    server_time: float


def row_of(job: Job, at: float) -> JobRow:
    """The row of a document that was made at ``at`` (Unix seconds). Times are given to the millisecond."""
    progress, spec, eta = job.progress, job.spec, job.eta
    loss = _LOSS if _LOSS in job.metrics else next(filter(_LOSSES.__contains__, job.metrics), None)
    return JobRow(
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        state=job.state,
        summary=job.summary,
        verdict=job.verdict,
        conditions=tuple(each for each in job.conditions if each.until is None) if job.conditions else (),
        progress=JobProgress(percent=progress.percent, step=progress.step, total_steps=progress.total_steps),
        eta=None
        if eta is None
        else Eta(
            seconds=round(eta.seconds, 3),
            low=round(eta.low, 3),
            high=round(eta.high, 3),
            finish_at=round(eta.finish_at, 3),
            basis=eta.basis,
        ),
        metrics={} if loss is None else {loss: job.metrics[loss]},
        checkpoint=None if job.checkpoint is None else Checkpoint(step=job.checkpoint.step),
        ledger=Ledger(
            price_per_hour=job.ledger.price_per_hour,
            spent=_cost(job.ledger.spent),
            at_risk=_cost(job.ledger.at_risk),
            without_progress=_cost(job.ledger.without_progress),
        ),
        spec=Spec(
            nodes=spec.nodes,
            devices_per_node=spec.devices_per_node,
            device_type=spec.device_type,
            framework=spec.framework,
            owner=spec.owner,
            display_name=spec.display_name,
        ),
        tags=job.tags,
        created_at=round(job.created_at, 3),
        started_at=_rounded(job.started_at),
        ended_at=_rounded(job.ended_at),
        updated_at=round(job.updated_at, 3),
        last_contact_age=_rounded(job.last_contact_age),
        at=round(at, 3),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _cost(cost: Cost) -> Cost:
    hours, money = cost.device_hours, cost.money
    return Cost(
        device_hours=None if hours is None else round(hours, 6), money=None if money is None else round(money, 4)
    )
