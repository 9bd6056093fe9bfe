"""Everything that the API answers: strict JSON of the protocol's documents, and errors as Kubernetes ``Status`` objects."""

from __future__ import annotations

import json
import logging
from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from headway.errors import HeadwayError, InvalidError, RateLimitedError, RetryableError
from headway.protocol.codec import dumps, encode
from headway.protocol.problem import Reason, reason_of, status_object

_log = logging.getLogger("headway.server")

JSON: Final = "application/json"
TEXT: Final = "text/plain"

SECURITY_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
NO_STORE: Final = (b"cache-control", b"no-store")
_BUSY_SECONDS: Final = 1.0
_PATH_SHOWN: Final = 200
"""Characters of a path that leads nowhere."""


def write_json(value: object) -> bytes:
    """A JSON value in bytes, several times as fast as the standard library writes it."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair: JSON has a way to write it, UTF-8 does not
        return json.dumps(value, separators=(",", ":")).encode()


def document(value: object, *, code: int = 200) -> Response[bytes]:
    """A protocol document, or a plain JSON value that holds some, as an answer."""
    return Response(dumps(encode(value)), status_code=code, media_type=JSON)


def plain(text: str | bytes, *, code: int = 200, kind: str = TEXT) -> Response[bytes]:
    """Text as an answer."""
    return Response(text.encode() if isinstance(text, str) else text, status_code=code, media_type=kind)


def problem(error: HeadwayError) -> tuple[int, bytes, float | None]:
    """HTTP status code, body, and seconds for ``Retry-After``, of an error."""
    reason = reason_of(error)
    field = error.field if isinstance(error, InvalidError) else None
    wait = None
    if isinstance(error, RetryableError):
        wait = error.retry_after if error.retry_after is not None else _BUSY_SECONDS
    message = str(error)
    if reason is Reason.INTERNAL:
        _log.error("internal error: %s", message, exc_info=error)
    return reason.code, msgspec.json.encode(status_object(reason, clean(message), field=clean(field))), wait


def clean(text: Any) -> Any:
    """Text without what UTF-8 has no bytes for; everything else as it is."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


def retry_after(seconds: float) -> str:
    """The value of a ``Retry-After`` header: whole seconds, at least one."""
    return str(max(1, int(seconds + 0.999)))


def on_headway_error(_: Request[Any, Any, Any], error: HeadwayError) -> Response[bytes]:
    """Answers with the ``Status`` of one of this package's errors."""
    code, body, wait = problem(error)
    headers = {} if wait is None else {"retry-after": retry_after(wait)}
    if isinstance(error, RateLimitedError) and error.retry_after is not None:
        headers["retry-after"] = retry_after(error.retry_after)
    return Response(body, status_code=code, media_type=JSON, headers=headers)


def on_http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Answers with a ``Status`` where the framework refused the request: no such path or method, body too large."""
    reasons = {reason.code: reason for reason in Reason}
    reason = reasons.get(error.status_code, Reason.BAD_REQUEST if error.status_code < 500 else Reason.INTERNAL)
    if reason is Reason.INTERNAL:
        _log.error("internal error: %s", error.detail, exc_info=error)
    nothing = f"there is nothing at {request.scope['path'][:_PATH_SHOWN]}; see /api/openapi.json"
    message = nothing if reason is Reason.NOT_FOUND else error.detail
    return Response(
        msgspec.json.encode(status_object(reason, message)),
        status_code=reason.code,
        media_type=JSON,
        headers=dict(error.headers or {}),
    )


def on_any_error(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answers 500 without telling the caller what broke; the log has it."""
    _log.error("internal error", exc_info=error)
    body = msgspec.json.encode(status_object(Reason.INTERNAL, "an internal error; the server's log says more"))
    return Response(body, status_code=500, media_type=JSON)
