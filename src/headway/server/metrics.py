"""Prometheus metrics, in its text format: the jobs that run or have just ended, and what the server itself does."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from typing import Final

from headway.protocol.job import Job, JobQuery
from headway.protocol.limits import CANONICAL_METRICS
from headway.server.context import Context

CONTENT_TYPE: Final = "text/plain; version=0.0.4"
_SHOWN_AFTER_END: Final = 3600.0
_PAGE: Final = 1000

Sample = tuple[dict[str, str], float]


def render(context: Context) -> str:
    """The whole page."""
    lines: list[str] = []
    shown = list(_shown_jobs(context))
    for name, says, samples in _job_families(shown):
        _family(lines, name, "gauge", says, samples)
    counters = context.counters
    reports = [({"code": str(code)}, float(count)) for code, count in sorted(counters.reports.items())]
    _family(lines, "headway_reports_total", "counter", "Answers of the status endpoint, by HTTP status code.", reports)
    for name, kind, says, value in (
        (
            "headway_requests_refused_total",
            "counter",
            "Requests without a token that opens what they ask.",
            counters.refused,
        ),
        ("headway_event_viewers", "gauge", "Open event streams.", counters.viewers),
        ("headway_events_sent_total", "counter", "Messages sent on event streams.", counters.events_sent),
        ("headway_events_sent_bytes_total", "counter", "Bytes sent on event streams.", counters.events_bytes),
    ):
        _family(lines, name, kind, says, [({}, float(value))])
    for name, figure in _numbers("headway_hub", context.hub.stats()):
        _family(lines, name, "untyped", "", [({}, figure)])
    return "\n".join(lines) + "\n"


def _shown_jobs(context: Context) -> Iterator[Job]:
    now = time.time()
    cursor = None
    while True:
        page = context.hub.jobs(JobQuery(sort="name", limit=_PAGE, cursor=cursor))
        for job in page.items:
            if not job.state.ended or job.ended_at is None or now - job.ended_at < _SHOWN_AFTER_END:
                yield job
        if (cursor := page.next) is None:
            return


def _job_families(jobs: list[Job]) -> Iterator[tuple[str, str, list[Sample]]]:
    def gauge(values: Iterable[tuple[Job, float | None]]) -> list[Sample]:
        return [(_labels(job), float(value)) for job, value in values if value is not None]

    states = [({**_labels(job), "state": job.state.value}, 1.0) for job in jobs]
    yield "headway_job_state", "State of the job: 1 for the one it is in.", states
    verdicts = [({**_labels(job), "verdict": job.verdict.value}, 1.0) for job in jobs if job.verdict is not None]
    yield "headway_job_verdict", "Verdict on the job: 1 for the one that stands.", verdicts
    ratios = [(job, None if job.progress.percent is None else job.progress.percent / 100) for job in jobs]
    yield "headway_job_progress_ratio", "How far the job is, from 0 to 1.", gauge(ratios)
    yield "headway_job_step", "Last step reported.", gauge((job, job.progress.step) for job in jobs)
    yield "headway_job_steps", "Steps in all.", gauge((job, job.progress.total_steps) for job in jobs)
    yield "headway_job_loss", "Newest training loss.", gauge((job, _loss(job)) for job in jobs)
    etas = [(job, None if job.eta is None else job.eta.seconds) for job in jobs]
    yield "headway_job_eta_seconds", "Estimated seconds to the end.", gauge(etas)
    ages = [(job, job.last_contact_age) for job in jobs]
    yield "headway_job_last_contact_age_seconds", "Seconds since the job was last heard.", gauge(ages)
    steps = [(job, job.progress.last_step_age) for job in jobs]
    yield "headway_job_last_step_age_seconds", "Seconds since a step advanced.", gauge(steps)
    stand = [
        ({**_labels(job), "condition": one.type.value, "metric": one.metric or "", "severity": one.severity.value}, 1.0)
        for job in jobs
        for one in job.conditions
        if one.until is None
    ]
    yield "headway_job_condition", "Conditions of the job: 1 for each that stands.", stand
    hours, money = list(_costs(jobs, "device_hours")), list(_costs(jobs, "money"))
    yield "headway_job_device_hours", "Device hours: spent, remaining, at_risk, and without_progress.", hours
    yield (
        "headway_job_cost",
        "Cost, in the currency of the job's price: spent, remaining, at_risk, without_progress.",
        money,
    )


def _costs(jobs: list[Job], what: str) -> Iterator[Sample]:
    for job in jobs:
        for kind in ("spent", "remaining", "at_risk", "without_progress"):
            amount = getattr(getattr(job.ledger, kind), what)
            if amount is not None:
                yield {**_labels(job), "kind": kind}, amount


def _labels(job: Job) -> dict[str, str]:
    return {"namespace": job.namespace, "name": job.name}


def _loss(job: Job) -> float | None:
    names = ("loss", *(alias for alias, name in CANONICAL_METRICS.items() if name == "loss"))
    return next((job.metrics[name] for name in names if name in job.metrics), None)


def _numbers(prefix: str, stats: object) -> Iterator[tuple[str, float]]:
    if not dataclasses.is_dataclass(stats):
        return
    for field in dataclasses.fields(stats):
        value = getattr(stats, field.name)
        if isinstance(value, (int, float)):
            yield f"{prefix}_{field.name}", float(value)
        else:
            yield from _numbers(f"{prefix}_{field.name}", value)


def _family(lines: list[str], name: str, kind: str, says: str, samples: list[Sample]) -> None:
    if not samples:
        return
    if says:
        lines.append(f"# HELP {name} {says}")
    lines.append(f"# TYPE {name} {kind}")
    for labels, value in samples:
        inside = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{inside}}} {number(value)}" if inside else f"{name} {number(value)}")


def escape(text: str) -> str:
    """A label's value as Prometheus reads it back."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def number(value: float) -> str:
    """A value in Prometheus' spelling."""
    if value != value:  # noqa: PLR0124
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
