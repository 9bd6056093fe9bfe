"""The socket that a server listens on, and the address by which it is reached."""

from __future__ import annotations

import contextlib
import socket

from headway.errors import SettingsError
from headway.server.settings import DEFAULT_PORT


def bind(host: str, port: int | None) -> socket.socket:
    """A socket to listen on.

    Raises:
        SettingsError: the address cannot be had; says why.
    """
    wanted = DEFAULT_PORT if port is None else port
    try:
        return _bind(host, wanted)
    except OSError as error:
        if port is None:
            with contextlib.suppress(OSError):
                return _bind(host, 0)
        raise SettingsError(f"cannot listen on {host} port {wanted}: {error.strerror or error}") from error


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """The base URL by which clients on this host reach a socket."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
