"""Every exception that Headway raises on purpose.

::

    HeadwayError
    ├── RetryableError             the same call may succeed later, unchanged
    │   ├── UnavailableError       the server or its store cannot take it now (503, refused, timed out, disk full)
    │   └── RateLimitedError       too many requests (429); says how long to wait
    ├── InvalidError               the input is wrong; names the field (422)
    │   └── TooLargeError          the body is over the limit (413)
    ├── ForbiddenError             no token, or one that does not open this (403)
    ├── NotFoundError              no such job, attempt or metric (404)
    ├── ConflictError              what was asked does not fit the present state (409)
    ├── WaitError                  what was waited for did not come
    │   ├── WaitTimeoutError       within the time given
    │   └── JobEndedError          before the job's end
    ├── SettingsError              a setting or environment variable cannot be used
    └── StoreError                 the store cannot be opened or read
        ├── StoreLockedError       another server holds the folder
        └── StoreCorruptError      what is on disk cannot be understood

A caller that wants to try again catches :class:`RetryableError`; nothing else is worth repeating. Errors of other
libraries are wrapped at the boundary where they arise. :mod:`headway.protocol.problem` maps each to its wire code.
"""

from __future__ import annotations


class HeadwayError(Exception):
    """Base of all errors of this package."""


class RetryableError(HeadwayError):
    """The same call may succeed later, unchanged."""

    retry_after: float | None = None
    """Seconds to wait before the next try, where the other side said so."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnavailableError(RetryableError):
    """The server, or the store behind it, cannot take the call now."""


class RateLimitedError(RetryableError):
    """Too many requests; ``retry_after`` says how long to wait."""


class InvalidError(HeadwayError):
    """The input is wrong. ``field`` is the path of the offending field, such as ``headway.points[3][1]``."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


class TooLargeError(InvalidError):
    """The body is over the limit."""


class ForbiddenError(HeadwayError):
    """No token, or one that does not open this."""


class NotFoundError(HeadwayError):
    """No such job, attempt or metric."""


class ConflictError(HeadwayError):
    """What was asked does not fit the present state."""


class WaitError(HeadwayError):
    """What was waited for did not come."""


class WaitTimeoutError(WaitError, TimeoutError):
    """What was waited for did not come within the time given."""


class JobEndedError(WaitError):
    """The job ended, and what was waited for had not come."""


class SettingsError(HeadwayError):
    """A setting or environment variable cannot be used; the message names it and what it accepts."""


class StoreError(HeadwayError):
    """The store cannot be opened or read."""


class StoreLockedError(StoreError):
    """Another server holds the folder."""


class StoreCorruptError(StoreError):
    """What is on disk cannot be understood; the message says where, and how to go on."""
