"""The status endpoint over real HTTP: what clients send, what is mended, and that no input is an internal error."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.server.settings import ServerSettings
from headway.testing import live_server

FIELDS = (
    *("trainerStatus", "metrics", "name", "value", "progressPercentage", "lastUpdatedTime"),
    *(
        "headway",
        "run",
        "attempt",
        "seq",
        "points",
        "progress",
        "step",
        "ending",
        "kind",
        "job",
        "config",
        "rank",
        "acks",
    ),
)
SERIAL = itertools.count()


def problem(answer):
    body = answer.json()
    assert body["kind"] == "Status"
    assert body["status"] == "Failure"
    assert body["code"] == answer.status_code
    return body


def field_of(answer):
    return problem(answer)["details"]["causes"][0]["field"]


def test_stock_clients_post_is_stored_and_echoed(user, status_path, wire_fixture, strict):
    answer = user.post(status_path("stock"), content=wire_fixture("stock-transformers"))
    assert answer.status_code == 200
    body = strict(answer.content)
    assert body["trainerStatus"]["progressPercentage"] == 45
    assert body["headway"]["interval"] > 0
    job = user.get("/api/v1/jobs/local/stock").json()
    assert job["progress"]["step"] == 450
    assert job["progress"]["totalSteps"] == 1000
    assert job["progress"]["percent"] == 45
    assert job["metrics"]["loss"] == 0.2347
    assert job["metrics"]["learning_rate"] == 1.1e-05


def test_last_post_of_transformers_keeps_step_and_total(user, status_path, wire_fixture):
    user.post(status_path("stock-last"), content=wire_fixture("stock-transformers"))
    assert user.post(status_path("stock-last"), content=wire_fixture("stock-transformers-last")).status_code == 200
    progress = user.get("/api/v1/jobs/local/stock-last").json()["progress"]
    assert (progress["step"], progress["totalSteps"]) == (450, 1000)


def test_what_a_stock_server_would_lose_is_mended(user, status_path, wire_fixture):
    answer = user.post(status_path("mendable"), content=wire_fixture("stock-sdk-mendable"))
    assert answer.status_code == 200
    warnings = "\n".join(answer.json()["headway"]["warnings"])
    for part in ("progressPercentage", "estimatedRemainingSeconds", "shortened", "empty"):
        assert part in warnings
    metrics = user.get("/api/v1/jobs/local/mendable").json()["metrics"]
    assert metrics["loss"] == "NaN"
    (long_name,) = (name for name in metrics if name != "loss")
    assert len(long_name) == 64


def test_unknown_total_is_unknown_progress(user, status_path, wire_fixture):
    assert user.post(status_path("endless"), content=wire_fixture("stock-unknown-total")).status_code == 200
    progress = user.get("/api/v1/jobs/local/endless").json()["progress"]
    assert "totalSteps" not in progress
    assert progress.get("percent") != 100


def test_headways_report_is_acknowledged_and_in_the_history(user, status_path, wire_fixture):
    answer = user.post(status_path("own"), content=wire_fixture("headway-report"))
    assert answer.status_code == 200
    assert "headway" in answer.json()
    job = user.get("/api/v1/jobs/local/own").json()
    assert job["progress"]["step"] == 450
    assert job["checkpoint"]["step"] == 400
    series = user.get("/api/v1/jobs/local/own/series", params={"metric": ["loss", "grad_norm"]}).json()["series"]
    points = {each["metric"]: each["points"] for each in series}
    assert [point[0] for point in points["loss"]] == [441, 450]
    assert points["loss"][0][2] == 0.2391
    assert points["grad_norm"][0][2] == "NaN"
    assert points["grad_norm"][0][6] == 1


def test_a_beat_moves_no_progress(user, status_path, wire_fixture):
    user.post(status_path("beating"), content=wire_fixture("headway-report"))
    assert user.post(status_path("beating"), content=wire_fixture("headway-beat")).status_code == 200
    assert user.get("/api/v1/jobs/local/beating").json()["progress"]["step"] == 450
    ranks = user.get("/api/v1/jobs/local/beating/attempts").json()["ranks"]
    assert {rank["rank"] for rank in ranks} == {0, 5}


def test_reports_are_acknowledged_in_order(user, status_path, report):
    acks = [user.post(status_path("acks"), json=report(seq, seq)).json()["headway"]["ack"] for seq in range(1, 5)]
    assert acks == [1, 2, 3, 4]


def test_a_report_sent_twice_is_counted_once(user, status_path, report):
    for _ in range(3):
        assert user.post(status_path("twice"), json=report(1, 5)).status_code == 200
    (series,) = user.get("/api/v1/jobs/local/twice/series").json()["series"]
    assert len(series["points"]) == 1


def test_limits_of_kubeflow_are_mended(user, status_path):
    metrics = [{"name": f"m{number}", "value": "1"} for number in range(300)]
    long_ones = [{"name": f"{'x' * 65}{number}", "value": "2"} for number in range(3)]
    odd = [{"name": "", "value": "3"}, {"name": "text", "value": "t" * 70}, {"name": "wide", "value": "1." + "0" * 70}]
    body = {"trainerStatus": {"progressPercentage": 145, "metrics": [*metrics, *long_ones, *odd]}}
    answer = user.post(status_path("limits"), json=body)
    assert answer.status_code == 200
    assert answer.json()["headway"]["warnings"]
    kept = user.get("/api/v1/jobs/local/limits").json()["metrics"]
    assert len([name for name in kept if name.startswith("m")]) == 300
    assert len([name for name in kept if name.startswith("x")]) == 3
    assert all(len(name) <= 64 for name in kept)
    assert kept["wide"] == 1.0
    assert "text" not in kept
    assert len(answer.json()["trainerStatus"]["metrics"]) <= 256


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"trainerStatus": {"progressPercentage": "45"}}, "trainerStatus.progressPercentage"),
        ({"trainerStatus": {"metrics": {"loss": 1}}}, "trainerStatus.metrics"),
        ({"trainerStatus": {"metrics": [{"name": 1, "value": "1"}]}}, "trainerStatus.metrics[0].name"),
        ({"trainerStatus": {"metrics": [{"name": "a", "value": None}]}}, "trainerStatus.metrics[0].value"),
        ({"trainerStatus": []}, "trainerStatus"),
        ({"headway": {"attempt": "a", "seq": 1}}, "headway.run"),
        ({"headway": {"run": "r", "attempt": "a", "seq": 0}}, "headway.seq"),
        ({"headway": {"run": "r", "attempt": "a", "seq": 1, "points": [[1, 2.0]]}}, "headway.points[0]"),
        (
            {"headway": {"run": "r", "attempt": "a", "seq": 1, "points": [[1, 2.0, {"l": "x"}]]}},
            "headway.points[0][2].l",
        ),
        ({"headway": {"run": "r", "attempt": "a", "seq": 1, "progress": {"phase": "sleep"}}}, "headway.progress.phase"),
        ([], "body"),
    ],
)
def test_a_wrong_type_names_the_field(user, status_path, body, field):
    answer = user.post(status_path("wrong"), json=body)
    assert answer.status_code == 422
    assert field_of(answer) == field


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b'{"trainerStatus": {"progressPercentage": NaN}}',
        b'{"trainerStatus": "\xff\xfe"}',
        b"[" * 60_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"\x00\x01\x02",
        b"progress=45",
        "﻿{}".encode("utf-16"),
    ],
    ids=["empty", "cut", "null", "nan", "utf8", "deep", "deeper", "binary", "form", "utf16"],
)
def test_what_is_no_json_object_is_invalid_and_no_more(user, status_path, content):
    answer = user.post(status_path("junk"), content=content)
    assert answer.status_code in (200, 422)
    if answer.status_code == 422:
        problem(answer)


@pytest.mark.parametrize(
    "number", ["1" + "0" * 400, "-1" + "0" * 400, "9223372036854775808", "1e308", "1e999", "-0", "1E-400"]
)
def test_numbers_beyond_all_reason_are_answered(user, status_path, number):
    for body in (
        '{"trainerStatus": {"progressPercentage": %s}}',
        '{"trainerStatus": {"metrics": [{"name": "current_step", "value": "%s"}, {"name": "total_steps", "value": "%s"}]}}',
        '{"headway": {"run": "r%s", "attempt": "a", "seq": %s}}',
        '{"headway": {"run": "r", "attempt": "a", "seq": 1, "points": [[%s, 1.0, {"loss": 1}]]}}',
        '{"headway": {"run": "r2", "attempt": "a", "seq": 1, "points": [[1, %s, {"loss": %s}]]}}',
        '{"headway": {"run": "r3", "attempt": "a", "seq": 1, "points": [[1, 1.0, {"loss": [%s, 3, %s]}]]}}',
        '{"headway": {"run": "r4", "attempt": "a", "seq": 1, "progress": {"step": %s, "totalSteps": %s, "epoch": %s}}}',
        '{"headway": {"run": "r5", "attempt": "a", "seq": 1, "rank": %s, "worldSize": %s, "sentAfter": %s}}',
    ):
        answer = user.post(status_path("numbers"), content=body.replace("%s", number).encode())
        assert answer.status_code in (200, 422), (body, answer.text)
    assert user.get("/api/v1/jobs/local/numbers").status_code in (200, 404)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(FIELDS),
                inner,
                max_size=6,
            )
        ),
        max_leaves=20,
    )
)
def test_no_json_at_all_is_an_internal_error(user, status_path, value):
    body = {"headway": {"run": "fuzz", "attempt": "a", "seq": 1, **value}} if isinstance(value, dict) else value
    path = status_path(f"fuzzed-{next(SERIAL)}")  # a job each: one alone would be slowed down
    assert user.post(path, json=body).status_code in (200, 422)
    assert user.post(path, json=value).status_code in (200, 422)


def test_half_a_surrogate_pair_is_mended(user, status_path):
    body = rb'{"trainerStatus": {"metrics": [{"name": "loss\ud800", "value": "1.5"}]}}'
    assert user.post(status_path("surrogate"), content=body).status_code == 200
    assert list(user.get("/api/v1/jobs/local/surrogate").json()["metrics"]) == ["loss?"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense"])
def test_content_type_does_not_matter(user, status_path, kind):
    answer = user.post(status_path("curl"), content=b'{"trainerStatus": {}}', headers={"content-type": kind})
    assert answer.status_code == 200


def test_too_large_is_said_with_a_declared_length(user, status_path):
    answer = user.post(status_path("large"), content=b'{"a": "' + b"x" * 70_000 + b'"}')
    assert answer.status_code == 413
    assert problem(answer)["reason"] == "RequestEntityTooLarge"


@pytest.mark.parametrize("megabytes", [0.1, 3])
def test_too_large_is_said_without_a_declared_length(server, status_path, megabytes):
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    part = b" " * 16_384

    def parts():
        for _ in range(int(megabytes * 1024 * 1024) // len(part)):
            yield part

    try:
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("POST", status_path("chunked"), body=parts(), headers=headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        assert megabytes > 1  # it stopped listening after the first MiB, and said so before it hung up
    finally:
        connection.close()


def test_body_just_within_the_limit_is_taken_in_chunks(server, status_path):
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    body = json.dumps({"trainerStatus": {}, "filler": "x" * 65_000}).encode()
    parts = (body[start : start + 1000] for start in range(0, len(body), 1000))
    headers = {"Authorization": f"Bearer {server.token}"}
    connection.request("POST", status_path("chunks"), body=parts, headers=headers, encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["headway"]["version"]) == (200, 1)
    connection.close()


def test_a_body_that_never_ends_is_given_up(tmp_path, status_path):
    with live_server(tmp_path, store="memory", server=ServerSettings(body_seconds=0.2)) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port), timeout=10) as raw:
            head = f"POST {status_path('slow')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
            raw.sendall(f"{head}Content-Length: 50\r\n\r\n{{".encode())
            assert raw.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_job_gone_wild_is_slowed_down_alone(tmp_path, status_path, report):
    with (
        live_server(
            tmp_path, store="memory", server=ServerSettings(report_burst=5.0, reports_per_second=0.5)
        ) as server,
        httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.token}"}) as user,
    ):
        answers = [user.post(status_path("wild"), json=report(seq, seq)) for seq in range(1, 10)]
        assert [answer.status_code for answer in answers[:5]] == [200] * 5
        assert answers[-1].status_code == 429
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 3
        assert problem(answers[-1])["reason"] == "TooManyRequests"
        assert user.post(status_path("calm"), json=report()).status_code == 200


def test_only_post_is_understood(user, status_path):
    answer = user.get(status_path("get"))
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    problem(answer)


@pytest.mark.parametrize("path", ["/apis/x", "/apis/trainer.kubeflow.org/v1alpha1/namespaces/a/trainjobs/b/c/status"])
def test_other_paths_below_apis_are_not_found(user, path):
    assert user.post(path, json={}).status_code == 404


def test_an_unknown_version_is_answered_as_to_a_stock_client(user, status_path):
    body = {"trainerStatus": {"metrics": [{"name": "loss", "value": "2"}]}, "headway": {"version": 99, "run": 5}}
    answer = user.post(status_path("future"), json=body)
    assert answer.status_code == 200
    assert "99" in answer.json()["headway"]["warnings"][0]
    assert user.get("/api/v1/jobs/local/future").json()["metrics"]["loss"] == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("headway-age", "yesterday"), ("headway-age", "nan"), ("headway-age", "-1"), ("headway-seq", "x")],
)
def test_a_wrong_envelope_names_the_header(user, status_path, name, value):
    answer = user.post(status_path("envelope"), json={"trainerStatus": {}}, headers={name: value})
    assert answer.status_code == 422
    assert field_of(answer) == f"headers.{name}"


def test_kept_stock_posts_are_counted_once_and_carry_their_age(user, status_path):
    body = {"trainerStatus": {"metrics": [{"name": "loss", "value": "3"}, {"name": "current_step", "value": "7"}]}}
    headers = {"headway-age": "30", "headway-attempt": "a1", "headway-run": "relay-1", "headway-seq": "1"}
    for _ in range(2):
        assert user.post(status_path("kept"), json=body, headers=headers).status_code == 200
    (series,) = [
        each for each in user.get("/api/v1/jobs/local/kept/series").json()["series"] if each["metric"] == "loss"
    ]
    assert len(series["points"]) == 1
    assert user.get("/api/v1/jobs/local/kept").json()["lastContactAge"] >= 29
