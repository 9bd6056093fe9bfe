"""Lists, history, logs, the API's description and Prometheus metrics, over real HTTP."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUNNER = {"runner": "r", "attempt": "a"}


@pytest.fixture(scope="module")
def fleet(server):
    """Seven jobs in a namespace of their own."""
    import httpx2

    with httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {server.token}"}) as client:
        for number in range(7):
            spec = {"framework": "torch" if number % 2 else "jax", "owner": f"owner-{number % 3}"}
            body = {**RUNNER, "spec": spec, "tags": [f"t{number % 2}"]}
            assert client.put(f"/api/v1/jobs/fleet/job-{number}", json=body).status_code == 200
    return "fleet"


def names(answer):
    assert answer.status_code == 200, answer.text
    return [job["name"] for job in answer.json()["items"]]


def test_pages_hold_every_job_once(user, fleet):
    found, cursor = [], None
    while True:
        params = {"namespace": fleet, "limit": 3, "sort": "name"} | ({"cursor": cursor} if cursor else {})
        answer = user.get("/api/v1/jobs", params=params)
        found.append(names(answer))
        assert answer.json()["total"] == 7
        cursor = answer.json().get("next")
        if cursor is None:
            break
    assert [len(page) for page in found] == [3, 3, 1]
    assert [name for page in found for name in page] == [f"job-{number}" for number in range(7)]


def test_filters_match_any_of_their_values(user, fleet):
    def ask(**params):
        return set(names(user.get("/api/v1/jobs", params={"namespace": fleet, **params})))

    assert ask(framework="torch") == {"job-1", "job-3", "job-5"}
    assert ask(owner=["owner-0", "owner-1"]) == {"job-0", "job-1", "job-3", "job-4", "job-6"}
    assert ask(tag="t1", framework="jax") == set()
    assert ask(text="JOB-4") == {"job-4"}
    assert ask(state="Failed") == set()


def test_sorting_goes_both_ways(user, fleet):
    up = names(user.get("/api/v1/jobs", params={"namespace": fleet, "sort": "name"}))
    down = names(user.get("/api/v1/jobs", params={"namespace": fleet, "sort": "-name"}))
    assert up == sorted(up) == down[::-1]


@pytest.mark.parametrize(
    "params",
    [{"sort": "colour"}, {"limit": 0}, {"limit": "many"}, {"limit": 10**30}, {"state": "Fine"}, {"cursor": "nonsense"}],
)
def test_a_wrong_parameter_is_named(user, params):
    answer = user.get("/api/v1/jobs", params=params)
    assert answer.status_code == 422
    assert answer.json()["details"]["causes"][0]["field"] == next(iter(params))


@pytest.mark.parametrize("query", ["a=%FF", "&".join(f"x{n}=1" for n in range(500))])
def test_a_query_string_beyond_reason_is_invalid(user, query):
    assert user.get(f"/api/v1/jobs?{query}").status_code == 422


def test_series_keep_extremes_when_drawn_with_fewer_points(user, status_path, report):
    points = [[step, float(step), {"loss": 1.0}] for step in range(1, 401)]
    points[150] = [151, 151.0, {"loss": 9.0}]
    for seq, start in enumerate(range(0, 400, 100), 1):
        body = report(seq, start + 100, points=points[start : start + 100])
        assert user.post(status_path("spiky"), json=body).status_code == 200
    whole = user.get("/api/v1/jobs/local/spiky/series", params={"metric": "loss"}).json()["series"][0]
    assert [point[0] for point in whole["points"]] == list(range(1, 401))
    few = user.get("/api/v1/jobs/local/spiky/series", params={"metric": "loss", "points": 20}).json()["series"][0]
    assert len(few["points"]) <= 20
    assert max(point[4] for point in few["points"]) == 9.0
    part = user.get("/api/v1/jobs/local/spiky/series", params={"metric": "loss", "from": 100, "to": 109}).json()[
        "series"
    ][0]
    assert [point[0] for point in part["points"]] == list(range(100, 110))


def test_what_is_not_there_is_not_found(user):
    for path in ("", "/series", "/metrics", "/attempts", "/log"):
        answer = user.get(f"/api/v1/jobs/local/nobody{path}")
        assert answer.status_code == 404
        assert answer.json()["kind"] == "Status"
    assert user.delete("/api/v1/jobs/local/nobody").status_code == 404
    assert user.post("/api/v1/jobs/local/nobody/stop", json={}).status_code == 404
    lifecycle = {"kind": "alive", **RUNNER}
    assert user.post("/api/v1/jobs/local/nobody/lifecycle", json=lifecycle).status_code == 404


def test_a_living_job_is_not_deleted_nor_registered_by_another_runner(user):
    assert user.put("/api/v1/jobs/local/living", json=RUNNER).status_code == 200
    assert user.post("/api/v1/jobs/local/living/lifecycle", json={"kind": "started", **RUNNER}).status_code == 200
    assert user.delete("/api/v1/jobs/local/living").status_code == 409
    answer = user.put("/api/v1/jobs/local/living", json={"runner": "other", "attempt": "b"})
    assert answer.status_code == 409
    assert answer.json()["reason"] == "Conflict"


def test_a_stop_reaches_the_runner(user):
    assert user.put("/api/v1/jobs/local/stopped", json=RUNNER).status_code == 200
    user.post("/api/v1/jobs/local/stopped/lifecycle", json={"kind": "started", **RUNNER})
    answer = user.post("/api/v1/jobs/local/stopped/stop", json={"reason": "enough", "grace": 5})
    assert answer.status_code == 202
    assert answer.json()["job"]["name"] == "stopped"
    commands = user.post("/api/v1/jobs/local/stopped/lifecycle", json={"kind": "alive", **RUNNER}).json()["commands"]
    assert [(command["kind"], command["reason"], command["grace"]) for command in commands] == [("stop", "enough", 5)]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"runner": 5, "attempt": "a"}', b'{"runner": "r"}', b"\xff"])
def test_a_wrong_registration_names_what_is_wrong(user, content):
    answer = user.put("/api/v1/jobs/local/wrong", content=content)
    assert answer.status_code == 422
    assert answer.json()["kind"] == "Status"


def test_a_document_beyond_the_limit_is_too_large(user):
    answer = user.put("/api/v1/jobs/local/large", content=b'{"a": "' + b"x" * 2_000_000 + b'"}')
    assert answer.status_code == 413
    assert answer.json()["kind"] == "Status"


@pytest.fixture
def logged(user, tmp_path, request):
    """A job with a log on this host, and the log's path."""
    log = tmp_path / "job.log"
    log.write_bytes(b"".join(b"line %d\n" % number for number in range(20_000)))
    name = request.node.name
    assert user.put(f"/api/v1/jobs/local/{name}", json={**RUNNER, "log": str(log)}).status_code == 200
    user.post(f"/api/v1/jobs/local/{name}/lifecycle", json={"kind": "started", **RUNNER})
    return f"/api/v1/jobs/local/{name}", log


