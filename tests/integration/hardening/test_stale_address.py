"""A token is only ever shown to the server that it is of: not to a program that took over the port of one that is gone."""

from __future__ import annotations

import os

import pytest

from headway import AsyncClient, Client
from headway.errors import UnavailableError
from headway.protocol.codec import dumps
from headway.reporter.discovery import ServerRecord, find_server, write_record
from headway.reporter.folders import Folders
from headway.reporter.transports.http import HttpTransport
from headway.runner.request import RunRequest
from headway.runner.run import run
from headway.testing import live_server

TOKEN = "user-token-that-nobody-else-may-see"


def secrets_in(heard: bytes, *tokens: str) -> list[str]:
    """Which of the tokens were shown, or that any credentials were."""
    shown = [token for token in tokens if token.encode() in heard]
    return [*shown, *(["a header"] if b"authorization:" in heard.lower() else [])]


def leave_record(folders: Folders, port: int) -> None:
    """What a server leaves behind that was killed."""
    write_record(
        folders.server_record,
        ServerRecord(url=f"http://127.0.0.1:{port}", token=TOKEN, pid=os.getpid(), version="0"),
    )


@pytest.fixture
def folders(headway_home) -> Folders:
    return Folders.from_env({"HEADWAY_HOME": str(headway_home)})


def test_the_reporter_asks_first(make_home, make_stranger, until):
    home, stranger = make_home(), make_stranger()
    leave_record(home.folders, stranger.port)
    script = home.script("""
        import headway
        run = headway.track(10, name="job")
        for step in range(10):
            run.step()
        run.finish()
    """)
    assert script.wait(60) == 0
    until(lambda: stranger.requests)
    assert secrets_in(stranger.heard, TOKEN) == []
    assert len(list(home.folders.spool.glob("*.jsonl"))) == 1, "what it had to say is kept"


def test_clients_ask_first(folders, make_stranger):
    stranger = make_stranger()
    leave_record(folders, stranger.port)
    with pytest.raises(UnavailableError, match="headway server start"):
        Client(folders=folders)
    with pytest.raises(UnavailableError, match="headway server start"):
        AsyncClient(folders=folders)
    assert stranger.requests == 2
    assert secrets_in(stranger.heard, TOKEN) == []


def test_the_runner_asks_first_and_runs_the_command(make_home, make_stranger):
    home, stranger = make_home(), make_stranger()
    leave_record(home.folders, stranger.port)
    # No server may be started here, so there is only the stranger to talk to.
    code = """
        import sys
        import headway.client.local_server as local
        local.missing_extra = lambda: "none can be started"
        from headway.runner.request import RunRequest
        from headway.runner.run import run
        sys.exit(run(RunRequest(command=(sys.executable, "-c", "import headway; headway.track(3).step(); exit(3)"))))
    """
    assert home.script(code).wait(60) == 3
    assert stranger.requests
    assert secrets_in(stranger.heard, TOKEN) == []


def test_a_server_that_goes_between_two_reports(tmp_path, make_stranger):
    """The port is taken before the reporter has noticed: its next connection asks again."""
    with live_server(tmp_path) as server:
        url, token, port = server.url, server.token, int(server.url.rpartition(":")[2])
        path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/local/trainjobs/job/status"
        transport = HttpTransport(url + path, token=token, prove=True)
        body = dumps({"trainerStatus": {"metrics": []}})
        assert transport.post(body) is not None
    stranger = make_stranger(port)
    with pytest.raises(UnavailableError):
        transport.post(body)
    with pytest.raises(UnavailableError, match="not this user's server"):
        transport.post(body)
    transport.close()
    assert stranger.requests
    assert secrets_in(stranger.heard, token) == []


def test_a_server_that_goes_between_two_requests_of_a_client(tmp_path, make_stranger):
    with live_server(tmp_path) as server:
        port, token = int(server.url.rpartition(":")[2]), server.token
        record = ServerRecord(url=server.url, token=token, pid=os.getpid(), version="0")
        write_record(server.folders.server_record, record)
        client = Client(folders=server.folders)
        assert client.jobs().items == ()
        assert client.health().ready
    stranger = make_stranger(port)
    with client:
        for ask in (
            client.jobs,
            client.login_url,
            lambda: next(client.watch(timeout=1)),
            lambda: list(client.log("x")),
        ):
            with pytest.raises(UnavailableError):
                ask()
    assert stranger.requests >= 3
    assert secrets_in(stranger.heard, token) == []


async def test_a_server_that_goes_between_two_requests_of_an_asynchronous_client(tmp_path, make_stranger):
    with live_server(tmp_path) as server:
        port, token = int(server.url.rpartition(":")[2]), server.token
        record = ServerRecord(url=server.url, token=token, pid=os.getpid(), version="0")
        write_record(server.folders.server_record, record)
        client = AsyncClient(folders=server.folders)
        assert (await client.jobs()).items == ()
    stranger = make_stranger(port)
    async with client:
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await client.jobs()
    assert stranger.requests >= 2
    assert secrets_in(stranger.heard, token) == []


@pytest.mark.parametrize("answer", [b"", b"0" * 64, b"x" * 100_000, b"\xff\xfe"])
def test_no_answer_but_the_right_one_is_a_proof(folders, make_stranger, answer):
    stranger = make_stranger(answer=answer)
    leave_record(folders, stranger.port)
    assert find_server(folders.server_record) is None
    with pytest.raises(UnavailableError):
        HttpTransport(f"http://127.0.0.1:{stranger.port}/x", token=TOKEN, prove=True).post(b"{}")
    assert secrets_in(stranger.heard, TOKEN) == []


def test_the_address_file_of_somebody_else_is_not_used(folders, make_stranger):
    stranger = make_stranger()
    leave_record(folders, stranger.port)
    folders.server_record.chmod(0o644)
    with pytest.raises(Exception, match="can be read or changed by others"):
        Client(folders=folders)
    assert stranger.requests == 0
    assert (
        run(
            RunRequest(
                command=("true",), environ={"HEADWAY_HOME": str(folders.state.parent), "PATH": os.environ["PATH"]}
            )
        )
        == 0
    )
    assert secrets_in(stranger.heard, TOKEN) == []
