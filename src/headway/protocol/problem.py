"""Errors on the wire: Kubernetes ``Status`` objects, so that any Kubernetes client reads them."""

from __future__ import annotations

from enum import Enum
from typing import Final

from headway.errors import (
    ConflictError,
    ForbiddenError,
    HeadwayError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
    SettingsError,
    StoreError,
    TooLargeError,
    UnavailableError,
)


class Reason(Enum):
    """Reasons of a ``Status``: the HTTP status code and Kubernetes' own word for it."""

    BAD_REQUEST = (400, "BadRequest")
    FORBIDDEN = (403, "Forbidden")
    NOT_FOUND = (404, "NotFound")
    METHOD_NOT_ALLOWED = (405, "MethodNotAllowed")
    CONFLICT = (409, "Conflict")
    TOO_LARGE = (413, "RequestEntityTooLarge")
    INVALID = (422, "Invalid")
    TOO_MANY_REQUESTS = (429, "TooManyRequests")
    INTERNAL = (500, "InternalError")
    UNAVAILABLE = (503, "ServiceUnavailable")

    @property
    def code(self) -> int:
        """HTTP status code."""
        return self.value[0]

    @property
    def word(self) -> str:
        """Kubernetes' name of the reason."""
        return self.value[1]


_REASONS: Final[tuple[tuple[type[HeadwayError], Reason], ...]] = (
    (TooLargeError, Reason.TOO_LARGE),
    (InvalidError, Reason.INVALID),
    (ForbiddenError, Reason.FORBIDDEN),
    (NotFoundError, Reason.NOT_FOUND),
    (ConflictError, Reason.CONFLICT),
    (RateLimitedError, Reason.TOO_MANY_REQUESTS),
    (UnavailableError, Reason.UNAVAILABLE),
    (StoreError, Reason.UNAVAILABLE),
    (SettingsError, Reason.BAD_REQUEST),
)


def reason_of(error: HeadwayError) -> Reason:
    """The wire reason of an error; what has none of its own is an internal error."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), Reason.INTERNAL)


def status_object(reason: Reason, message: str, *, field: str | None = None) -> dict[str, object]:
    """A Kubernetes ``Status`` of kind Failure; ``field`` becomes its cause."""
    status: dict[str, object] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason.word,
        "code": reason.code,
    }
    if field is not None:
        status["details"] = {"causes": [{"reason": "FieldValueInvalid", "message": message, "field": field}]}
    return status


def error_from_status(
    code: int, message: str, *, field: str | None = None, retry_after: float | None = None
) -> HeadwayError:
    """The error that an HTTP status code stands for, on the client's side."""
    match code:
        case 401 | 403:
            return ForbiddenError(message)
        case 404:
            return NotFoundError(message)
        case 409:
            return ConflictError(message)
        case 413:
            return TooLargeError(message)
        case 400 | 422:
            error = InvalidError(message)
            error.field = field
            return error
        case 429:
            return RateLimitedError(message, retry_after=retry_after)
        case 502 | 503 | 504:
            return UnavailableError(message, retry_after=retry_after)
        case _:
            return HeadwayError(f"the server answered {code}: {message}")
