"""The settings of a server process, each part by its own concern; read once, by whoever starts the server, and passed in."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import SettingsError
from headway.hub.settings import HubSettings
from headway.reporter.folders import Folders
from headway.server.settings import ServerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a server process."""

    folders: Folders
    """Where everything lies; see :mod:`headway.reporter.folders`."""
    host: str = "127.0.0.1"
    """Address to listen on. The default can be reached from this machine only. Env: ``HEADWAY_SERVER_HOST``."""
    port: int | None = None
    """Port to listen on; 0 takes a free one. Unset: 7447, or a free one when that is taken. Env: ``HEADWAY_SERVER_PORT``."""
    store: str = "sqlite"
    """``sqlite`` keeps everything in the state folder; ``memory`` forgets at the end. Env: ``HEADWAY_SERVER_STORE``."""
    server: ServerSettings = field(default_factory=ServerSettings)
    """Settings of the HTTP face. ``allowed_hosts`` by env ``HEADWAY_SERVER_ALLOWED_HOSTS``, separated by commas;
    ``open_metrics`` by env ``HEADWAY_SERVER_OPEN_METRICS``, 0 or 1."""
    hub: HubSettings = field(default_factory=HubSettings)
    """Settings of the hub; its spool folder is that of ``folders`` when not set. ``stall_floor`` by env
    ``HEADWAY_STALL_FLOOR``."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """The settings that the environment asks for.

        Raises:
            SettingsError: a variable cannot be used; names it.
        """
        given = cls(folders=Folders.from_env(environ))
        changes: dict[str, object] = {}
        if host := environ.get("HEADWAY_SERVER_HOST"):
            changes["host"] = host
        if port := environ.get("HEADWAY_SERVER_PORT"):
            if not port.isdecimal() or int(port) > 65535:
                raise SettingsError(f"HEADWAY_SERVER_PORT is {port!r}; expected a number from 0 to 65535")
            changes["port"] = int(port)
        if store := environ.get("HEADWAY_SERVER_STORE"):
            if store not in ("sqlite", "memory"):
                raise SettingsError(f"HEADWAY_SERVER_STORE is {store!r}; expected sqlite or memory")
            changes["store"] = store
        if floor := environ.get("HEADWAY_STALL_FLOOR"):
            try:
                changes["hub"] = dataclasses.replace(given.hub, stall_floor=float(floor))
            except ValueError as error:
                raise SettingsError(f"HEADWAY_STALL_FLOOR is {floor!r}; expected a number of seconds") from error
        face: dict[str, object] = {}
        if hosts := environ.get("HEADWAY_SERVER_ALLOWED_HOSTS"):
            face["allowed_hosts"] = frozenset(name.strip().lower() for name in hosts.split(",") if name.strip())
        if metrics := environ.get("HEADWAY_SERVER_OPEN_METRICS"):
            if metrics not in ("0", "1"):
                raise SettingsError(f"HEADWAY_SERVER_OPEN_METRICS is {metrics!r}; expected 0 or 1")
            face["open_metrics"] = metrics == "1"
        changes["server"] = dataclasses.replace(given.server, **face)  # type: ignore[arg-type]
        return dataclasses.replace(given, **changes)  # type: ignore[arg-type]

    @property
    def keys(self) -> Path:
        """The file of the server's keys."""
        return self.folders.state / "keys.json"
