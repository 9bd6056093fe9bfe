"""The server as a process: how it is found, how it ends, and what a restart and a second server come to."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import time

import httpx2
import pytest

from headway.reporter.discovery import find_server, read_record
from headway.reporter.folders import Folders


class Server:
    """A server process of a test."""

    def __init__(self, home, *arguments, **env):
        self.folders = Folders(
            home / "state", home / "run" / Folders.from_env({"HEADWAY_HOME": str(home)}).runtime.name
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headway.app", *arguments],
            env={**os.environ, "HEADWAY_HOME": str(home), **env},
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_ready(self):
        deadline = time.monotonic() + 20
        while (record := find_server(self.folders.server_record)) is None or record.pid != self.process.pid:
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.02)
        self.record = record
        return self

    def client(self):
        return httpx2.Client(
            base_url=self.record.url, headers={"authorization": f"Bearer {self.record.token}"}, timeout=10
        )

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=15)
        return errors


@pytest.fixture
def start(tmp_path):
    """Starts server processes on one home, and ends them with the test."""
    started = []

    def begin(*arguments, home=tmp_path, **env):
        started.append(Server(home, *(arguments or ("--port", "0")), **env))
        return started[-1]

    yield begin
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


def test_it_is_found_once_it_is_ready_and_not_after_its_end(start):
    server = start().wait_ready()
    assert httpx2.get(f"{server.record.url}/readyz").text == "ok\n"
    path = server.folders.server_record
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((server.folders.state / "keys.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(server.folders.state.stat().st_mode) == 0o700
    errors = server.end()
    assert server.process.returncode == 0
    assert not path.exists()
    assert server.record.url in errors
    assert server.record.token not in errors
    assert all(len(line) < 300 for line in errors.splitlines())


def test_it_listens_on_loopback_only(start):
    server = start().wait_ready()
    port = int(server.record.url.rpartition(":")[2])
    assert server.record.url.startswith("http://127.0.0.1:")
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", port))  # taken, were it listening on all addresses


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_soon_with_streams_open(start, status_path, report, number):
    server = start().wait_ready()
    with server.client() as client:
        client.post(status_path("watched"), json=report())
        with client.stream("GET", "/api/v1/events") as events:
            lines = events.iter_lines()
            assert next(line for line in lines if line.startswith("event:")) == "event: snapshot"
            began = time.monotonic()
            server.end(number)
            assert time.monotonic() - began < 5
            assert not [line for line in lines if line.startswith("event: error")]
    assert server.process.returncode == 0


def test_a_restart_brings_the_same_jobs_progress_and_history(start, status_path, report):
    server = start().wait_ready()
    with server.client() as client:
        registered = client.put(
            "/api/v1/jobs/local/kept", json={"runner": "r", "attempt": "attempt-1", "tags": ["t"]}
        ).json()
        client.post(
            "/api/v1/jobs/local/kept/lifecycle", json={"kind": "started", "runner": "r", "attempt": "attempt-1"}
        )
        for seq in range(1, 6):
            assert client.post(status_path("kept"), json=report(seq, seq * 10)).status_code == 200
        before = client.get("/api/v1/jobs/local/kept").json()
        series = client.get("/api/v1/jobs/local/kept/series").json()
        (stream,) = [client.get("/api/v1/jobs").json()["items"]]
    server.end()
    again = start().wait_ready()
    assert again.record.token == server.record.token
    with again.client() as client:
        after = client.get("/api/v1/jobs/local/kept").json()
        for field in (
            "uid",
            "state",
            "progress",
            "metrics",
            "attempts",
            "tags",
            "config",
            "createdAt",
            "startedAt",
            "best",
        ):
            old, new = before[field], after[field]
            if field == "progress":
                old.pop("lastStepAge", None), new.pop("lastStepAge", None)
            assert new == old, field
        assert client.get("/api/v1/jobs/local/kept/series").json() == series
        assert [job["name"] for job in client.get("/api/v1/jobs").json()["items"]] == [job["name"] for job in stream]
        answer = client.post(
            status_path("kept"), json=report(6, 60), headers={"authorization": f"Bearer {registered['token']}"}
        )
        assert answer.status_code == 200, "the job's token outlives the restart"
        assert answer.json()["headway"]["ack"] == 6
        assert client.post(status_path("kept"), json=report(3, 30)).status_code == 200
        assert client.get("/api/v1/jobs/local/kept").json()["progress"]["step"] == 60
        (once_more,) = client.get("/api/v1/jobs/local/kept/series").json()["series"]
        assert [point[0] for point in once_more["points"]] == [10, 20, 30, 40, 50, 60], "sent twice, counted once"


def test_what_was_acknowledged_survives_sigkill(start, status_path, report):
    server = start().wait_ready()
    with server.client() as client:
        for seq in range(1, 21):
            assert client.post(status_path("killed"), json=report(seq, seq)).json()["headway"]["ack"] == seq
    server.end(signal.SIGKILL)
    assert read_record(server.folders.server_record).pid == server.process.pid
    again = start().wait_ready()
    with again.client() as client:
        (series,) = client.get("/api/v1/jobs/local/killed/series").json()["series"]
        assert [point[0] for point in series["points"]] == list(range(1, 21))


def test_a_second_server_on_the_same_folder_says_so_and_exits(start):
    first = start().wait_ready()
    second = start()
    _, errors = second.process.communicate(timeout=20)
    assert second.process.returncode == 1
    assert str(first.process.pid) in errors
    assert first.record.url in errors
    assert "Traceback" not in errors
    assert find_server(first.folders.server_record) == first.record
    assert first.process.poll() is None


def test_a_taken_port_is_left_alone(start, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = start("--port", str(port))
        _, errors = server.process.communicate(timeout=20)
        assert server.process.returncode == 1
        assert f"port {port}" in errors
        assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADWAY_SERVER_PORT", "http"),
        ("HEADWAY_SERVER_PORT", "70000"),
        ("HEADWAY_SERVER_STORE", "files"),
        ("HEADWAY_SERVER_OPEN_METRICS", "no"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(start, variable, value):
    server = start("--store", "sqlite", **{variable: value})
    _, errors = server.process.communicate(timeout=20)
    assert server.process.returncode == 2
    assert variable in errors
    assert "Traceback" not in errors


def test_keys_that_others_can_read_are_not_used(start, tmp_path):
    first = start().wait_ready()
    first.end()
    (first.folders.state / "keys.json").chmod(0o644)
    second = start()
    _, errors = second.process.communicate(timeout=20)
    assert second.process.returncode == 1
    assert "keys.json" in errors
    assert "Traceback" not in errors


def test_a_name_of_the_settings_is_a_host_of_ours(start):
    server = start("--port", "0", HEADWAY_SERVER_ALLOWED_HOSTS="headway.example, other.example").wait_ready()
    for host, code in (("Headway.Example:80", 200), ("other.example", 200), ("evil.example", 403)):
        assert httpx2.get(f"{server.record.url}/", headers={"host": host}).status_code == code


def test_metrics_can_be_closed_to_other_users_of_the_machine(start):
    server = start("--port", "0", HEADWAY_SERVER_OPEN_METRICS="0").wait_ready()
    refused = httpx2.get(f"{server.record.url}/metrics")
    assert refused.status_code == 403
    assert "headway_" not in refused.text
    with server.client() as client:
        assert "headway_hub" in client.get("/metrics").text


def test_help_names_what_can_be_set(start):
    done = subprocess.run([sys.executable, "-m", "headway.app", "--help"], capture_output=True, text=True, check=True)
    assert "--port" in done.stdout
    assert json.dumps(done.stdout)


def test_a_full_disk_is_unavailable_and_passes(start, status_path, report, eventually):
    server = start().wait_ready()
    with server.client() as client:
        assert client.post(status_path("full"), json=report(1, 1)).json()["headway"]["ack"] == 1
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(
            server.process.pid, resource.RLIMIT_FSIZE, (4096, unlimited[1])
        )  # no file can grow: as on a full disk
        answer = client.post(status_path("full"), json=report(2, 2))
        assert answer.status_code == 503
        assert answer.json()["reason"] == "ServiceUnavailable"
        assert int(answer.headers["retry-after"]) >= 1
        assert client.post(status_path("another"), json=report()).status_code == 503
        assert client.put("/api/v1/jobs/local/third", json={"runner": "r", "attempt": "a"}).status_code == 503
        assert client.get("/healthz").status_code == 200
        job = client.get("/api/v1/jobs/local/full").json()
        assert job["progress"]["step"] == 1, "what is not persisted is not claimed"
        (series,) = client.get("/api/v1/jobs/local/full/series").json()["series"]
        assert [point[0] for point in series["points"]] == [1]
        assert [each["name"] for each in client.get("/api/v1/jobs").json()["items"]] == ["full"]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        eventually(lambda: client.post(status_path("full"), json=report(2, 2)).status_code == 200)
        assert client.get("/api/v1/jobs/local/full").json()["progress"]["step"] == 2
    server.end()
    assert server.process.returncode == 0
