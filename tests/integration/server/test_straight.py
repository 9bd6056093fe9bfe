"""A report that arrives whole goes straight to its endpoint; nobody outside can tell which way one went."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest


class Line:
    """A connection on which bytes are sent as they are, and answers are read one by one."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._file = connected.makefile("rb")

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self._socket.sendall(part)

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        status = self._file.readline().split()
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return int(status[1]), headers, self._file.read(int(headers["content-length"]))

    def ended(self) -> bool:
        return self._file.read(1) == b""


@pytest.fixture
def line(server: Any) -> Iterator[Callable[[], Any]]:
    at = urlsplit(server.url)

    @contextmanager
    def connect() -> Iterator[Line]:
        with socket.create_connection((at.hostname, at.port), timeout=10) as connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(connected)
            yield line
            line._file.close()

    return connect


@pytest.fixture
def request_of(server: Any, status_path: Callable[..., str]) -> Callable[..., bytes]:
    """The bytes of a report; ``more`` are further lines of its head."""

    def build(
        name: str, body: Any, *, token: str | None = None, host: str = "127.0.0.1", more: str = "", method: str = "POST"
    ) -> bytes:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = (
            f"{method} {status_path(name)} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token or server.token}\r\n"
            f"Content-Length: {len(content)}\r\n{more}\r\n"
        )
        return head.encode() + content

    return build


def ack_of(body: bytes) -> int:
    return int(json.loads(body)["headway"]["ack"])


def test_reports_of_one_connection_are_answered_one_after_the_other(line, request_of, report, user):
    with line() as one:
        for seq in (1, 2, 3):
            one.send(request_of("in-turn", report(seq, seq * 10)))
            code, headers, body = one.answer()
            assert (code, ack_of(body)) == (200, seq)
            assert headers["cache-control"] == "no-store"
            assert headers["content-type"] == "application/json"
            assert "date" in headers
    assert user.get("/api/v1/jobs/local/in-turn").json()["progress"]["step"] == 30


def test_a_report_cut_anywhere_is_taken(line, request_of, report):
    whole = request_of("cut", report(1, 10))
    head = whole.index(b"\r\n\r\n") + 4
    with line() as one:
        for seq, cut in enumerate((1, 40, head - 2, head, head + 1, len(whole) - 1), 1):
            data = request_of("cut", report(seq, seq))
            one.send(data[:cut], data[cut:])
            code, _, body = one.answer()
            assert (code, ack_of(body)) == (200, seq)
        data = request_of("cut", report(7, 7))
        one.send(*(data[at : at + 97] for at in range(0, len(data), 97)))
        assert ack_of(one.answer()[2]) == 7


def test_what_is_sent_without_waiting_is_answered_in_order(line, request_of, report, server):
    reports = [request_of("pipelined", report(seq, seq)) for seq in range(1, 6)]
    ask = (
        f"GET /api/v1/jobs/local/pipelined HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    )
    with line() as one:
        one.send(b"".join([*reports[:3], ask.encode(), *reports[3:]]))
        assert [ack_of(one.answer()[2]) for _ in range(3)] == [1, 2, 3]
        assert json.loads(one.answer()[2])["progress"]["step"] == 3
        assert [ack_of(one.answer()[2]) for _ in range(2)] == [4, 5]
        one.send(request_of("pipelined", report(6, 6)))
        assert ack_of(one.answer()[2]) == 6


def test_whoever_asks_for_the_end_gets_it_after_the_answer(line, request_of, report):
    with line() as one:
        one.send(request_of("close", report(1, 1), more="Connection: close\r\n"))
        assert one.answer()[0] == 200
        assert one.ended()


def test_a_report_of_somebody_who_has_gone_is_kept(line, request_of, report, user, eventually):
    with line() as one:
        one.send(request_of("gone", report(1, 123)))
    eventually(lambda: user.get("/api/v1/jobs/local/gone").status_code == 200)
    assert user.get("/api/v1/jobs/local/gone").json()["progress"]["step"] == 123


@pytest.mark.parametrize(
    ("body", "given", "code"),
    [
        (b'{"headway": {"run": "r"}}', {}, 422),
        (b"no json", {}, 422),
        (b"", {}, 422),
        (b"x" * 70_000, {}, 413),
        (None, {"token": "wrong"}, 403),
        (None, {"host": "elsewhere.example"}, 403),
        (None, {"more": "Headway-Age: x\r\n"}, 422),
        (None, {"more": "Headway-Age: 3\r\n"}, 200),
        (None, {"method": "PUT"}, 405),
    ],
)
def test_both_ways_give_the_same_answer(line, request_of, report, body, given, code):
    name = f"ways-{code}-{len(body or b'')}"
    data = request_of(name, report(1, 1) if body is None else body, **given)
    answers = []
    for parts in ([data], [data[:-1], data[-1:]]):
        with line() as one:
            one.send(*parts)
            found, headers, said = one.answer()
            headers.pop("date")
            answers.append((found, headers, said))
    assert answers[0][0] == code
    assert answers[0] == answers[1]
