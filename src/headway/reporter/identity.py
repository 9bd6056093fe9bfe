"""Who this process is: its run id, its rank among the processes of an attempt, and which attempt.

Exactly one process of an attempt writes progress: global rank 0. What ``torch.distributed`` or JAX say once they are
initialised wins; before that the launcher's variables. A process that nobody told its rank may hear it later, so its
placement is not ``certain``, and it is asked for again. Neither framework is ever imported from here.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from headway.protocol.job import JobKey

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANKS: Final = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
)
"""Global rank and number of processes, as launchers tell them: torchrun first, for it may run inside the others."""
_LOCAL_RANKS: Final = (
    "LOCAL_RANK",
    "SLURM_LOCALID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
)
_NODE_RANKS: Final = ("GROUP_RANK", "NODE_RANK", "PET_NODE_RANK", "SLURM_NODEID", "JOB_COMPLETION_INDEX")
_LOCAL_SIZES: Final = ("LOCAL_WORLD_SIZE", "PET_NPROC_PER_NODE", "SLURM_NTASKS_PER_NODE", "OMPI_COMM_WORLD_LOCAL_SIZE")
_FRAMEWORKS: Final = (
    ("deepspeed", "deepspeed"),
    ("lightning", "lightning"),
    ("transformers", "transformers"),
    ("torch", "pytorch"),
    ("jax", "jax"),
    ("tensorflow", "tensorflow"),
    ("xgboost", "xgboost"),
    ("lightgbm", "lightgbm"),
)
"""Modules and the frameworks that they tell of, from the outside in."""
_MOST_PER_NODE: Final = 1024
"""Stands in for the number of processes per node where nobody tells it: ranks stay distinct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One process among those of its attempt."""

    rank: int = 0
    world_size: int = 1
    local_rank: int | None = None
    certain: bool = False
    """Somebody who knows said so; otherwise it is a guess that may be corrected."""
    crowd: bool = False
    """There are signs of other processes, though nobody said which one this is."""

    @property
    def writer(self) -> bool:
        """Whether this process writes progress; the others only beat."""
        return self.rank == 0


def new_run_id() -> str:
    """A ULID: 26 characters, sorted by time of creation."""
    value = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


def find_placement(
    environ: Mapping[str, str] = os.environ,
    modules: Mapping[str, Any] = sys.modules,
    told: tuple[int, int] | None = None,
) -> Placement:
    """Rank and world size, as far as they can be known now; ``told`` by an adapter, they are."""
    local = _first(environ, _LOCAL_RANKS)
    if (told := told or _from_torch(modules) or _from_jax(modules)) is not None:
        rank, world = told
        return Placement(rank=rank, world_size=max(world, rank + 1), local_rank=local, certain=True)
    for rank_name, size_name in _RANKS:
        found = _number(environ, rank_name)
        if found is None:
            continue
        world = max(_number(environ, size_name) or 1, found + 1)
        if world > 1 or rank_name == "RANK":
            return Placement(rank=found, world_size=world, local_rank=local, certain=True)
    node = _first(environ, _NODE_RANKS)
    if local is not None or node is not None:
        per_node = _first(environ, _LOCAL_SIZES) or (1 if local is None else _MOST_PER_NODE)
        rank = (node or 0) * per_node + (local or 0)
        world = max(_number(environ, "WORLD_SIZE") or 1, rank + 1)
        # Not rank 0 of its node, or not on the first node: never the writer. Otherwise only a guess.
        return Placement(rank=rank, world_size=world, local_rank=local, certain=rank > 0, crowd=True)
    crowd = (_number(environ, "WORLD_SIZE") or 1) > 1 or "MASTER_ADDR" in environ or _is_child(modules)
    return Placement(crowd=crowd)


def find_attempt(environ: Mapping[str, str], run: str, placement: Placement) -> str:
    """The attempt's id: from the launcher where there is one, for all its processes must say the same; else the run's own."""
    if attempt := environ.get("HEADWAY_ATTEMPT"):
        return attempt
    if (restarts := environ.get("JOBSET_RESTART_ATTEMPT")) is not None:
        return f"jobset-{environ.get('JOBSET_NAME', '')}-{restarts}"
    elastic, restarts = environ.get("TORCHELASTIC_RUN_ID"), environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if elastic and elastic != "none":
        return f"torchelastic-{elastic}-{restarts}"
    if job := environ.get("SLURM_JOB_ID"):
        return f"slurm-{job}-{environ.get('SLURM_RESTART_COUNT', '0')}"
    if elastic:  # torchrun without --rdzv-id: its agent tells one start from the next, where all ranks are its children
        alone = environ.get("LOCAL_WORLD_SIZE") == environ.get("WORLD_SIZE")
        agent = f"{socket.gethostname()}-{os.getppid()}" if alone else environ.get("MASTER_ADDR", "")
        return f"torchelastic-{agent}-{restarts}"
    if namespace := environ.get("PMIX_NAMESPACE"):
        return f"mpi-{namespace}"
    if (
        placement.world_size > 1 or placement.crowd
    ):  # started by hand or by a parent: what the processes of one host have in common
        return f"launch-{socket.gethostname()}-{os.getppid()}"
    return run


def restarts_before(environ: Mapping[str, str]) -> int | None:
    """How often torchrun has started its processes anew, which under ``headway run`` is one attempt; None where nobody counts."""
    return _number(environ, "TORCHELASTIC_RESTART_COUNT")


def find_job(url: str) -> JobKey | None:
    """The job that a Kubeflow status URL belongs to."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url).path.strip("/").split("/")
    if len(parts) >= 5 and parts[-5] == "namespaces" and parts[-3] == "trainjobs" and parts[-1] == "status":
        return JobKey(unquote(parts[-4]), unquote(parts[-2]))
    return None


