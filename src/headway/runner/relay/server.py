"""The loopback server that a run's processes report to: answers at once, keeps on disk, and never asks the network first.

So a client that posts from its training thread (Transformers' callback, the Kubeflow SDK, curl) is never held up by a server
that hangs, refuses or is slow. :mod:`headway.runner.relay.forwarder` hands on what is kept here.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from headway.client.operations import status_path
from headway.errors import (
    ForbiddenError,
    HeadwayError,
    InvalidError,
    NotFoundError,
    TooLargeError,
    UnavailableError,
)
from headway.protocol.codec import dumps, loads
from headway.protocol.job import JobKey
from headway.protocol.limits import HEADER_AGE, MAX_BODY_BYTES
from headway.protocol.problem import reason_of, status_object
from headway.protocol.report import Envelope
from headway.protocol.wire import decode_report, encode_answer
from headway.runner.answers import Answers
from headway.runner.relay.queue import ReportQueue

_log = logging.getLogger("headway.runner")

_IDLE_SECONDS: Final = 300.0
"""Seconds after which a connection that says nothing is closed."""


class Relay:
    """Serves one job's status address on a port of its own, with a token of its own.

    Args:
        key: the job.
        queue: where reports wait for the server.
        answers: what is said back.
        say: tells the user one line.
        on_status: is given each ``trainerStatus`` as it came.
    """

    def __init__(
        self,
        key: JobKey,
        queue: ReportQueue,
        answers: Answers,
        say: Callable[[str], None],
        on_status: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self.key = key
        self.token = secrets.token_urlsafe(32)
        self._queue = queue
        self._say = say
        self._answers = answers
        self._on_status = on_status
        self._lock = threading.Lock()
        self._attempt = self._run = ""
        self._seq = 0
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.relay = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="headway-relay", daemon=True
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.status_url = self.url + status_path(key)
        self.path = [unquote(part) for part in status_path(key).split("/")]

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def begin(self, attempt: str, run: str) -> None:
        """Posts of stock clients belong to ``attempt`` from now on, and count as of a run ``run``."""
        with self._lock:
            self._attempt, self._run, self._seq = attempt, run, 0

    def close(self) -> None:
        """Stops answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, body: bytes, age: float) -> bytes:
        """Keeps a report and returns the body of the answer.

        Raises:
            InvalidError: it is no report; names the field.
            UnavailableError: it cannot be kept, and the sender can keep it itself.
        """
        try:
            document = loads(body.decode("utf-8"))
            report = decode_report(document)
        except UnicodeDecodeError as error:
            raise InvalidError(f"not UTF-8: {error}", field="body") from error
        if report.headway is not None:
            source, envelope = report.headway.run, Envelope(age=age)
        else:
            with self._lock:
                source, self._seq = self._run, self._seq + 1
                envelope = Envelope(age=age, attempt=self._attempt, run=self._run, seq=self._seq)
        if report.status is not None or report.headway is not None:
            try:
                self._queue.put(body, envelope, source)
            except OSError as error:
                self._say(f"reports cannot be kept on disk: {error.strerror or error}")
                if report.headway is not None:
                    raise UnavailableError(f"the report cannot be kept on disk: {error}") from error
        if report.status is not None:
            self._on_status(document["trainerStatus"])
        return dumps(encode_answer(self._answers.kept(source, report)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    relay: Relay

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the base class's shape
        _log.debug("a connection to the relay broke", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "headway-relay"
    timeout = _IDLE_SECONDS
    wbufsize = -1  # one packet an answer: two small ones would wait for each other's acknowledgement
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        try:
            body = self._body()
            self._allow()
            self._answer(200, self.server.relay.take(body, self._age()))
        except HeadwayError as error:
            reason = reason_of(error)
            field = error.field if isinstance(error, InvalidError) else None
            self._answer(reason.code, dumps(status_object(reason, str(error), field=field)))

    def do_GET(self) -> None:
        if urlsplit(self.path).path in {"/healthz", "/readyz"}:
            self._answer(200, b"ok", "text/plain")
        else:
            reason = reason_of(NotFoundError())
            message = "this is the relay of one run; it takes reports and nothing else"
            self._answer(reason.code, dumps(status_object(reason, message)))

    def _body(self) -> bytes:
        text = self.headers.get("content-length", "")
        if not text.isdecimal():
            self.close_connection = True
            raise InvalidError("the request needs a Content-Length", field="body")
        length = int(text)
        if length > MAX_BODY_BYTES:
            self.close_connection = True
            self._discard(length)
            raise TooLargeError(f"{length} bytes are over the limit of {MAX_BODY_BYTES}", field="body")
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            raise InvalidError("the body ended early", field="body")
        return body

    def _discard(self, length: int) -> None:
        """Reads a moderate body that is refused, so that its sender gets to read why."""
        self.connection.settimeout(2.0)
        try:
            while length > 0 and (piece := self.rfile.read(min(length, 65536))):
                length -= len(piece)
                if length > 4 * 1024 * 1024:
                    break
        except OSError:
            _log.debug("a sender stopped in the middle of a body over the limit")

    def _allow(self) -> None:
        relay = self.server.relay
        if [unquote(part) for part in urlsplit(self.path).path.split("/")] != relay.path:
            raise NotFoundError(f"this relay takes reports of {relay.key} only")
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), relay.token.encode()):
            raise ForbiddenError("the token is not the one that `headway run` gave to this run's processes")

    def _age(self) -> float:
        try:
            return min(max(float(self.headers.get(HEADER_AGE, "0")), 0.0), 1e9)
        except ValueError:
            return 0.0

    def _answer(self, code: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        _log.debug("relay: " + format, *args)
