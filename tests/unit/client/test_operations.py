"""Requests are built, and answers read, without a network."""

from __future__ import annotations

import json

import pytest

from headway.client import operations
from headway.client.events import Backoff, Event, EventParser, changes_of
from headway.client.lines import LineSplitter
from headway.client.watching import STREAM_SILENCE, Watch
from headway.errors import (
    ConflictError,
    ForbiddenError,
    HeadwayError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.history import SeriesPoint, SeriesQuery
from headway.protocol.job import JobKey, JobQuery, State
from headway.protocol.lifecycle import Registration
from headway.protocol.problem import Reason, status_object
from headway.protocol.report import Envelope

KEY = JobKey("local", "a/b c")


def test_names_are_one_segment_of_the_path_each() -> None:
    assert operations.job(KEY).target == "/api/v1/jobs/local/a%2Fb%20c"
    assert operations.job(JobKey("..", ".")).target == "/api/v1/jobs/%2E%2E/%2E"
    assert operations.job(JobKey("ü", "<b>?#%")).target == "/api/v1/jobs/%C3%BC/%3Cb%3E%3F%23%25"
    assert operations.status_path(KEY).endswith("/namespaces/local/trainjobs/a%2Fb%20c/status")


def test_a_filter_is_repeated_and_in_a_stable_order() -> None:
    query = JobQuery(
        states=frozenset({State.RUNNING, State.FAILED}),
        tags=frozenset({"b&c", "a"}),
        text="x y",
        sort="name",
        limit=5,
        cursor="c",
    )
    target = operations.jobs(query).target
    assert target == "/api/v1/jobs?state=Failed&state=Running&tag=a&tag=b%26c&text=x+y&sort=name&limit=5&cursor=c"


def test_series_are_read_point_by_point() -> None:
    operation = operations.series(KEY, SeriesQuery(metrics=("loss", "lr"), attempt="t", points=10, first_step=3))
    assert operation.target.endswith("/series?metric=loss&metric=lr&attempt=t&points=10&from=3")
    body = {"series": [{"metric": "loss", "attempt": "t", "tier": 8, "points": [[1, 2.5, "NaN", 0.1, 0.4, 8, 1]]}]}
    (series,) = operation.read(json.dumps(body).encode())
    point = series.points[0]
    assert isinstance(point, SeriesPoint)
    assert (point.step, point.high, point.bad) == (1, 0.4, 1)
    assert point.mean != point.mean


def test_bodies_are_the_protocols_documents() -> None:
    body = operations.register(KEY, Registration(runner="r", attempt="a", tags=("t",))).body
    assert body is not None
    assert json.loads(body) == {"spec": {"nodes": 1}, "tags": ["t"], "runner": "r", "attempt": "a"}
    body = operations.act(KEY, ActionKind.STOP, ActionRequest(reason="late", grace=5)).body
    assert body is not None
    assert json.loads(body)["grace"] == 5


def test_a_report_says_what_is_known_of_it_in_headers() -> None:
    operation = operations.report(KEY, b"{}", Envelope(age=1.5, attempt="a", run="r", seq=7))
    assert operation.headers == {"headway-age": "1.500", "headway-attempt": "a", "headway-run": "r", "headway-seq": "7"}
    assert operations.report(KEY, b"{}", Envelope()).headers == {}
    assert operation.read(b'{"trainerStatus": {}}') is None
    answer = operation.read(b'{"trainerStatus": {}, "headway": {"ack": 7, "interval": 2}}')
    assert answer is not None
    assert (answer.ack, answer.interval) == (7, 2)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (Reason.FORBIDDEN, ForbiddenError),
        (Reason.NOT_FOUND, NotFoundError),
        (Reason.CONFLICT, ConflictError),
        (Reason.TOO_LARGE, TooLargeError),
        (Reason.INVALID, InvalidError),
        (Reason.TOO_MANY_REQUESTS, RateLimitedError),
        (Reason.UNAVAILABLE, UnavailableError),
    ],
)
def test_an_error_answer_becomes_the_error_of_the_tree(reason: Reason, kind: type[HeadwayError]) -> None:
    error = operations.error_of(reason.code, json.dumps(status_object(reason, "no, because")).encode(), "3")
    assert type(error) is kind
    assert str(error) == "no, because"
    if isinstance(error, RateLimitedError):
        assert error.retry_after == 3


