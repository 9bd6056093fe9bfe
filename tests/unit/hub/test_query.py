"""Lists: filters, order, pages."""

from __future__ import annotations

import random

import pytest

from headway.errors import InvalidError
from headway.hub.entry import Entry
from headway.hub.query import page
from headway.protocol.job import SORTABLE, JobKey, JobPage, JobQuery, Spec, State
from headway.protocol.report import EndingKind, Envelope, RunInfo
from headway.protocol.verdict import Verdict
from headway.testing.reports import SyntheticRun
from headway.tracking.fold import fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

NOW = 1_000_000.0


def entry(name: str, *, namespace: str = "local", created: float = NOW, step: int | None = None, **more) -> Entry:
    job = TrackedJob(JobKey(namespace, name), name, created, created, spec=Spec(**more.pop("spec", {})))
    job.tags = more.pop("tags", ())
    if step is not None:
        run = SyntheticRun(total=more.pop("total", 100))
        fold_report(job, run.at(step, job=RunInfo(framework=more.pop("framework", None))), Envelope(), created)
        if (kind := more.pop("ends", None)) is not None:
            fold_report(job, run.end(kind, step), Envelope(), created)
    return Entry(job)


def ask(entries: list[Entry], **query) -> JobPage:
    return page(entries, JobQuery(**query), NOW, lambda one: view(one.job, NOW))


def names(found: JobPage) -> list[str]:
    return [job.name for job in found.items]


JOBS = [
    entry("alpha", created=NOW - 3, step=10, framework="pytorch", tags=("x",), spec={"owner": "ann"}),
    entry("Beta", created=NOW - 2, step=50, namespace="team", tags=("x", "y"), spec={"display_name": "Fraud α"}),
    entry("gamma", created=NOW - 1, step=100, ends=EndingKind.COMPLETED, framework="jax"),
    entry("delta", created=NOW, step=30, ends=EndingKind.FAILED, spec={"owner": "bob"}),
    entry("epsilon", created=NOW - 9),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["delta", "gamma", "Beta", "alpha", "epsilon"]),
        ({"namespaces": frozenset({"team"})}, ["Beta"]),
        (
            {"keys": frozenset({JobKey("team", "Beta"), JobKey("local", "gamma"), JobKey("local", "gone")})},
            ["gamma", "Beta"],
        ),
        ({"states": frozenset({State.FAILED, State.COMPLETE})}, ["delta", "gamma"]),
        ({"verdicts": frozenset({Verdict.PROGRESSING})}, ["Beta", "alpha"]),
        ({"frameworks": frozenset({"pytorch", "jax"})}, ["gamma", "alpha"]),
        ({"owners": frozenset({"ann", "bob"})}, ["delta", "alpha"]),
        ({"tags": frozenset({"y"})}, ["Beta"]),
        ({"tags": frozenset({"x", "y"})}, ["Beta", "alpha"]),
        ({"text": "BET"}, ["Beta"]),
        ({"text": "fraud"}, ["Beta"]),
        ({"text": "nothing"}, []),
        ({"states": frozenset({State.RUNNING}), "tags": frozenset({"x"}), "text": "a"}, ["Beta", "alpha"]),
        ({"sort": "name"}, ["Beta", "alpha", "delta", "epsilon", "gamma"]),
        ({"sort": "percent"}, ["alpha", "delta", "Beta", "gamma", "epsilon"]),
        ({"sort": "-percent"}, ["gamma", "Beta", "delta", "alpha", "epsilon"]),
    ],
)
def test_filters_and_order(query: dict, expected: list[str]):
    found = ask(JOBS, **query)
    assert names(found) == expected
    assert found.total == len(expected)


@pytest.mark.parametrize("field", SORTABLE)
@pytest.mark.parametrize("sign", ["", "-"])
def test_pages_hold_every_job_once_in_order(field: str, sign: str):
    random.seed(7)
    entries = [
        entry(
            f"job-{number % 40}",
            namespace=f"ns-{number // 40}",
            created=NOW - random.randrange(5),
            step=random.choice([None, 10, 20, 20]),
            total=random.choice([None, 100]),
            spec={"price_per_hour": random.choice([None, 3.0])},
        )
        for number in range(100)
    ]
    whole = ask(entries, sort=sign + field, limit=1000)
    assert whole.next is None
    paged, cursor = [], None
    while True:
        found = ask(entries, sort=sign + field, limit=7, cursor=cursor)
        assert found.total == 100
        paged += [(job.namespace, job.name) for job in found.items]
        cursor = found.next
        if cursor is None:
            break
    assert paged == [(job.namespace, job.name) for job in whole.items]
    assert len(set(paged)) == 100


def test_jobs_that_come_and_go_neither_repeat_nor_skip_the_others():
    entries = [entry(f"job-{number}", created=NOW - number) for number in range(10)]
    first = ask(entries, limit=4)
    entries = [entry("newest", created=NOW + 1), *[one for one in entries if one.job.key.name != "job-3"]]
    second = ask(entries, limit=4, cursor=first.next)
    assert names(first) + names(second) == [f"job-{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"sort": "loss"}, "sort"),
        ({"sort": "--name"}, "sort"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"cursor": "?"}, "cursor"),
        ({"cursor": ""}, "cursor"),
        ({"cursor": "WzFd"}, "cursor"),
        ({"cursor": "bnVsbA"}, "cursor"),
    ],
)
def test_what_cannot_be_answered_names_the_parameter(query: dict, field: str):
    with pytest.raises(InvalidError) as raised:
        ask(JOBS, **query)
    assert raised.value.field == field


def test_a_cursor_of_another_order_is_refused():
    cursor = ask(JOBS, sort="name", limit=1).next
    with pytest.raises(InvalidError):
        ask(JOBS, sort="createdAt", cursor=cursor)
