"""What the environment says of reporting, read once in ``headway.track()`` and passed in from there.

A value that cannot be used is told of in ``problems`` and its default taken instead: a typing error in a variable must not
stop a training job.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from headway.protocol.job import JobKey
from headway.reporter.folders import Folders

_FINISH_TIMEOUT: Final = 3.0
_GRACE: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the reporter works. Times are seconds."""

    disabled: bool = False
    """``HEADWAY_DISABLED=1``: with ``1``, every call is a no-op."""
    url: str | None = None
    """``HEADWAY_URL``: base URL of the server or relay to report to."""
    relay_for: str | None = None
    """``HEADWAY_RELAY_FOR``: set by ``headway run``, whose relay ``HEADWAY_URL`` is: base URL of the server behind it; empty for
    this machine's own. Reports that are spooled go there."""
    job: JobKey | None = None
    """``HEADWAY_JOB``: ``namespace/name``, both percent-encoded. Unset: a local job named after the script."""
    token: str | None = field(default=None, repr=False)
    """``HEADWAY_TOKEN``: the bearer token."""
    token_file: Path | None = None
    """``HEADWAY_TOKEN_FILE``, or ``KUBEFLOW_TRAINER_SERVER_TOKEN``: file with the token; read again when that is refused."""
    ca_file: Path | None = None
    """``HEADWAY_CA_FILE``, or ``KUBEFLOW_TRAINER_SERVER_CA_CERT``: file of certificates to trust; unset: the system's."""
    kubeflow_url: str | None = None
    """``KUBEFLOW_TRAINER_SERVER_URL``: full status URL of one TrainJob. Used only without ``HEADWAY_URL``."""
    interval: float | None = None
    """``HEADWAY_INTERVAL``: seconds between reports. Unset: what the server asks for; 1 before its first answer, and 5 for a
    Kubeflow server, which takes five posts a second from all jobs together."""
    stall_floor: float | None = None
    """``HEADWAY_STALL_FLOOR``: seconds without a step below which the run is never Stalled. Unset: 60, or what the server has."""
    stacks: Path | None = None
    """``HEADWAY_STACKS``: the runner's folder for stacks of processes whose interpreter stands still."""
    finish_timeout: float = _FINISH_TIMEOUT
    """``HEADWAY_FINISH_TIMEOUT``: seconds that the end of a run waits at most for the last report; then it is spooled. Short,
    since devices are held meanwhile. Unset: 3."""
    grace: float = _GRACE
    """``HEADWAY_GRACE``: seconds between SIGTERM and SIGKILL, which a loop that listens has to save and end in. ``headway run``
    sets it to its own. Unset: 30, as Kubernetes and torchrun have it."""
    launcher_grace: float | None = None
    """``TORCH_ELASTIC_SHUTDOWN_TIMEOUT``, in a process that torchrun started: seconds after which torchrun kills it once it has
    passed SIGTERM on. Unset: 30."""
    tick: float = 1.0
    """Time between two foldings of steps into a point: fine enough for a chart, coarse enough to cost nothing."""
    request_timeout: float = 5.0
    """Longest wait for a connection, and for an answer."""
    first_backoff: float = 0.5
    """Longest wait after the first failed report: most faults are gone at the second try."""
    last_backoff: float = 10.0
    """Time between all later tries, each run at a place of its own in it: a recovered server hears from every run within this
    time, and never from many of them at once."""
    folders: Folders = field(default_factory=Folders.from_env)
    """Where to look for a local server, and where to spool."""
    problems: tuple[str, ...] = ()
    """What in the environment could not be used, in words."""

    @property
    def destination(self) -> str | None:
        """Base URL of the server that reports are for in the end; None for this machine's own."""
        if self.url is None:
            return base_url(self.kubeflow_url) if self.kubeflow_url else None
        return base_url(self.url) if self.relay_for is None else (base_url(self.relay_for) or None)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """The settings that the environment asks for. Never raises."""
        problems: list[str] = []
        url, job = environ.get("HEADWAY_URL") or None, _job(environ.get("HEADWAY_JOB"), problems)
        token, token_file = environ.get("HEADWAY_TOKEN") or None, _path(environ.get("HEADWAY_TOKEN_FILE"))
        ca_file = _path(environ.get("HEADWAY_CA_FILE"))
        if url and not (token or token_file):
            problems.append("HEADWAY_URL is set but neither HEADWAY_TOKEN nor HEADWAY_TOKEN_FILE: it was not used")
            url = None
        elif url and not _usable(url):
            problems.append(f"HEADWAY_URL {url!r} is not an http:// or https:// URL: it was not used")
            url = None
        kubeflow_url = None
        if url is None:
            kubeflow_url = environ.get("KUBEFLOW_TRAINER_SERVER_URL") or None
            if kubeflow_url and not _usable(kubeflow_url):
                problems.append(f"KUBEFLOW_TRAINER_SERVER_URL {kubeflow_url!r} is not a URL: it was not used")
                kubeflow_url = None
            if kubeflow_url:
                token, token_file = None, _path(environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN"))
                ca_file = _path(environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT"))
        interval = _seconds(environ, "HEADWAY_INTERVAL", problems)
        finish = _seconds(environ, "HEADWAY_FINISH_TIMEOUT", problems)
        grace = _seconds(environ, "HEADWAY_GRACE", problems)
        floor = _seconds(environ, "HEADWAY_STALL_FLOOR", problems)
        return cls(
            disabled=environ.get("HEADWAY_DISABLED", "").strip().lower() in {"1", "true", "yes", "on"},
            url=url,
            relay_for=environ.get("HEADWAY_RELAY_FOR"),
            job=job,
            token=token,
            token_file=token_file,
            ca_file=ca_file,
            kubeflow_url=kubeflow_url,
            interval=None if interval is None else min(max(interval, 0.05), 3600.0),
            stall_floor=floor or None,
            stacks=_path(environ.get("HEADWAY_STACKS")),
            finish_timeout=_FINISH_TIMEOUT if finish is None else finish,
            grace=_GRACE if grace is None else grace,
            launcher_grace=_of_torchrun(environ),
            folders=Folders.from_env(environ),
            problems=tuple(problems),
        )


def _of_torchrun(environ: Mapping[str, str]) -> float | None:
    if "TORCHELASTIC_RUN_ID" not in environ:
        return None
    given = _seconds(environ, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", [])
    return _GRACE if given is None else given


def base_url(url: str) -> str:
    """A server's base URL out of any URL of it that a variable may hold."""
    return url.partition("/apis/")[0].rstrip("/")


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _job(text: str | None, problems: list[str]) -> JobKey | None:
    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        problems.append(f"HEADWAY_JOB {text!r} is not namespace/name, both percent-encoded: it was not used")
        return None
    return JobKey(unquote(namespace), unquote(name))


def _seconds(environ: Mapping[str, str], name: str, problems: list[str]) -> float | None:
    text = environ.get(name)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        problems.append(f"{name} {text!r} is not a number of seconds: its default was used")
        return None
    return value
