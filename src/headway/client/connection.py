"""What both clients have in common: the server they talk to, headers, and errors of the HTTP library made Headway's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import httpx2

from headway.client import operations
from headway.client.endpoint import resolve
from headway.client.operations import Operation
from headway.client.proof import Demand
from headway.errors import ForbiddenError, HeadwayError, UnavailableError
from headway.reporter.folders import Folders

T = TypeVar("T")


class Connection:
    """One server, wherever on this machine it may move to."""

    def __init__(
        self, url: str | None, token: str | None, folders: Folders | None, timeout: float, environ: Mapping[str, str]
    ) -> None:
        self._given = (url, token, folders, environ)
        self._timeout = timeout
        self._endpoint = resolve(url, token, folders=folders, environ=environ)

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return self._endpoint.url

    def _options(self) -> dict[str, Any]:
        endpoint = self._endpoint
        return {"verify": endpoint.ssl_context(), "timeout": self._timeout, "trust_env": not endpoint.loopback}

    def _headers(self, operation: Operation[T], token: str | None) -> dict[str, str]:
        headers = dict(operation.headers or {})
        if operation.body is not None:
            headers["content-type"] = "application/json"
        bearer = token or self._endpoint.token
        if bearer is not None:
            headers["authorization"] = f"Bearer {bearer}"
        return headers

    def _extensions(self, *, asynchronous: bool) -> dict[str, Any]:
        endpoint = self._endpoint
        if endpoint.secret is None:
            return {}
        demand = Demand(endpoint.url, endpoint.secret, self._timeout)
        return {"trace": demand.in_async if asynchronous else demand.in_sync}

    def _wrapped(self, error: httpx2.RequestError, timeout: float) -> HeadwayError:
        """Headway's own error for one of the HTTP library."""
        if isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
            return self._endpoint.unreachable(error)
        if isinstance(error, httpx2.TimeoutException):
            return UnavailableError(f"the Headway server at {self.url} did not answer within {timeout:g} s")
        reason = str(error) or type(error).__name__
        return UnavailableError(f"the connection to the Headway server at {self.url} broke: {reason}")

    def _refused(self, response: httpx2.Response, body: bytes) -> HeadwayError:
        """The error that an answer other than 2xx stands for; one that refuses says where."""
        error = operations.error_of(response.status_code, body, response.headers.get("retry-after"))
        if isinstance(error, ForbiddenError):
            return ForbiddenError(f"the Headway server at {self.url} refuses: {error}")
        return error

    def _moved(self) -> bool:
        """Looks again where the server is and what opens it; whether that has changed.

        A server of this machine may be back under another address; a token file may have been replaced.
        """
        url, token, folders, environ = self._given
        try:
            found = resolve(url, token, folders=folders, environ=environ)
        except HeadwayError:
            return False  # the caller still has the error that made it look
        if found.local != self._endpoint.local or (not found.local and found.url != self._endpoint.url):
            return False  # the environment now names another server: not the one that this client is for
        moved = found != self._endpoint
        self._endpoint = found
        return moved
