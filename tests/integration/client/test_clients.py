"""Both clients against a scripted server on loopback: what they send, what they give, what they do when it goes away."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headway.client.async_client import AsyncClient
from headway.client.client import Client
from headway.errors import ConflictError, ForbiddenError, NotFoundError, UnavailableError
from headway.protocol.codec import encode
from headway.protocol.job import Changes, Job, JobPage, JobQuery, Platform, State
from headway.protocol.problem import Reason, status_object
from headway.reporter.discovery import PROOF_PATH, ServerRecord, prove, write_record
from headway.reporter.folders import Folders


def job(name: str = "a") -> Job:
    return Job(
        namespace="local",
        name=name,
        uid="u",
        platform=Platform.LOCAL,
        state=State.RUNNING,
        summary="Running",
        created_at=1.0,
        updated_at=2.0,
    )


class Api:
    """Answers each request with ``answer(method, target, headers, body)``: a status and a body, or a function that writes."""

    def __init__(self, answer: Callable[..., Any], port: int = 0) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections: list[socket.socket] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                api.connections.append(self.connection)

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                api.requests.append((self.command, self.path, headers, body))
                result = answer(self.command, self.path, headers, body)
                if callable(result):
                    self.close_connection = True
                    result(self)
                    return
                status, document = result
                data = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(answer: Callable[..., Any], port: int = 0) -> Iterator[Api]:
    api = Api(answer, port)
    try:
        yield api
    finally:
        api.close()


class Sync:
    """Calls the synchronous client."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client = Client(*args, **kwargs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = getattr(self.client, name)(*args, **kwargs)
            return list(result) if inspect.isgenerator(result) else result

        return call


