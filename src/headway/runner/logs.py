"""How long logs of commands are kept: the runner writes them on its own machine, so it is the runner that clears them away.

Looked at once by each runner, beside the command. A log that is being written is locked (:mod:`headway.runner.output`) and
stays; so does one that cannot be looked at.
"""

from __future__ import annotations

import fcntl
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.errors import SettingsError

_log = logging.getLogger("headway.runner")

_DAY: Final = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """How much is kept of what commands print."""

    max_age_days: float = 90.0
    """Days after the last line within which a log is kept: three months, as the history in full. ``inf``: for ever.
    Env: ``HEADWAY_LOGS_MAX_DAYS``."""
    max_bytes: float = 2.0 * 2**30
    """Size that all logs of this user on this machine may have together; beyond it the oldest go: 2 GiB, some thousand logs of
    a long run. ``inf``: no bound. Env: ``HEADWAY_LOGS_MAX_BYTES``."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> LogSettings:
        """The settings that the environment asks for.

        Raises:
            SettingsError: a variable cannot be used; names it.
        """
        given = cls()
        return cls(
            max_age_days=_amount(environ, "HEADWAY_LOGS_MAX_DAYS", given.max_age_days),
            max_bytes=_amount(environ, "HEADWAY_LOGS_MAX_BYTES", given.max_bytes),
        )


def _amount(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise SettingsError(f"{name} is {text!r}; expected a number from 0 on, or inf")
    return value


def clear_away_meanwhile(folder: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """As :func:`clear_away`, in a thread of its own; a setting that cannot be used is said, and everything left."""
    try:
        settings = LogSettings.from_env(environ)
    except SettingsError as error:
        say(f"old logs are not cleared away: {error}")
        return
    threading.Thread(target=clear_away, args=(folder, settings), name="headway-logs", daemon=True).start()


def clear_away(folder: Path, settings: LogSettings, now: float | None = None) -> list[Path]:
    """Deletes logs that are too old or, oldest first, too much; answers which. Never raises: what cannot be deleted stays."""
    now = time.time() if now is None else now
    found: list[tuple[float, int, Path]] = []
    try:
        for path in folder.glob("*.log"):
            status = path.lstat()
            found.append((status.st_mtime, status.st_size, path))
    except OSError as error:
        _log.debug("old logs were not looked for: %s", error)
    found.sort(reverse=True)
    kept, gone = 0.0, []
    for written, size, path in found:
        kept += size
        if (now - written > settings.max_age_days * _DAY or kept > settings.max_bytes) and _delete(path):
            kept -= size
            gone.append(path)
    return gone


def _delete(path: Path) -> bool:
    """Deletes a log unless somebody is writing it; whether it did."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)
    except OSError as error:
        _log.debug("the log %s stays: %s", path, error)
        return False
    return True
