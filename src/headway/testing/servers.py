"""A status server on loopback that misbehaves as it is told, and remembers every report that reached it.

Real sockets and real HTTP, so that what is tested is what happens::

    with ScriptedServer() as server:
        server.behave("hang")
        ...
        server.behave("ok")
        assert server.steps_of_points() == [1, 2, 3]
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from headway.protocol.problem import Reason, status_object
from headway.reporter.discovery import PROOF_PATH, prove
from headway.testing.posts import Post, PostLog

BEHAVIOURS: Final = (
    "ok",
    "stock",
    "hang",
    "slow",
    "error",
    "busy",
    "limit",
    "refuse",
    "too-large",
    "invalid",
    "missing",
    "garbage",
)
"""What :meth:`ScriptedServer.behave` knows: answer as Headway, or as a stock Kubeflow server; never answer; answer after a
while; 500; 503; 429; close the door; 413; 422; 404; 200 with something that is no answer."""

_REASONS: Final = {
    "error": Reason.INTERNAL,
    "busy": Reason.UNAVAILABLE,
    "limit": Reason.TOO_MANY_REQUESTS,
    "too-large": Reason.TOO_LARGE,
    "invalid": Reason.INVALID,
    "missing": Reason.NOT_FOUND,
}


@dataclass(slots=True)
class _Script:
    behaviour: str = "ok"
    slow_seconds: float = 0.5
    retry_after: float | None = None
    token: str | None = None
    most_bytes: int | None = None
    proof: str | None = None
    answer: dict[str, Any] = field(default_factory=dict)


class ScriptedServer(PostLog):
    """One status server for any job.

    Args:
        token: the only bearer token it takes; None for any.
        interval: seconds between reports that it asks for.
        port: 0 for any free one.
        certificate: files of a certificate and its key: it then speaks HTTPS, as ``localhost``.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        interval: float = 0.2,
        port: int = 0,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        super().__init__()
        self.certificate = certificate
        self._script = _Script(token=token)
        self._script.answer["interval"] = interval
        self._port = port
        self._released = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._seen: dict[str, set[int]] = {}
        self._sockets: set[socket.socket] = set()
        self.start()

    @property
    def port(self) -> int:
        """The port; the same after the door was closed and opened again."""
        return self._port

    @property
    def url(self) -> str:
        """Base URL, for ``HEADWAY_URL``."""
        return f"http://127.0.0.1:{self._port}" if self.certificate is None else f"https://localhost:{self._port}"

    def status_url(self, namespace: str = "local", name: str = "job") -> str:
        """Full status URL, for ``KUBEFLOW_TRAINER_SERVER_URL``."""
        path = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"
        return self.url + path

    def behave(self, behaviour: str, *, retry_after: float | None = None, slow_seconds: float = 0.5) -> None:
        """From now on answers like this; see :data:`BEHAVIOURS`."""
        if behaviour not in BEHAVIOURS:
            raise ValueError(f"{behaviour!r} is none of {', '.join(BEHAVIOURS)}")
        self._script.behaviour = behaviour
        self._script.retry_after, self._script.slow_seconds = retry_after, slow_seconds
        if behaviour == "refuse":
            self.stop()
        elif self._server is None:
            self.start()

    def require(self, *, token: str | None = None, most_bytes: int | None = None) -> None:
        """From now on only takes this token, and bodies up to this size."""
        self._script.token, self._script.most_bytes = token, most_bytes

    def prove_with(self, token: str) -> None:
        """Answers the proof that local reporters ask for, as the server of the user with this token; takes no other token."""
        self._script.proof = self._script.token = token

    def answer_with(self, **headway: Any) -> None:
        """Sets fields of the ``headway`` object in answers: ``directives``, ``want``, ``interval``, ``ack``; None removes one."""
        for name, value in headway.items():
            if value is None:
                self._script.answer.pop(name, None)
            else:
                self._script.answer[name] = value

    def start(self) -> None:
        """Opens the door."""
        self._released = threading.Event()
        outer = self

        class Handler(_Handler):
            scripted = outer

        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=(0.02,), name="scripted-server", daemon=True).start()

    def stop(self) -> None:
        """Closes the door and every connection."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
        self._released.set()
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answer(self, handler: _Handler, content: bytes) -> None:
        script = self._script
        behaviour = script.behaviour
        headers = {name.lower(): value for name, value in handler.headers.items()}
        code, body = 200, b""
        if behaviour == "slow":
            self._released.wait(script.slow_seconds)
        if behaviour in _REASONS:
            code, body = _REASONS[behaviour].code, json.dumps(status_object(_REASONS[behaviour], behaviour)).encode()
        elif script.token is not None and headers.get("authorization") != f"Bearer {script.token}":
            code, body = 403, json.dumps(status_object(Reason.FORBIDDEN, "wrong token")).encode()
        elif script.most_bytes is not None and len(content) > script.most_bytes:
            code, body = 413, json.dumps(status_object(Reason.TOO_LARGE, "too large")).encode()
        taken = code == 200 and behaviour in ("ok", "stock", "slow")
        parsed = json.loads(content) if content else None
        with self._lock:
            self.posts.append(Post(time.monotonic(), handler.path, headers, len(content), parsed, taken))
            if taken:
                body = self._accept(parsed, stock=behaviour == "stock")
        if behaviour == "hang":
            self._released.wait()
            return
        if behaviour == "garbage":
            body = b"<html>hello</html>"
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        if script.retry_after is not None:
            handler.send_header("Retry-After", str(script.retry_after))
        handler.end_headers()
        handler.wfile.write(body)

    def _accept(self, parsed: Any, *, stock: bool) -> bytes:
        answer: dict[str, Any] = {"trainerStatus": parsed.get("trainerStatus") or {}}
        if not stock:
            headway: dict[str, Any] = {"version": 1}
            report = parsed.get("headway") or {}
            if "seq" in report:
                seen = self._seen.setdefault(report["run"], set())
                seen.add(report["seq"])
                ack = 0
                while ack + 1 in seen:
                    ack += 1
                headway["ack"] = ack
            answer["headway"] = {**headway, **self._script.answer}
        return json.dumps(answer).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    scripted: ScriptedServer

    def setup(self) -> None:
        super().setup()
        with self.scripted._lock:
            self.scripted._sockets.add(self.connection)

    def finish(self) -> None:
        with self.scripted._lock:
            self.scripted._sockets.discard(self.connection)
        try:
            super().finish()
        except OSError:
            pass

    def do_POST(self) -> None:
        try:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.scripted._answer(self, content)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
        if self.scripted._script.behaviour in ("hang", "refuse"):
            self.close_connection = True

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        token = self.scripted._script.proof
        found = token is not None and parts.path == PROOF_PATH
        body = prove(token or "", parse_qs(parts.query).get("nonce", [""])[0]).encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""
