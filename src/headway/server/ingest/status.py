"""The status endpoint: takes the reports of training processes. The one hot path of the server.

A bare ASGI handler: it reads the body itself, so that the limit holds for chunked bodies too, and spends nothing on what one
endpoint does not need. A request that arrived whole comes straight from its connection (:mod:`headway.server.ingest.connection`),
without a task, and is answered from the store's completion.

It answers 200 only once the report is persisted, and every error as a Kubernetes ``Status``; bad input is never an internal
error. The content type is not looked at: Kubeflow's clients, and ``curl -d``, differ in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from litestar.types import HTTPScope, Receive, Send

from headway.errors import (
    ForbiddenError,
    HeadwayError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)
from headway.hub.persist import Heard, waited_for
from headway.protocol.job import JobKey
from headway.protocol.limits import (
    HEADER_AGE,
    HEADER_ATTEMPT,
    HEADER_RUN,
    HEADER_SEQ,
    MAX_BODY_BYTES,
)
from headway.protocol.problem import Reason, status_object
from headway.protocol.report import Envelope
from headway.protocol.wire import encode_answer
from headway.server.answers import JSON, retry_after
from headway.server.answers import problem as problem_of
from headway.server.context import Context
from headway.server.ingest.reading import read_report
from headway.server.ingest.request import key_of_path, read_envelope

_log = logging.getLogger("headway.server")

_DRAIN_BYTES: Final = 1024 * 1024
"""How much of a body that is too large is read and dropped, so that the client hears the answer instead of a reset."""

_NO_ENVELOPE: Final = Envelope()
_AUTHORIZATION: Final = b"authorization"
_ENVELOPE: Final = {name.encode(): name for name in (HEADER_AGE, HEADER_ATTEMPT, HEADER_RUN, HEADER_SEQ)}
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
NO_MORE_HEADERS: Final[Headers] = ()
HEADERS: Final = (
    (b"content-type", JSON.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)

_encode: Final = msgspec.json.Encoder().encode
_ONLY_POST: Final = _encode(status_object(Reason.METHOD_NOT_ALLOWED, "reports are sent here with POST"))


class Admitted(NamedTuple):
    """Who may report, before the body is looked at."""

    key: JobKey
    create: bool
    """Whether the job may be created."""
    envelope: Envelope


Say: TypeAlias = Callable[[int, bytes, Headers], None]
"""Takes the answer to a request: status code, body, and what headers it has besides :data:`HEADERS`."""


class StatusEndpoint:
    """``POST …/trainjobs/{name}/status``: as an ASGI application, and for a connection that has a whole request at hand."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["method"] != "POST":
            await _send(send, 405, _ONLY_POST, [(b"allow", b"POST")])
            return
        try:
            admitted = self._admit(scope["raw_path"], list(scope["headers"]))
            declared = next((value for name, value in scope["headers"] if name == b"content-length"), None)
            content = await self._read(receive, declared)
            if content is None:
                return
            future, heard = waited_for()
            body = self._take(admitted, content, heard)
            await future
            code, extra = 200, NO_MORE_HEADERS
        except Exception as error:  # noqa: BLE001 - the boundary: the client hears an answer, the log hears why
            code, body, extra = self._sorry(error)
        self._context.counters.reports[code] += 1
        await _send(send, code, body, extra)

    def answer(self, raw_path: bytes, headers: Headers, content: bytes, say: Say) -> None:
        """Answers one POST whose body is at hand; ``say`` hears the answer, sooner or later."""
        counters = self._context.counters
        body: bytes | None = None

        def heard(failed: UnavailableError | None) -> None:
            if body is None:  # it was kept, but what to say of it could not be put together: that was said
                return
            code, said, extra = (200, body, NO_MORE_HEADERS) if failed is None else self._sorry(failed)
            counters.reports[code] += 1
            say(code, said, extra)

        try:
            body = self._take(self._admit(raw_path, headers), content, heard)
        except Exception as error:  # noqa: BLE001 - as above
            code, said, extra = self._sorry(error)
            counters.reports[code] += 1
            say(code, said, extra)

    def _sorry(self, error: Exception) -> tuple[int, bytes, Headers]:
        if not isinstance(error, HeadwayError):
            _log.error("internal error at the status endpoint", exc_info=error)
            problem = status_object(Reason.INTERNAL, "an internal error; the server's log says more")
            return 500, _encode(problem), NO_MORE_HEADERS
        code, body, wait = problem_of(error)
        self._context.counters.refused += code == Reason.FORBIDDEN.code
        extra: list[tuple[bytes, bytes]] = []
        if wait is not None:
            extra.append((b"retry-after", retry_after(wait).encode()))
        if isinstance(error, TooLargeError):
            extra.append((b"connection", b"close"))
        return code, body, extra

    def _admit(self, raw_path: bytes, headers: Headers) -> Admitted:
        key = key_of_path(raw_path)
        token = None
        handed_on: dict[str, bytes] = {}
        for name, value in headers:
            if name == _AUTHORIZATION:
                token = value
            elif name in _ENVELOPE:
                handed_on[_ENVELOPE[name]] = value
        create = self._authorise(token, key)
        context = self._context
        if (seconds := context.limiter.wait(key)) > 0.0:
            raise RateLimitedError(
                f"more than {context.settings.reports_per_second:g} reports a second", retry_after=seconds
            )
        return Admitted(key, create, read_envelope(handed_on) if handed_on else _NO_ENVELOPE)

    def _take(self, admitted: Admitted, content: bytes, heard: Heard) -> bytes:
        """The body of the answer, which may be given once ``heard`` is told that the report is persisted."""
        key, create, envelope = admitted
        report = read_report(content)
        if report.headway is not None and report.headway.world_size > 1:
            self._context.limiter.note_ranks(key, report.headway.world_size)
        return _encode(encode_answer(self._context.hub.take(key, report, heard, envelope, create=create)))

    def _authorise(self, header: bytes | None, key: JobKey) -> bool:
        """Whether the job may be created: the user's token may, a job's own token opens one that is there."""
        if header is None:
            raise ForbiddenError("no token; give the job's own as `Authorization: Bearer …`")
        if header[:7].lower() != b"bearer ":
            raise ForbiddenError("expected `Authorization: Bearer …`")
        token = header[7:].strip().decode("latin-1")
        keyring = self._context.keyring
        if keyring.opens_job(token, key):
            return False
        if keyring.is_user(token):
            return True
        raise ForbiddenError(f"the token does not open job {key}")

    async def _read(self, receive: Receive, declared: bytes | None) -> bytes | None:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        body: bytes = message.get("body", b"")
        if not message.get("more_body", False) and len(body) <= MAX_BODY_BYTES:
            return body
        if declared is not None and declared.isdigit() and int(declared[:12]) > _DRAIN_BYTES:
            raise _too_large()
        try:
            async with asyncio.timeout(self._context.settings.body_seconds):
                return await _read_rest(receive, bytearray(body), more=message.get("more_body", False))
        except TimeoutError:
            raise TooLargeError(
                f"the body took longer than {self._context.settings.body_seconds:g} s to arrive"
            ) from None


async def _send(send: Send, code: int, body: bytes, extra: Headers) -> None:
    headers = [(b"content-length", str(len(body)).encode()), *HEADERS, *extra]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _read_rest(receive: Receive, body: bytearray, *, more: bool) -> bytes | None:
    size = len(body)
    while more and size <= _DRAIN_BYTES:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= MAX_BODY_BYTES:
            body += part
        more = message.get("more_body", False)
    if size > MAX_BODY_BYTES:
        raise _too_large()
    return bytes(body)


def _too_large() -> TooLargeError:
    return TooLargeError(f"the body is larger than {MAX_BODY_BYTES} bytes; send less at once")