def test_the_end_of_the_log(user, logged):
    path, log = logged
    answer = user.get(f"{path}/log", params={"tail": 3})
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == "line 19997\nline 19998\nline 19999\n"
    assert len(user.get(f"{path}/log", params={"tail": 15_000}).text.splitlines()) == 15_000
    assert len(user.get(f"{path}/log", params={"tail": 100_000}).content) == log.stat().st_size
    assert user.get(f"{path}/log", params={"tail": 0}).text == ""
    with log.open("ab") as file:
        file.write(b"no line break, \xff\xfe no UTF-8")
    assert user.get(f"{path}/log", params={"tail": 1}).content == b"no line break, \xff\xfe no UTF-8"


def test_a_followed_log_ends_with_its_job(user, logged):
    path, log = logged
    heard = []

    def follow():
        with user.stream("GET", f"{path}/log", params={"tail": 1, "follow": "true"}, timeout=20) as answer:
            for line in answer.iter_lines():
                heard.append(line)
                seen.set()

    seen = threading.Event()
    follower = threading.Thread(target=follow)
    follower.start()
    assert seen.wait(10)
    with log.open("ab") as file:
        file.write(b"the last words\n")
    ended = {"kind": "ended", **RUNNER, "ending": {"kind": "completed"}}
    assert user.post(f"{path}/lifecycle", json=ended).status_code == 200
    follower.join(10)
    assert not follower.is_alive()
    assert heard == ["line 19999", "the last words"]


def test_a_log_that_cannot_be_read_says_why(user, tmp_path):
    def ask(name, **more):
        user.put(f"/api/v1/jobs/local/{name}", json={**RUNNER, **more})
        answer = user.get(f"/api/v1/jobs/local/{name}/log")
        assert answer.status_code == 404
        return answer.json()["message"]

    assert "headway run" in ask("log-none")
    assert "No such file" in ask("log-gone", log=str(tmp_path / "gone.log"))
    assert "not a file" in ask("log-folder", log=str(tmp_path))
    assert "gpu-07" in ask("log-elsewhere", log="/var/log/x.log", host="gpu-07")


def test_metrics_are_what_prometheus_reads(user, stranger, status_path, report):
    name = 'odd "name"\\with\nbreaks'
    body = report(step=250, points=[[250, 2.0, {"train_loss": 0.5}]])
    assert user.post(status_path(name), json=body).status_code == 200
    answer = stranger.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    labels = r'namespace="local",name="odd \"name\"\\with\nbreaks"'
    lines = answer.text.splitlines()
    assert f"headway_job_progress_ratio{{{labels}}} 0.25" in lines
    assert f"headway_job_step{{{labels}}} 250" in lines
    assert f"headway_job_steps{{{labels}}} 1000" in lines
    assert f"headway_job_loss{{{labels}}} 0.5" in lines
    assert any(line.startswith(f"headway_job_last_contact_age_seconds{{{labels}}} ") for line in lines)
    sample = re.compile(
        r'[a-z_]+(\{([a-z]+="(\\.|[^"\\])*",?)*\})? (-?\d+(\.\d+)?(e[+-]\d+)?|NaN|[+-]Inf)', re.IGNORECASE
    )
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)
    assert any(line.startswith('headway_reports_total{code="200"} ') for line in lines)


def test_generated_docs_agree_with_the_code():
    done = subprocess.run(
        [sys.executable, "tools/generate_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_check_of_generated_docs_sees_a_difference(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    command = [sys.executable, str(tmp_path / "tools" / "generate_docs.py")]
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 1
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 0
    page = tmp_path / "docs" / "reference" / "http.md"
    page.write_text(page.read_text().replace("/healthz", "/health"))
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "http.md" in done.stdout
