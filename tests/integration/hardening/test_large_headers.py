"""Requests that are large or torn in odd places: refused or let go, and the server serves on in bounded memory."""

from __future__ import annotations

import contextlib
import socket
from urllib.parse import urlsplit

import psutil
import pytest

from headway import Client

MEGA = 1024 * 1024


def sent(url: str, *pieces: bytes, wait: float = 5.0) -> bytes:
    """What the server answers to raw bytes, until it closes or says no more."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=wait) as connection:
        with contextlib.suppress(OSError):  # the server may close in the middle
            for piece in pieces:
                connection.sendall(piece)
        received = b""
        with contextlib.suppress(OSError):
            while more := connection.recv(65536):
                received += more
                if b"\r\n\r\n" in received:
                    break
        return received


@pytest.fixture
def server(make_home):
    home = make_home()
    process, record = home.server()
    return home, psutil.Process(process.pid), record


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * MEGA + b"\r\n\r\n",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + b"x" * MEGA + b"\r\n\r\n",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: " + b"headway=x; " * 95_000 + b"\r\n\r\n",
        b"GET /api/v1/jobs?text=" + b"x" * MEGA + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: " + b"x" * MEGA + b"\r\n\r\n",
        b"GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 170_000 + b"\r\n",
    ],
    ids=["any", "token", "cookie", "path", "host", "many"],
)
def test_a_head_of_a_megabyte_is_refused_and_does_no_harm(server, head):
    home, _, record = server
    answer = sent(record.url, head)
    assert answer == b"" or answer.split(b" ")[1][:1] == b"4", answer[:80]
    with Client(folders=home.folders) as client:
        assert client.jobs().items == ()


def test_heads_without_an_end_do_not_fill_the_memory(server):
    home, process, record = server
    with Client(folders=home.folders) as client:
        client.jobs()
        before = process.memory_info().rss
        for _ in range(5):
            sent(record.url, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", *[b"x" * MEGA] * 30, wait=1.0)
        assert process.memory_info().rss - before < 60 * MEGA
        assert client.jobs().items == ()
