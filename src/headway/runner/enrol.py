"""Before the command starts: finds or starts the server, and makes the job known to it."""

from __future__ import annotations

import getpass
import shlex
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from headway.client.client import Client
from headway.client.endpoint import from_env
from headway.client.local_server import ensure_server, missing_extra, stop_mark
from headway.errors import ConflictError, HeadwayError
from headway.protocol.job import JobKey, JobQuery, Spec
from headway.protocol.lifecycle import Registered, Registration
from headway.reporter.folders import Folders
from headway.reporter.settings import base_url
from headway.runner.names import attempt_id, next_name, slurm_name, stem_of
from headway.runner.request import RunRequest

_TIMEOUT: Final = 4.0
"""Seconds for one exchange: the start of training waits for the first ones."""
_CONFLICT_SECONDS: Final = 10.0
"""How long a name that seems taken is asked for: its runner may just have been killed, and not yet be missed."""


class Connector:
    """Where this runner's server is, and how it is brought back.

    Args:
        environ: names the server; where it names none, it is the one of this machine.
        folders: of this machine's server.
    """

    def __init__(self, request: RunRequest, folders: Folders) -> None:
        self._environ = request.environ
        self._folders = folders
        self.local = from_env(request.environ) is None
        self.named = None if self.local else base_url(request.environ["HEADWAY_URL"])
        """Base URL of the server that the environment names; None: this machine's."""
        self._had = False

    def client(self) -> Client:
        """A client of the server, which is started where it is this machine's and does not run.

        Raises:
            HeadwayError: there is none; says why.
        """
        if not self.local:
            return Client(timeout=_TIMEOUT, environ=self._environ)
        if not self._had:
            ensure_server(self._folders, environ=self._environ)
        client = Client(folders=self._folders, timeout=_TIMEOUT, environ=self._environ)
        self._had = True
        return client

    def revive(self) -> None:
        """Starts this machine's server again if it has died, but not if it was stopped.

        Raises:
            HeadwayError: it cannot be started.
        """
        if self.local and self._had and missing_extra() is None and not stop_mark(self._folders).exists():
            ensure_server(self._folders, environ=self._environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """What the job is called, and whether the server knows it already."""

    key: JobKey
    registration: Registration
    client: Client | None = None
    registered: Registered | None = None
    problem: HeadwayError | None = None
    """Why it is not registered yet."""


def enrol(
    request: RunRequest, runner: str, connector: Connector, folders: Folders, say: Callable[[str], None]
) -> Enrolment:
    """Registers the job's first attempt of this runner, or says why that has to wait.

    Raises:
        ConflictError: another runner that is alive has the name that the user asked for.
    """
    stem = stem_of(request.command)
    fixed = request.name or slurm_name(stem, request.environ)
    registration = Registration(
        spec=_spec(request),
        tags=request.tags,
        host=socket.gethostname(),
        runner=runner,
        attempt=attempt_id(runner, 1, request.environ),
    )
    lonely = JobKey(request.namespace, fixed or f"{stem}-{runner[-6:].lower()}")
    client: Client | None = None
    try:
        client = connector.client()
        name = fixed or next_name(stem, _taken(client, request.namespace, stem))
        end = time.monotonic() + _CONFLICT_SECONDS
        while True:
            key = JobKey(request.namespace, name)
            registration = replace(registration, log=str(log_path(folders, key, runner)))
            try:
                registered = client.register(key, registration)
            except ConflictError:
                if fixed is None:
                    name = next_name(stem, [*_taken(client, request.namespace, stem), name])
                    continue
                if time.monotonic() >= end:
                    raise
                say(f"{key} seems to be running already; waiting a moment in case its runner has died")
                time.sleep(0.5)
            else:
                return Enrolment(key=key, registration=registration, client=client, registered=registered)
    except HeadwayError as error:
        if isinstance(error, ConflictError) and request.name is not None:
            if client is not None:
                client.close()
            raise ConflictError(
                f"{error}; give this run another --name, or end that one with `headway stop {shlex.quote(request.name)}`"
            ) from error
        registration = replace(registration, log=str(log_path(folders, lonely, runner)))
        return Enrolment(key=lonely, registration=registration, client=client, problem=error)


def _taken(client: Client, namespace: str, stem: str) -> list[str]:
    query = JobQuery(namespaces=frozenset({namespace}), text=stem, sort="name", limit=1000)
    return [job.name for job in client.iter_jobs(query)]


def log_path(folders: Folders, key: JobKey, runner: str) -> Path:
    """Where the log of a job lies, for one runner."""
    name = quote(key.name, safe="")[:80].lstrip(".") or "job"
    return folders.logs / f"{name}-{runner[-8:].lower()}.log"


def _spec(request: RunRequest) -> Spec:
    nodes, per_node = 1, request.devices
    told = request.environ.get("SLURM_NNODES", "") if request.nodes is None else str(request.nodes)
    if told.isdecimal() and int(told) > 0 and (per_node is None or per_node % int(told) == 0):
        nodes = int(told)
        per_node = None if per_node is None else per_node // nodes
    try:
        owner = getpass.getuser()
    except (KeyError, OSError):
        owner = None  # a container's user may have no name
    return Spec(
        nodes=nodes,
        devices_per_node=per_node,
        device_type=request.device_type,
        price_per_hour=request.price_per_hour,
        command=request.command,
        owner=owner,
        stall_floor=request.stall_floor,
    )
