"""The environment of a tracked command: what its processes find their relay by, and what they must not inherit.

A runner reads it too: one that runs within another sees that the job is tracked already.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit

from headway.adapters import auto
from headway.protocol.job import JobKey
from headway.reporter.settings import Settings
from headway.reporter.voice import TRAINING_VARIABLE

GRACE: Final = 30.0
"""Seconds that processes get between SIGTERM and SIGKILL, unless whoever stops them says otherwise."""
RUNNER_VARIABLE: Final = "HEADWAY_RUNNER"
"""Tells a runner within a runner that the job is tracked already."""
RELAY_VARIABLE: Final = "HEADWAY_RELAY_FOR"
"""Tells a process that outlives the relay for whom its reports are."""

_TORCHRUN_GRACE: Final = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
_STALE: Final = ("HEADWAY_TOKEN_FILE", "HEADWAY_CA_FILE", "KUBEFLOW_TRAINER_SERVER_CA_CERT", TRAINING_VARIABLE)
"""Variables that would be wrong together with the relay's, or for a job of its own."""
_OWN: Final = (
    *("HEADWAY_URL", "HEADWAY_TOKEN", "HEADWAY_JOB", "HEADWAY_ATTEMPT", RUNNER_VARIABLE, RELAY_VARIABLE),
    *("KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_TOKEN"),
)
"""Variables that a runner sets, and that say nothing once it is gone."""


def for_processes(environ: Mapping[str, str], own: Mapping[str, str], stall_floor: float | None) -> dict[str, str]:
    """The environment for the processes of an attempt.

    Args:
        environ: what the runner was started with.
        own: what the runner says to them: where the relay is, and who they are.
        stall_floor: seconds without a step below which they are never Stalled; None: as the server has it.

    Raises:
        SettingsError: a variable of Headway's cannot be used; names it.
    """
    result = {name: value for name, value in environ.items() if name not in _STALE}
    result.update(own)
    result.setdefault("HEADWAY_GRACE", f"{GRACE:g}")
    # torchrun passes SIGTERM on, and kills whoever has not ended after this many seconds.
    if (grace := Settings.from_env(result).grace) >= 1:
        result.setdefault(_TORCHRUN_GRACE, f"{grace:.0f}")
    if stall_floor is not None:
        result["HEADWAY_STALL_FLOOR"] = f"{stall_floor:g}"
    _reach_without_proxy(result)
    if auto.wanted(result):
        auto.inject(result)
    return result


def job_variable(key: JobKey) -> str:
    """The value of HEADWAY_JOB for a job."""
    return f"{quote(key.namespace, safe='')}/{quote(key.name, safe='')}"


def _reach_without_proxy(environ: dict[str, str]) -> None:
    """Makes sure that a proxy named in the environment is not asked for the relay's address."""
    if not any(environ.get(name) for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")):
        return
    names = ("no_proxy", "NO_PROXY")
    known = {name: environ.get(name) or environ.get(other, "") for name, other in (names, names[::-1])}
    for name, value in known.items():
        hosts = [host.strip() for host in value.split(",") if host.strip()]
        if "*" not in hosts and "127.0.0.1" not in hosts:
            hosts.append("127.0.0.1")
        environ[name] = ",".join(hosts)


def tracked_already(environ: Mapping[str, str]) -> bool:
    """Whether a runner around this one tracks the job, and is alive."""
    return RUNNER_VARIABLE in environ and _relay_answers(environ)


def without_runner(environ: Mapping[str, str]) -> Mapping[str, str]:
    """An environment without what a runner that is gone has left in it."""
    if RUNNER_VARIABLE not in environ:
        return environ
    return {name: value for name, value in environ.items() if name not in _OWN}


def _relay_answers(environ: Mapping[str, str]) -> bool:
    try:
        address = urlsplit(environ.get("HEADWAY_URL", ""))
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=1.0)
    except ValueError:
        return False
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