class Async:
    """Calls the asynchronous client, from a loop of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client = AsyncClient(*args, **kwargs)
        self.loop = asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            async def gather(items: AsyncIterator[Any]) -> list[Any]:
                return [item async for item in items]

            result = getattr(self.client, name)(*args, **kwargs)
            return self.loop.run_until_complete(gather(result) if inspect.isasyncgen(result) else result)

        return call

    def close(self) -> None:
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


@pytest.fixture(params=[Sync, Async])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    made = []

    def make(*args: Any, **kwargs: Any) -> Any:
        made.append(request.param(*args, **kwargs))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_a_call_carries_the_token_and_gives_a_typed_result(connect: Callable[..., Any]) -> None:
    with serving(lambda *_: (200, encode(job("a/b")))) as api:
        result = connect(api.url, "secret").job("a/b")
        assert result == job("a/b")
        ((method, target, headers, _),) = api.requests
        assert (method, target) == ("GET", "/api/v1/jobs/local/a%2Fb")
        assert headers["authorization"] == "Bearer secret"


def test_all_pages_are_walked(connect: Callable[..., Any]) -> None:
    def answer(method: str, target: str, *_: object) -> Any:
        last = "cursor=2" in target
        items = (job("c"),) if last else (job("a"), job("b"))
        return 200, encode(JobPage(items=items, total=3, next=None if last else "2"))

    with serving(answer) as api:
        assert [each.name for each in connect(api.url).iter_jobs(JobQuery(limit=2))] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [(Reason.NOT_FOUND, NotFoundError), (Reason.FORBIDDEN, ForbiddenError), (Reason.CONFLICT, ConflictError)],
)
def test_errors_keep_the_servers_words(connect: Callable[..., Any], reason: Reason, kind: type[Exception]) -> None:
    with serving(lambda *_: (reason.code, status_object(reason, "said so"))) as api:
        client = connect(api.url)
        for call in (lambda: client.delete("a"), lambda: client.log("a"), client.watch):
            with pytest.raises(kind, match="said so"):
                call()


def test_a_server_that_hangs_or_refuses_is_unavailable(connect: Callable[..., Any]) -> None:
    done = threading.Event()
    with serving(lambda *_: lambda _handler: done.wait(10)) as api:
        client = connect(api.url, timeout=0.2)
        with pytest.raises(UnavailableError, match=r"did not answer within 0\.2 s"):
            client.jobs()
        with pytest.raises(UnavailableError):
            client.health()
        done.set()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        connect(api.url).jobs()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        connect(api.url).watch(timeout=5)


def test_a_server_that_is_not_ready_says_so_without_an_error(connect: Callable[..., Any]) -> None:
    with serving(lambda *_: (503, status_object(Reason.UNAVAILABLE, "the store is opening"))) as api:
        health = connect(api.url).health()
        assert (health.ready, health.text) == (False, "the store is opening")


def test_a_log_comes_line_by_line(connect: Callable[..., Any]) -> None:
    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for piece in ("eins\nzw", "ei\nümlau".encode(), b"t"):
            data = piece.encode() if isinstance(piece, str) else piece
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        handler.wfile.write(b"0\r\n\r\n")

    with serving(lambda *_: write) as api:
        assert connect(api.url).log("a", tail=7, follow=True) == ["eins", "zwei", "ümlaut"]
        assert api.requests[0][1] == "/api/v1/jobs/local/a/log?tail=7&follow=true"


def stream(*numbers: int, snapshot: bool = False, stay: threading.Event | None = None) -> Callable[..., None]:
    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for number in numbers:
            changes = Changes(id=f"e-{number}", snapshot=snapshot, jobs=(job(f"j{number}"),), server_time=1.0)
            kind = "snapshot" if snapshot else "changes"
            data = json.dumps(encode(changes))
            handler.wfile.write(f"id: e-{number}\nevent: {kind}\ndata: {data}\n\n".encode())
        if stay is not None:
            handler.wfile.flush()
            stay.wait(20)

    return write


def test_a_watch_reconnects_where_it_was(connect: Callable[..., Any]) -> None:
    def answer(method: str, target: str, headers: dict[str, str], body: bytes) -> Any:
        match headers.get("last-event-id"):
            case None:
                return stream(1, snapshot=True)
            case "e-1":
                down.append(1)
                return (503, status_object(Reason.UNAVAILABLE, "restarting")) if len(down) == 1 else stream(2, 3)
            case _:
                return stream(4, stay=done)

    down: list[int] = []
    done = threading.Event()
    with serving(answer) as api:
        started = time.monotonic()
        seen = connect(api.url).watch(namespace="local", timeout=4)
        assert time.monotonic() - started < 8
        done.set()
        assert [changes.id for changes in seen] == ["e-1", "e-2", "e-3", "e-4"]
        assert seen[0].snapshot
        assert api.requests[0][1].startswith("/api/v1/events?namespace=local&seconds=")


def test_a_local_server_is_found_again_under_another_address(connect: Callable[..., Any], tmp_path: Path) -> None:
    folders = Folders(tmp_path / "state", tmp_path / "run")

    def local(token: str) -> Callable[..., Any]:
        def answer(method: str, target: str, headers: dict[str, str], body: bytes) -> Any:
            if target.startswith(PROOF_PATH):
                return 200, prove(token, target.partition("nonce=")[2]).encode()
            if headers.get("authorization") != f"Bearer {token}":
                return 403, status_object(Reason.FORBIDDEN, "not this token")
            return 200, ["loss", token]

        return answer

    with pytest.raises(UnavailableError, match="headway server start"):
        connect(folders=folders)
    with serving(local("one")) as api:
        write_record(folders.server_record, ServerRecord(url=api.url, token="one", pid=1, version="0"))
        client = connect(folders=folders)
        assert client.metrics("a") == ["loss", "one"]
    with pytest.raises(UnavailableError, match="headway server start"):
        client.metrics("a")
    with serving(local("two")) as api:
        write_record(folders.server_record, ServerRecord(url=api.url, token="two", pid=1, version="0"))
        assert client.metrics("a") == ["loss", "two"]
    with serving(local("three")) as impostor:
        write_record(folders.server_record, ServerRecord(url=impostor.url, token="four", pid=1, version="0"))
        with pytest.raises(UnavailableError):
            client.metrics("a")
        assert all("authorization" not in headers for _, _, headers, _ in impostor.requests)
