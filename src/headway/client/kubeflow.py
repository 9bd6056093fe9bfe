"""Jobs that are submitted with the Kubeflow SDK: lets them report to Headway, and follows them by their TrainJob's name.

::

    from headway.client import kubeflow
    from kubeflow.trainer import CustomTrainer, TrainerClient
    from kubeflow.trainer.options import Name

    trainer = CustomTrainer(func=train, env=kubeflow.environment("fraud-ft"))
    TrainerClient(backend).train(runtime=runtime, trainer=trainer, options=[Name("fraud-ft")])
    kubeflow.wait("fraud-ft", on_update=lambda job: print(job.summary))

The processes of the SDK's local process and container backends get the variables of ``CustomTrainer.env`` and no others, so
:func:`environment` is all that they know of Headway. Nothing here imports the SDK.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import headway
from headway.client.client import FINISHED, Client
from headway.client.endpoint import checked
from headway.client.operations import segment, status_path
from headway.client.until import Until
from headway.protocol.job import Job, JobKey
from headway.protocol.limits import LOCAL_NAMESPACE
from headway.reporter.folders import Folders, private_folder


class Named(Protocol):
    """What has a name, as a ``kubeflow.trainer`` TrainJob does."""

    @property
    def name(self) -> str:
        """The TrainJob's name."""


def environment(
    name: str,
    *,
    namespace: str = LOCAL_NAMESPACE,
    url: str | None = None,
    client: Client | None = None,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The variables that make a job's processes report, for ``CustomTrainer(env=…)``; also makes the job known.

    Both Headway's reporter and clients of Kubeflow's status protocol (Transformers' callback, ``update_trainjob_status``) read
    them. They hold a token that opens this one job.

    Args:
        name: the TrainJob's name, the one given to the SDK with ``options=[Name(name)]``.
        namespace: the job's namespace in Headway.
        url: where the processes reach the server, if they are on another machine or in a container; files of this machine,
            among them this very package, are then left out: have ``headway`` in the image or in ``packages_to_install``.
        client: of which server; None: as ``Client()`` finds it.
        environ: the environment that is meant.

    Raises:
        SettingsError: ``url`` is no HTTP address.
        UnavailableError: the server cannot be reached.
    """
    given = None if url is None else checked(url)
    with _client(client) as server:
        key = JobKey(namespace, name)
        token = server.token(name, namespace=namespace)
        base = given or server.url
    variables = {
        "HEADWAY_URL": base,
        "HEADWAY_TOKEN": token,
        "HEADWAY_JOB": f"{segment(namespace)}/{segment(name)}",
        "KUBEFLOW_TRAINER_SERVER_URL": base + status_path(key),
    }
    if url is None:
        folders = Folders.from_env(environ)
        variables["KUBEFLOW_TRAINER_SERVER_TOKEN"] = str(_token_file(folders, key, token))
        variables["PYTHONPATH"] = str(_package(folders))
        if home := environ.get("HEADWAY_HOME"):
            variables["HEADWAY_HOME"] = home
    return variables


def progress(job: str | Named, *, namespace: str = LOCAL_NAMESPACE, client: Client | None = None) -> Job:
    """The job as it is: ``progress.percent``, ``eta``, ``verdict``, ``metrics`` and the rest.

    Raises:
        NotFoundError: no such job.
    """
    with _client(client) as server:
        return server.job(_name(job), namespace=namespace)


def wait(
    job: str | Named,
    until: Until = FINISHED,
    *,
    namespace: str = LOCAL_NAMESPACE,
    timeout: float | None = None,
    on_update: Callable[[Job], object] | None = None,
    client: Client | None = None,
) -> Job:
    """Waits as :meth:`headway.Client.wait` does."""
    with _client(client) as server:
        return server.wait(_name(job), until, namespace=namespace, timeout=timeout, on_update=on_update)


def stop(
    job: str | Named,
    *,
    namespace: str = LOCAL_NAMESPACE,
    save: bool = False,
    reason: str = "",
    client: Client | None = None,
) -> Job:
    """Asks the run to end, after a checkpoint with ``save``. Nobody forces it: that is ``TrainerClient.delete_job``.

    Raises:
        ConflictError: the job has ended, or its client hears no requests (Transformers' own callback).
    """
    with _client(client) as server:
        return server.stop(_name(job), namespace=namespace, save=save, reason=reason)


def _name(job: str | Named) -> str:
    return job if isinstance(job, str) else job.name


@contextmanager
def _client(client: Client | None) -> Generator[Client, None, None]:
    if client is not None:
        yield client
        return
    with Client() as own:
        yield own


def _token_file(folders: Folders, key: JobKey, token: str) -> Path:
    """Clients of Kubeflow's protocol read their token from a file."""
    path = private_folder(folders.runtime / "jobs") / f"{quote(str(key), safe='')[:200]}.token"
    path.touch(mode=0o600)
    path.write_text(token, encoding="utf-8")
    return path


def _package(folders: Folders) -> Path:
    """A folder with this package and nothing else, for interpreters that lack it: it needs no other."""
    folder = private_folder(folders.runtime / "python")
    link, target = folder / "headway", Path(headway.__file__).parent
    if not link.is_symlink() or link.readlink() != target:
        fresh = folder / f"headway-{os.getpid()}"
        with suppress(FileNotFoundError):
            fresh.unlink()
        fresh.symlink_to(target)
        fresh.replace(link)
    return folder