def test_the_field_of_an_invalid_input_is_kept() -> None:
    error = operations.error_of(422, json.dumps(status_object(Reason.INVALID, "x", field="spec.nodes")).encode())
    assert isinstance(error, InvalidError)
    assert error.field == "spec.nodes"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"details": 3}', b'{"details": {"causes": [1]}}', b"\xff"])
def test_an_error_answer_of_any_shape_is_an_error_with_words(body: bytes) -> None:
    error = operations.error_of(502, body, "Wed, 21 Oct 2026 07:28:00 GMT")
    assert isinstance(error, UnavailableError)
    assert str(error)


def test_an_answer_that_is_no_json_says_so() -> None:
    with pytest.raises(HeadwayError, match="not one of a Headway server"):
        operations.job(KEY).read(b"<html>hello</html>")


def test_events_are_cut_from_any_chunks() -> None:
    stream = (
        b': hello\r\nid: e-1\r\nevent: snapshot\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
        b": beat\n\nid: e-2\nevent:changes\ndata:x\n\ndata: unfinished"
    )
    for size in (1, 2, 3, 7, len(stream)):
        parser = EventParser()
        events = [event for start in range(0, len(stream), size) for event in parser.feed(stream[start : start + size])]
        assert events == [Event("e-1", "snapshot", '{"a":\n1}'), Event("e-2", "changes", "x")]


def test_only_known_events_are_changes() -> None:
    changes = changes_of(Event("e-1", "snapshot", '{"id": "e-1", "snapshot": true, "serverTime": 12.5}'))
    assert changes is not None
    assert changes.snapshot
    assert changes_of(Event("e-1", "message", "hello")) is None
    with pytest.raises(InvalidError):
        changes_of(Event("e-1", "changes", "hello"))


def test_waits_grow_to_a_limit_and_start_over() -> None:
    backoff = Backoff(first=1, most=8)
    waits = [backoff.next() for _ in range(2000)]
    assert all(step / 10 <= wait <= step for wait, step in zip(waits, [1, 2, 4] + [8] * 1997, strict=True))
    assert min(waits[4:]) >= 0.9 * 8
    backoff.reset()
    assert backoff.next() <= 1


def test_a_watch_goes_on_from_the_last_event_and_gives_up_only_at_the_start() -> None:
    watch = Watch("local", None, 100, now=0)
    assert watch.connect(0).headers == {"accept": "text/event-stream"}
    with pytest.raises(UnavailableError):
        watch.pause(UnavailableError("down"), now=1)
    data = json.dumps({"id": "e-5", "serverTime": 1.0})
    assert len(list(watch.feed(f"id: e-5\nevent: changes\ndata: {data}\n\nid: e-6\ndata: cut o".encode()))) == 1
    assert watch.pause(UnavailableError("down", retry_after=20), now=1) == 20
    assert watch.connect(1).headers == {"accept": "text/event-stream", "last-event-id": "e-5"}
    assert watch.connect(95).target == "/api/v1/events?namespace=local&seconds=5.000"
    assert Watch("local", None, None, now=0).connect(1).target == "/api/v1/events?namespace=local"
    assert watch.silence(now=1) == STREAM_SILENCE
    assert watch.silence(now=95) == 5
    assert watch.pause(None, now=99.9) <= 0.1 + 1e-9
    assert watch.over(100)
    assert not list(watch.feed(b": beat\n\n"))


def test_lines_survive_chunks_that_cut_characters() -> None:
    text = "über\nstep 1\rstep 2\r\nlast".encode()
    for size in range(1, len(text) + 1):
        splitter = LineSplitter()
        lines = [line for start in range(0, len(text), size) for line in splitter.feed(text[start : start + size])]
        assert [*lines, *splitter.end()] == ["über", "step 1\rstep 2", "last"]
