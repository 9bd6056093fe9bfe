"""Where Headway keeps its files on this machine, by the XDG base directory rules.

``HEADWAY_HOME`` moves both folders. The runtime folder is per user and per host, since a home directory may be shared by many.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folders:
    """The two folders that everything lies in; neither need exist yet."""

    state: Path
    """Kept: the store, logs of jobs, spooled reports."""
    runtime: Path
    """Gone after a reboot: the address and token of the server on this host."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Folders:
        """The folders that the environment asks for."""
        if home := environ.get("HEADWAY_HOME"):
            root = Path(home).expanduser().absolute()
            return cls(root / "state", root / "run" / host_slug())
        state = Path(environ.get("XDG_STATE_HOME") or Path(environ.get("HOME") or "~", ".local", "state")).expanduser()
        runtime = environ.get("XDG_RUNTIME_DIR")
        return cls(state / "headway", Path(runtime) / "headway" if runtime else state / "headway" / "run" / host_slug())

    @property
    def store(self) -> Path:
        """Where the server keeps its database."""
        return self.state / "store"

    @property
    def spool(self) -> Path:
        """Where reports wait that no server has taken."""
        return self.state / "spool"

    @property
    def addresses(self) -> Path:
        """Where the server notes the addresses that it has had."""
        return self.state / "addresses"

    @property
    def logs(self) -> Path:
        """Where ``headway run`` keeps the logs of jobs."""
        return self.state / "logs"

    @property
    def server_record(self) -> Path:
        """The file by which a server on this host is found."""
        return self.runtime / "server.json"


def private_folder(path: Path) -> Path:
    """Makes a folder that only its owner can enter, with its parents, and returns it."""
    for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)  # mkdir(parents=True) would open the parents to all
    return path


def host_slug() -> str:
    """This host's name, fit for a file name."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()) or "localhost"