def local_name(run: str, name: str | None, argv: list[str]) -> str:
    """The name of a local job: as the user said, else the script's with the run id's last six characters."""
    if name:
        return name
    script = os.path.basename(argv[0]) if argv and argv[0] not in ("", "-c", "-m") else ""
    return f"{script.rsplit('.', 1)[0] or 'python'}-{run[-6:].lower()}"


def framework_loaded(modules: Mapping[str, Any] = sys.modules) -> bool:
    """Whether a framework is here that may tell a rank later."""
    return "torch" in modules or "jax" in modules


def framework_guess(modules: Mapping[str, Any] = sys.modules) -> str | None:
    """The framework that the process has loaded; the outermost where it has several."""
    return next((name for module, name in _FRAMEWORKS if module in modules), None)


def _number(environ: Mapping[str, str], name: str) -> int | None:
    try:
        value = int(environ.get(name, ""))
    except ValueError:
        return None
    return value if value >= 0 else None


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((value for name in names if (value := _number(environ, name)) is not None), None)


def _from_torch(modules: Mapping[str, Any]) -> tuple[int, int] | None:
    distributed: ModuleType | None = modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
    except (AttributeError, RuntimeError, ValueError):
        pass  # half imported, or being taken down: ask again later
    return None


def _from_jax(modules: Mapping[str, Any]) -> tuple[int, int] | None:
    jax = modules.get("jax")
    if jax is None:
        return None
    try:
        distributed = modules.get("jax._src.distributed")
        if distributed is not None and distributed.global_state.client is not None:
            return int(distributed.global_state.process_id), int(distributed.global_state.num_processes)
        bridge = modules.get("jax._src.xla_bridge")
        if bridge is not None and not bridge.backends_are_initialized():
            return None  # asking now would start the devices
        world = int(jax.process_count())
        return (int(jax.process_index()), world) if world > 1 else None
    except (AttributeError, RuntimeError, ValueError):
        return None


def _is_child(modules: Mapping[str, Any]) -> bool:
    processes = modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None
