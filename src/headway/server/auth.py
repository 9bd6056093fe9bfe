"""Who may do what: guards over :mod:`headway.server.tokens`, and the ``Host`` check that every request passes.

================  ===========================================================================================
open              nothing is needed: health, the proof, the login itself
job               the job's own token, or the user's
user              the user's token as a bearer, or the cookie of a browser that has logged in
================  ===========================================================================================

A cookie comes along with every request that a browser makes, asked or not. So a request with a cookie must come from this
very origin, and one that changes something must say so in a header that no foreign page can set.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from headway.errors import ForbiddenError
from headway.server.context import Context
from headway.server.endpoint import Access, Endpoint
from headway.server.params import read_key

WRITE_HEADER = "headway-request"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_BEARER = "bearer "
_MAX_HOSTS = 256
_WHENCE = (
    "`headway server token` prints it on the server's machine, HEADWAY_TOKEN or HEADWAY_TOKEN_FILE gives it to commands"
)
_HOW = f"it wants the user's token (`Authorization: Bearer …`): {_WHENCE}; a browser is logged in by `headway ui`"
_OTHER = f"the token is not the user's: {_WHENCE}"


Connection = ASGIConnection[Any, Any, Any, Any]


def guard(connection: Connection, handler: BaseRouteHandler) -> None:
    """Lets a request through to its route, as its :class:`~headway.server.endpoint.Endpoint` says.

    Raises:
        ForbiddenError: it may not pass; says what is missing.
    """
    endpoint: Endpoint | None = handler.opt.get("endpoint")
    access = Access.USER if endpoint is None else endpoint.access
    if access is Access.OPEN:
        return
    context: Context = connection.app.state.context
    try:
        _check(connection, context, access)
    except ForbiddenError:
        context.counters.refused += 1
        raise


def _check(connection: Connection, context: Context, access: Access) -> None:
    if (token := bearer(connection.headers.get("authorization"))) is not None:
        if context.keyring.is_user(token):
            return
        if access is Access.JOB:
            key = read_key(connection.path_params["namespace"], connection.path_params["name"])
            if context.keyring.opens_job(token, key):
                return
            raise ForbiddenError(f"the token is neither the user's nor that of job {key}")
        raise ForbiddenError(_OTHER)
    cookie = connection.cookies.get(cookie_name(connection))
    if cookie is None or not context.keyring.is_session(cookie):
        raise ForbiddenError(_HOW)
    _check_origin(connection)


def _check_origin(connection: Connection) -> None:
    headers = connection.headers
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ForbiddenError("a page of another origin asked for this")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise ForbiddenError("a page of another origin asked for this")
    if connection.scope.get("method") not in _SAFE_METHODS and (origin is None or headers.get(WRITE_HEADER) != "1"):
        raise ForbiddenError("with a cookie, a change needs the headers Origin and `Headway-Request: 1`")


def bearer(header: str | None) -> str | None:
    """The token of an ``Authorization`` header; None when there is no header.

    Raises:
        ForbiddenError: there is one, of another kind.
    """
    if header is None:
        return None
    if header[: len(_BEARER)].lower() != _BEARER:
        raise ForbiddenError("expected `Authorization: Bearer …`")
    return header[len(_BEARER) :].strip()


def cookie_name(connection: Connection) -> str:
    """The session cookie's name: by port, since browsers share cookies among the ports of a host."""
    server = connection.scope.get("server")
    return f"headway-{server[1] if server else 0}"


def host_allowed(header: bytes, allowed: frozenset[str]) -> bool:
    """Whether a ``Host`` header names the loopback interface, or a name that the settings allow."""
    text = header.decode("latin-1").lower()
    name, _, port = text[1:].partition("]") if text.startswith("[") else text.partition(":")
    if not re.fullmatch(r":?[0-9]*", port):
        return False
    if name == "localhost" or name.endswith(".localhost") or name in allowed:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Hosts:
    """The hosts that this server answers for; what was asked once is remembered."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self._allowed = allowed
        self._known: dict[bytes, bool] = {}

    def __contains__(self, header: bytes) -> bool:
        known = self._known.get(header)
        if known is None:
            known = host_allowed(header, self._allowed)
            if len(self._known) < _MAX_HOSTS:
                self._known[header] = known
        return known


def is_local(connection: Connection) -> bool:
    """Whether the other side is on this machine, as far as its address says."""
    client = connection.client
    try:
        return client is not None and ipaddress.ip_address(client.host).is_loopback
    except ValueError:
        return False
