"""Waiting for jobs of a real server, with both clients."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway import AsyncClient, Client, until
from headway.errors import ForbiddenError, JobEndedError, NotFoundError, UnavailableError, WaitTimeoutError
from headway.protocol.job import Job, JobKey, State
from headway.protocol.report import EndingKind, Report
from headway.testing.live import LiveServer, live_server
from headway.testing.reports import SyntheticRun

KEY = JobKey("local", "job")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with live_server(tmp_path / "server") as running:
        yield running


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    with Client(server.url, server.token) as connected:
        yield connected


def later(server: LiveServer, *reports: Report) -> threading.Thread:
    """Sends reports, one every 0.3 s, while the test waits."""

    def send() -> None:
        for report in reports:
            time.sleep(0.3)
            server.call(server.hub.ingest(KEY, report, create=True))

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_it_waits_for_a_step_and_tells_every_change(server: LiveServer, client: Client) -> None:
    run = SyntheticRun()
    server.call(server.hub.ingest(KEY, run.at(1), create=True))
    sender = later(server, *(run.at(step) for step in range(2, 8)))
    steps: list[int | None] = []
    job = client.wait("job", until.step(6), timeout=30, on_update=lambda job: steps.append(job.progress.step))
    sender.join()
    assert (job.progress.step or 0) >= 6
    assert steps[0] in (1, 2)
    assert steps == sorted(steps, key=lambda step: step or 0)
    assert steps[-1] == job.progress.step


def test_it_waits_for_the_end_if_nothing_else_is_said(server: LiveServer, client: Client) -> None:
    run = SyntheticRun(total=3)
    server.call(server.hub.ingest(KEY, run.at(1), create=True))
    sender = later(server, run.at(2), run.end(EndingKind.COMPLETED, 3))
    assert client.wait("job", timeout=30).state is State.COMPLETE
    sender.join()
    with pytest.raises(JobEndedError, match=r"Complete, and will not come to loss below -1"):
        client.wait("job", until.metric("loss").below(-1))


def test_it_does_not_wait_for_ever(server: LiveServer, client: Client) -> None:
    server.call(server.hub.ingest(KEY, SyntheticRun().at(1), create=True))
    started = time.monotonic()
    with pytest.raises(WaitTimeoutError, match=r"within 0\.5 s: it is Running"):
        client.wait("job", timeout=0.5)
    assert time.monotonic() - started < 10
    with pytest.raises(NotFoundError):
        client.wait("nobody", timeout=30)


def test_a_server_that_restarts_is_waited_for(tmp_path: Path) -> None:
    run = SyntheticRun(total=10)
    with live_server(tmp_path / "server") as first:
        first.call(first.hub.ingest(KEY, run.at(1), create=True))
        port = int(first.url.rpartition(":")[2])
        client = Client(first.url, first.token, timeout=5.0)
        seen, found = threading.Event(), []

        def wait() -> None:
            found.append(client.wait("job", timeout=60, on_update=lambda _: seen.set()))

        waiter = threading.Thread(target=wait)
        waiter.start()
        assert seen.wait(20)
    time.sleep(0.3)
    with live_server(tmp_path / "server", port=port) as second:
        second.call(second.hub.ingest(KEY, run.end(EndingKind.COMPLETED, 10)))
        waiter.join(40)
        client.close()
    assert [job.state for job in found] == [State.COMPLETE]


def test_nobody_there_is_an_error_at_once() -> None:
    with Client("http://127.0.0.1:9", "t", timeout=2) as client, pytest.raises(UnavailableError):
        client.wait("job", timeout=30)


def test_the_asynchronous_client_waits_too(server: LiveServer) -> None:
    run = SyntheticRun(total=4)
    server.call(server.hub.ingest(KEY, run.at(1), create=True))
    heard: list[Job] = []

    async def hear(job: Job) -> None:
        await asyncio.sleep(0)
        heard.append(job)

    async def wait() -> Job:
        async with AsyncClient(server.url, server.token) as client:
            both = await asyncio.gather(
                client.wait("job", until.step(3), timeout=30, on_update=hear), client.wait("job", timeout=30)
            )
            with pytest.raises(JobEndedError):
                await client.wait("job", until.step(100), timeout=5)
            return both[1]

    sender = later(server, run.at(2), run.at(3), run.end(EndingKind.COMPLETED, 4))
    assert asyncio.run(wait()).state is State.COMPLETE
    sender.join()
    assert heard


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)


@pytest.mark.parametrize(
    ("token", "said"), [(None, "it wants the user's token"), ("guessed", "the token is not the user's")]
)
def test_a_refusal_says_which_server_and_whence_a_token_comes(server: LiveServer, token: str | None, said: str) -> None:
    with Client(server.url, token, environ={}) as stranger, pytest.raises(ForbiddenError) as caught:
        stranger.jobs()
    assert server.url in str(caught.value)
    assert said in str(caught.value)
    assert "headway server token" in str(caught.value)
