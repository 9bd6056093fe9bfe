"""The addresses that the server of a state folder has had: by these it knows spooled reports that were meant for it.

A report that was to go to ``HEADWAY_URL`` names that URL in its spool file. The port may be another after a restart, so all that
there were are kept, the newest last.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headway.reporter.folders import private_folder

_log = logging.getLogger("headway.server")

_MOST: Final = 1000
_PORTS: Final = {"http": 80, "https": 443}


class Addresses:
    """A set of base URLs, kept in a file.

    Args:
        path: the file; need not exist.
        names: names that the server is also reached by, on any port (behind a proxy).
    """

    def __init__(self, path: Path, names: frozenset[str] = frozenset()) -> None:
        self._path = path
        self._names = names
        self._machine = socket.gethostname().lower()
        try:
            self._urls = path.read_text(encoding="utf-8").split()
        except (OSError, ValueError):
            self._urls = []

    def add(self, url: str) -> None:
        """Notes the newest one. A file that cannot be written is told of, and the set then lasts as long as this process."""
        self._urls = [*(each for each in self._urls if each != url), url][-_MOST:]
        try:
            private_folder(self._path.parent)
            temporary = self._path.with_name(f".{self._path.name}.new")
            temporary.write_text("".join(f"{each}\n" for each in self._urls), encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:
            _log.warning("the server's address cannot be noted: %s", error)

    def __contains__(self, url: object) -> bool:
        """Whether a base URL is one of them, under any name of this machine."""
        wanted = _place(str(url))
        if wanted is None:
            return False
        return wanted[0] in self._names or self._alike(wanted) in map(self._alike, map(_place, self._urls))

    def _alike(self, place: tuple[str, int] | None) -> tuple[str, int] | None:
        """All names of this machine are one."""
        return place if place is None or not self._here(place[0]) else (self._machine, place[1])

    def _here(self, host: str) -> bool:
        if host == "localhost" or host.endswith(".localhost") or host == self._machine:
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def _place(url: str) -> tuple[str, int] | None:
    """Host and port; None where it is no base URL."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (host, port) if host and port is not None and parts.path in ("", "/") else None
