"""The relay against servers that misbehave: it answers at once whatever they do, and hands everything on, once, in order."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.errors import ForbiddenError
from headway.protocol.directive import Answer
from headway.protocol.job import JobKey
from headway.runner.answers import Answers
from headway.runner.relay.forwarder import Forwarder
from headway.runner.relay.queue import Queued, ReportQueue
from headway.runner.relay.server import Relay
from headway.testing.servers import ScriptedServer
from headway.testing.sockets import black_hole

KEY = JobKey("local", "job")


class Bench:
    """A relay, its forwarder, and a client that posts to it over one connection."""

    def __init__(self, folder: Path, url: str, timeout: float = 5.0) -> None:
        self.client = Client(url, "real", timeout=timeout)
        self.queue = ReportQueue(folder, KEY, "relay-X", "attempt-1")
        self.answers = Answers()
        self.said: list[str] = []
        self.relay = Relay(KEY, self.queue, self.answers, self.said.append)
        self.renewed = 0
        self.token = "real"
        self.forwarder = Forwarder(self.queue, self.answers, self.send, self.renew, self.said.append)
        self.relay.begin("attempt-1", "stock-X")
        self.relay.start()
        self.forwarder.start()
        self.connection = http.client.HTTPConnection("127.0.0.1", int(self.relay.url.rpartition(":")[2]), timeout=30)

    def send(self, kept: Queued) -> Answer | None:
        return self.client.report(KEY, kept.body, kept.envelope, token=self.token)

    def renew(self) -> None:
        self.renewed += 1
        self.token = "fresh"

    def post(self, body: Any, *, token: str | None = None, path: str | None = None, **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {token or self.relay.token}", **headers}
        self.connection.request("POST", path or self.relay.status_url.removeprefix(self.relay.url), content, sent)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        self.connection.close()
        self.forwarder.close()
        self.relay.close()
        self.queue.close()
        self.client.close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def bench(server: ScriptedServer, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "spool", server.url)
    yield made
    made.close()


def stock(step: int) -> dict[str, Any]:
    return {"trainerStatus": {"progressPercentage": step, "metrics": [{"name": "current_step", "value": str(step)}]}}


def own(seq: int, **fields: Any) -> dict[str, Any]:
    return {"headway": {"version": 1, "run": "R", "attempt": "attempt-1", "seq": seq, **fields}}


def test_stock_posts_are_echoed_and_handed_on_with_what_is_known_of_them(bench: Bench, server: ScriptedServer) -> None:
    for step in (1, 2, 3):
        status, answer = bench.post(stock(step))
        assert (status, answer["trainerStatus"]) == (200, stock(step)["trainerStatus"])
    assert bench.forwarder.flush(20)
    assert [post.body for post in server.posts] == [stock(step) for step in (1, 2, 3)]
    assert [post.headers["headway-seq"] for post in server.posts] == ["1", "2", "3"]
    for post in server.posts:
        assert post.headers["authorization"] == "Bearer real"
        assert (post.headers["headway-run"], post.headers["headway-attempt"]) == ("stock-X", "attempt-1")
        assert 0 <= float(post.headers["headway-age"]) < 20
    bench.relay.begin("attempt-2", "stock-Y")
    bench.post(stock(4))
    assert bench.forwarder.flush(20)
    headers = server.posts[-1].headers
    assert (headers["headway-attempt"], headers["headway-run"], headers["headway-seq"]) == ("attempt-2", "stock-Y", "1")


def test_own_reports_are_acknowledged_and_hear_what_the_server_asks(
    bench: Bench, server: ScriptedServer, until: Any
) -> None:
    server.answer_with(directives=[{"id": "d", "kind": "checkpoint"}], want=["job"], interval=3)
    status, answer = bench.post(own(1))
    assert (status, answer["headway"]["ack"]) == (200, 1)
    assert bench.forwarder.flush(20)
    assert bench.post(own(3))[1]["headway"]["ack"] == 1
    answer = bench.post(own(2))[1]["headway"]
    assert (answer["ack"], answer["interval"], answer["want"]) == (3, 3, ["job"])
    assert [each["id"] for each in answer["directives"]] == ["d"]
    assert bench.forwarder.flush(20)
    assert [post.headway["seq"] for post in server.posts] == [1, 3, 2]
    assert "headway-run" not in server.posts[0].headers


def test_an_age_that_a_report_brings_along_is_added_to(bench: Bench, server: ScriptedServer) -> None:
    bench.post(own(1), **{"Headway-Age": "100"})
    assert bench.forwarder.flush(20)
    assert 100 <= float(server.posts[0].headers["headway-age"]) < 120


@pytest.mark.parametrize("behaviour", ["hang", "refuse", "error", "busy", "limit", "slow"])
def test_whatever_the_server_does_the_answer_comes_at_once_and_nothing_is_lost(
    tmp_path: Path, behaviour: str, until: Any
) -> None:
    with ScriptedServer() as server:
        bench = Bench(tmp_path / "spool", server.url, timeout=0.3)
        try:
            server.behave(behaviour, slow_seconds=0.1)
            slowest = 0.0
            for step in range(1, 21):
                started = time.perf_counter()
                assert bench.post(stock(step))[0] == 200
                slowest = max(slowest, time.perf_counter() - started)
            assert slowest < 1.0, "a hung server holds a synchronous client up for its whole time-out, 5 s"
            server.behave("ok")
            bench.forwarder.nudge()
            assert bench.forwarder.flush(60)
            taken = [int(post.headers["headway-seq"]) for post in server.posts if post.taken]
            assert sorted(set(taken)) == list(range(1, 21))
            assert taken == sorted(taken)
            assert list((tmp_path / "spool").glob("*.jsonl")) == [] or bench.queue.waiting == 0
        finally:
            bench.close()
        assert list((tmp_path / "spool").glob("*.jsonl")) == []


@pytest.mark.parametrize("behaviour", ["invalid", "too-large"])
def test_a_report_that_the_server_refuses_for_good_holds_up_no_other(
    bench: Bench, server: ScriptedServer, behaviour: str
) -> None:
    server.behave(behaviour)
    bench.post(stock(1))
    assert bench.forwarder.flush(20)
    assert bench.forwarder.dropped == 1
    assert len(bench.said) == 1
    server.behave("ok")
    bench.post(stock(2))
    assert bench.forwarder.flush(20)
    assert [post.body for post in server.posts if post.taken] == [stock(2)]


def test_a_token_that_is_refused_is_renewed_and_the_report_sent_again(bench: Bench, server: ScriptedServer) -> None:
    server.require(token="fresh")
    bench.post(stock(1))
    assert bench.forwarder.flush(20)
    assert bench.renewed == 1
    assert [post.taken for post in server.posts] == [False, True]


def test_a_job_that_the_server_forgot_is_made_known_again(bench: Bench, server: ScriptedServer, until: Any) -> None:
    server.behave("missing")
    bench.post(stock(1))
    until(lambda: bench.renewed)
    server.behave("ok")
    assert bench.forwarder.flush(20)


def test_a_server_that_answers_nonsense_is_asked_again(bench: Bench, server: ScriptedServer, until: Any) -> None:
    server.behave("garbage")
    bench.post(stock(1))
    until(lambda: server.posts)
    assert not bench.queue.wait_empty(0.05)
    server.behave("ok")
    assert bench.forwarder.flush(20)


def test_what_it_does_not_take(bench: Bench) -> None:
    assert bench.post(stock(1), token="guessed")[0] == 403
    assert (
        bench.post(stock(1), path="/apis/trainer.kubeflow.org/v1alpha1/namespaces/local/trainjobs/other/status")[0]
        == 404
    )
    status, answer = bench.post(b'{"trainerStatus": {"progressPercentage": 1, }}')
    assert (status, answer["kind"], answer["reason"]) == (422, "Status", "Invalid")
    status, answer = bench.post({"trainerStatus": {"progressPercentage": "half"}})
    assert answer["details"]["causes"][0]["field"] == "trainerStatus.progressPercentage"
    assert bench.post(b"\xff\xfe{}")[0] == 422
    status, answer = bench.post(b'{"pad": "' + b"x" * 70_000 + b'"}')
    assert (status, answer["code"]) == (413, 413)
    assert bench.post({})[0] == 200, "an empty report is one, and says nothing"
    assert bench.queue.waiting == 0
    bench.connection.request("GET", "/api/v1/jobs")
    answer = bench.connection.getresponse()
    assert (answer.status, json.loads(answer.read())["reason"]) == (404, "NotFound")


def test_what_can_be_mended_is_and_is_said(bench: Bench) -> None:
    status, answer = bench.post({"trainerStatus": {"progressPercentage": 45.5}})
    assert (status, answer["trainerStatus"]["progressPercentage"]) == (200, 45)
    assert "rounded down" in answer["headway"]["warnings"][0]


def test_a_disk_that_takes_nothing_is_said_to_who_can_keep_it_and_hidden_from_who_cannot(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("in the way")
    with black_hole() as url:
        bench = Bench(tmp_path / "spool", url)
        try:
            assert bench.post(stock(1))[0] == 200
            status, answer = bench.post(own(1))
            assert (status, answer["reason"]) == (503, "ServiceUnavailable")
            assert all("cannot be kept on disk" in line for line in bench.said)
        finally:
            bench.close()


def test_a_forbidden_that_stays_keeps_the_report(bench: Bench, server: ScriptedServer, until: Any) -> None:
    server.require(token="another")
    bench.post(stock(1))
    until(lambda: bench.renewed >= 2)
    assert bench.queue.waiting == 1
    with pytest.raises(ForbiddenError):
        bench.send(bench.queue.peek(0))  # type: ignore[arg-type]
