"""Which server a client talks to: the one it was told, the environment's, or the one on this machine."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from headway.errors import SettingsError, UnavailableError
from headway.reporter.discovery import find_server
from headway.reporter.folders import Folders

NO_SERVER = "no Headway server answers on this machine; start one with `headway server start`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Address of a server and the token that opens it."""

    url: str
    token: str | None = None
    ca_file: str | None = None
    local: bool = False
    """Found by its record on this machine: it may come back under another address."""
    secret: str | None = None
    """What a local server must prove to know, on every connection, before a token is sent there."""

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine, so that no proxy has a say."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def ssl_context(self) -> ssl.SSLContext | bool:
        """How the server's certificate is checked.

        Raises:
            SettingsError: HEADWAY_CA_FILE cannot be used.
        """
        if urlsplit(self.url).scheme == "http":
            return False  # nothing to check, and reading the system's certificates takes a while
        if self.ca_file is None:
            return True
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise SettingsError(f"HEADWAY_CA_FILE={self.ca_file} cannot be used: {error}") from error

    def unreachable(self, reason: object) -> UnavailableError:
        """The error for a server that cannot be reached, with what to do about it."""
        if self.local:
            return UnavailableError(NO_SERVER)
        return UnavailableError(f"the Headway server at {self.url} cannot be reached: {reason}")


def from_env(environ: Mapping[str, str] = os.environ) -> Endpoint | None:
    """The server that HEADWAY_URL names; None where it names none.

    Raises:
        SettingsError: HEADWAY_URL is no HTTP address, or HEADWAY_TOKEN_FILE cannot be read.
    """
    url = environ.get("HEADWAY_URL")
    if not url:
        return None
    own = checked(url, "HEADWAY_URL=")
    return Endpoint(url=own, token=token_from_env(environ), ca_file=environ.get("HEADWAY_CA_FILE") or None)


def checked(url: str, said_by: str = "") -> str:
    """The base URL without a slash at its end; ``said_by`` goes before it in a message.

    Raises:
        SettingsError: it is no HTTP address.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, brackets that do not match
        good = False
    if not good:
        raise SettingsError(f"{said_by}{url!r} is no server address; one looks like http://127.0.0.1:4321")
    return url.rstrip("/")


def token_from_env(environ: Mapping[str, str]) -> str | None:
    """HEADWAY_TOKEN, or what HEADWAY_TOKEN_FILE holds.

    Raises:
        SettingsError: the file cannot be read, or is empty.
    """
    if token := environ.get("HEADWAY_TOKEN"):
        return token
    if path := environ.get("HEADWAY_TOKEN_FILE"):
        try:
            token = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"HEADWAY_TOKEN_FILE={path} cannot be read: {reason}") from error
        if not token:
            raise SettingsError(f"HEADWAY_TOKEN_FILE={path} is empty")
        return token
    return None


def resolve(
    url: str | None = None,
    token: str | None = None,
    *,
    folders: Folders | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """The server to talk to: ``url`` if given, else HEADWAY_URL, else the one on this machine.

    Raises:
        SettingsError: an address, token file or server record cannot be used.
        UnavailableError: none was named and none answers here.
    """
    if url is not None:
        own = token if token is not None else token_from_env(environ)
        return Endpoint(url=checked(url), token=own, ca_file=environ.get("HEADWAY_CA_FILE") or None)
    if folders is None and (named := from_env(environ)) is not None:
        return named if token is None else Endpoint(url=named.url, token=token, ca_file=named.ca_file)
    record = find_server((folders or Folders.from_env(environ)).server_record)
    if record is None:
        raise UnavailableError(NO_SERVER)
    return Endpoint(url=record.url, token=token or record.token, local=True, secret=record.token)
