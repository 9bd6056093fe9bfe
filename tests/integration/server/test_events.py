"""The event stream over real HTTP: a snapshot, then changes, and going on where a stream broke off."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from headway.server.settings import ServerSettings
from headway.testing import live_server


class Event(dict):
    @property
    def names(self):
        return {job["name"] for job in self["data"].get("jobs", [])}

    @property
    def rows(self):
        return {row["name"]: row for row in self["data"].get("rows", [])}


@contextmanager
def listening(client: httpx2.Client, **params) -> Iterator[Iterator[Event]]:
    headers = params.pop("headers", {})
    with client.stream("GET", "/api/v1/events", params=params, headers=headers, timeout=10) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        yield _events(answer.iter_lines())


def _events(lines: Iterator[str]) -> Iterator[Event]:
    event = Event()
    for line in lines:
        if not line:
            if "data" in event:
                yield event
            event = Event()
        elif not line.startswith(":"):
            field, _, value = line.partition(": ")
            event[field] = json.loads(value) if field == "data" else value


def until(events: Iterator[Event], question, limit: int = 20) -> Event:
    for _ in range(limit):
        event = next(events)
        if question(event):
            return event
    raise AssertionError("the event did not come")


def test_a_snapshot_then_changes(user, status_path, report):
    user.post(status_path("seen", "events"), json=report())
    with listening(user, namespace="events") as events:
        first = next(events)
        assert first["event"] == "snapshot"
        assert first["data"]["snapshot"] is True
        assert first.names == {"seen"}
        assert first["id"] == first["data"]["id"]
        user.post(status_path("new", "events"), json=report(step=7))
        change = until(events, lambda event: "new" in event.names)
        assert change["event"] == "changes"
        assert change["data"]["jobs"][0]["progress"]["step"] == 7
        assert change["id"] != first["id"]


def test_a_filter_hears_only_its_own(user, status_path, report):
    for name in ("one", "two"):
        user.post(status_path(name, "filtered"), json=report())
    with listening(user, namespace="filtered", name="one") as events:
        assert next(events).names == {"one"}
        user.post(status_path("two", "filtered"), json=report(2, 2))
        user.post(status_path("one", "filtered"), json=report(2, 2))
        change = next(events)
        assert change.names == {"one"}
        assert change["data"]["jobs"][0]["progress"]["step"] == 2


def test_what_is_deleted_is_said(user):
    user.put("/api/v1/jobs/gone/doomed", json={"runner": "r", "attempt": "a"})
    ended = {"kind": "ended", "runner": "r", "attempt": "a", "ending": {"kind": "completed"}}
    assert user.post("/api/v1/jobs/gone/doomed/lifecycle", json=ended).status_code == 200
    with listening(user, namespace="gone") as events:
        assert next(events).names == {"doomed"}
        assert user.delete("/api/v1/jobs/gone/doomed").status_code == 204
        assert until(events, lambda event: event["data"].get("deleted"))["data"]["deleted"] == [["gone", "doomed"]]


def test_a_stream_goes_on_from_the_last_event(user, status_path, report):
    user.post(status_path("kept", "resumed"), json=report())
    with listening(user, namespace="resumed") as events:
        next(events)
        user.post(status_path("changed", "resumed"), json=report())
        last = until(events, lambda event: "changed" in event.names)["id"]
    user.post(status_path("changed", "resumed"), json=report(2, 9))
    with listening(user, namespace="resumed", headers={"last-event-id": last}) as events:
        missed = next(events)
        assert missed["event"] == "changes"
        assert missed.names == {"changed"}
        assert missed["data"]["jobs"][0]["progress"]["step"] == 9


@pytest.mark.parametrize("last", ["other-epoch-5", "nonsense", "", "é", "9" * 400])
def test_an_id_that_means_nothing_here_gets_a_snapshot(user, status_path, report, last):
    user.post(status_path("any", "unknown-id"), json=report())
    with listening(user, namespace="unknown-id", headers={"last-event-id": last.encode()}) as events:
        assert next(events)["event"] == "snapshot"


def test_what_changes_fast_is_merged(user, status_path, report):
    user.post(status_path("fast", "merged"), json=report())
    with listening(user, namespace="merged") as events:
        next(events)
        started = time.monotonic()
        for step in range(2, 60):
            user.post(status_path("fast", "merged"), json=report(step, step))
        heard = 0
        while True:
            event = next(events)
            heard += 1
            if event["data"]["jobs"][0]["progress"]["step"] == 59:
                break
        assert heard <= 3 + (time.monotonic() - started)


def test_viewers_of_one_filter_cost_one_serialisation(server, user, status_path, report, monkeypatch):
    from headway.server import events as module

    written = []
    original = module.event
    monkeypatch.setattr(module, "event", lambda changes: written.append(changes) or original(changes))
    user.post(status_path("shared", "viewers"), json=report())
    heard: list[str] = []

    def view():
        with (
            httpx2.Client(base_url=server.url, headers=dict(user.headers)) as client,
            listening(client, namespace="viewers") as events,
        ):
            next(events)
            ready.release()
            heard.append(until(events, lambda event: event["data"]["jobs"][0]["progress"]["step"] == 77)["id"])

    ready = threading.Semaphore(0)
    viewers = [threading.Thread(target=view) for _ in range(8)]
    for viewer in viewers:
        viewer.start()
    for _ in viewers:
        assert ready.acquire(timeout=10)
    time.sleep(1.1)
    written.clear()
    user.post(status_path("shared", "viewers"), json=report(2, 77))
    for viewer in viewers:
        viewer.join(10)
    assert len(heard) == 8
    assert len(written) <= 2, "each message is turned into bytes once for all viewers"


def test_a_quiet_stream_is_kept_open_and_counted(tmp_path):
    with (
        live_server(tmp_path, store="memory", server=ServerSettings(keepalive_seconds=0.05)) as server,
        httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.token}"}) as client,
        client.stream("GET", "/api/v1/events") as answer,
    ):
        lines = answer.iter_lines()
        assert sum(line.startswith(":") for line, _ in zip(lines, range(40), strict=False)) >= 3
        assert "headway_event_viewers 1" in httpx2.get(f"{server.url}/metrics").text


def test_a_stream_ends_in_time_though_nothing_comes(user, status_path, report):
    user.post(status_path("timed"), json=report())
    with listening(user, name="timed", namespace="local", seconds=0.2) as events:
        assert [event["event"] for event in events] == ["snapshot"]
    assert user.get("/api/v1/events", params={"seconds": "soon"}).status_code == 422


def test_viewers_that_go_are_forgotten(server, user, status_path, report, eventually):
    user.post(status_path("left", "alone"), json=report())
    for _ in range(5):
        with listening(user, namespace="alone") as events:
            next(events)
    eventually(lambda: server.context.counters.viewers == 0)
    eventually(lambda: server.hub.stats().watchers == 0)


def test_rows_in_place_of_documents(user, status_path, report):
    for number in range(260):
        user.post(status_path(f"row-{number}", "rows"), json=report())
    with listening(user, namespace="rows", view="rows") as events:
        first, second = next(events), next(events)
        assert [event["event"] for event in (first, second)] == ["snapshot", "snapshot"]
        assert "id" not in first  # a stream that breaks off here begins anew
        assert (first["data"]["more"], second["data"]["more"]) == (True, False)
        assert set(first.rows | second.rows) == {f"row-{number}" for number in range(260)}
        assert not {"attempts", "ranks", "config"} & set(first.rows["row-259"])
        user.post(status_path("row-0", "rows"), json=report(2, 2))
        change = until(events, lambda event: event.rows.get("row-0", {}).get("progress", {}).get("step") == 2)
        assert change["event"] == "changes"
        last = change["id"]
    with listening(user, namespace="rows", view="rows", headers={"last-event-id": last}) as events:
        user.post(status_path("row-1", "rows"), json=report(2, 2))
        assert "row-1" in until(events, lambda event: event["event"] == "changes").rows


def test_a_view_that_is_none_is_refused(user):
    answer = user.get("/api/v1/events", params={"view": "columns"})
    assert answer.status_code == 422
    assert "view" in answer.json()["message"]


def test_chosen_jobs_are_answered_at_once(user, status_path, report):
    for name in ("one", "two/three", "four"):
        user.post(status_path(name, "chosen"), json=report())
    asked = [("job", "chosen/one"), ("job", "chosen/two%2Fthree"), ("job", "chosen/gone")]
    assert {job["name"] for job in user.get("/api/v1/jobs", params=asked).json()["items"]} == {"one", "two/three"}
    assert user.get("/api/v1/jobs", params={"job": "one"}).status_code == 422
