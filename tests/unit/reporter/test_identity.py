"""Ranks, attempts and names from what launchers leave in the environment."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headway.protocol.job import JobKey
from headway.reporter.identity import (
    Placement,
    find_attempt,
    find_job,
    find_placement,
    local_name,
    new_run_id,
    restarts_before,
)
from headway.reporter.settings import Settings


@pytest.mark.parametrize(
    ("environ", "rank", "world", "certain"),
    [
        ({}, 0, 1, False),
        ({"RANK": "3", "WORLD_SIZE": "8"}, 3, 8, True),
        ({"RANK": "0", "WORLD_SIZE": "1"}, 0, 1, True),
        ({"RANK": "2", "WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, 2, 4, True),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, 5, 8, True),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, 0, 1, False),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, 1, 2, True),
        ({"PMIX_RANK": "1"}, 1, 2, True),
        ({"LOCAL_RANK": "0"}, 0, 1, False),
        ({"LOCAL_RANK": "2"}, 2, 3, True),
        ({"LOCAL_RANK": "1", "NODE_RANK": "1", "LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "8"}, 5, 8, True),
        ({"JOB_COMPLETION_INDEX": "3"}, 3, 4, True),
        ({"JOB_COMPLETION_INDEX": "0"}, 0, 1, False),
        ({"RANK": "", "WORLD_SIZE": "x"}, 0, 1, False),
        ({"RANK": "-1"}, 0, 1, False),
    ],
)
def test_placement(environ: dict[str, str], rank: int, world: int, certain: bool) -> None:
    found = find_placement(environ, modules={})
    assert (found.rank, found.world_size, found.certain) == (rank, world, certain)
    assert found.writer == (rank == 0)


def test_an_initialised_framework_knows_better_than_the_environment() -> None:
    torch = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 6, get_world_size=lambda: 8
    )
    found = find_placement({"LOCAL_RANK": "2"}, modules={"torch.distributed": torch})
    assert found == Placement(rank=6, world_size=8, local_rank=2, certain=True)
    torch.is_initialized = lambda: False
    assert not find_placement({}, modules={"torch.distributed": torch}).certain


def test_jax_is_never_asked_before_its_devices_are_started() -> None:
    def process_count() -> int:
        raise AssertionError("this would start the devices")

    bridge = SimpleNamespace(backends_are_initialized=lambda: False)
    jax = SimpleNamespace(process_count=process_count)
    assert not find_placement({}, modules={"jax": jax, "jax._src.xla_bridge": bridge}).certain
    state = SimpleNamespace(client=object(), process_id=3, num_processes=4)
    distributed = SimpleNamespace(global_state=state)
    found = find_placement({}, modules={"jax": jax, "jax._src.distributed": distributed})
    assert (found.rank, found.world_size, found.certain) == (3, 4, True)


@pytest.mark.parametrize(
    ("environ", "attempt"),
    [
        ({"HEADWAY_ATTEMPT": "runner-1", "SLURM_JOB_ID": "7", "TORCHELASTIC_RUN_ID": "x"}, "runner-1"),
        ({"JOBSET_NAME": "fraud", "JOBSET_RESTART_ATTEMPT": "2", "TORCHELASTIC_RUN_ID": "x"}, "jobset-fraud-2"),
        ({"TORCHELASTIC_RUN_ID": "abc", "TORCHELASTIC_RESTART_COUNT": "1", "SLURM_JOB_ID": "7"}, "torchelastic-abc-1"),
        ({"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "3"}, "slurm-7-3"),
        ({"SLURM_JOB_ID": "7", "TORCHELASTIC_RUN_ID": "none"}, "slurm-7-0"),
        (
            {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "m", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"},
            "torchelastic-m-0",
        ),
        ({}, "RUN"),
    ],
)
def test_attempt(environ: dict[str, str], attempt: str) -> None:
    assert find_attempt(environ, "RUN", Placement()) == attempt


def test_starts_within_an_attempt_are_torchrun_s() -> None:
    assert restarts_before({}) is None
    assert restarts_before({"TORCHELASTIC_RESTART_COUNT": "2"}) == 2


def test_processes_without_a_launcher_share_what_their_host_tells() -> None:
    first = find_attempt({}, "RUN-A", Placement(rank=0, world_size=2))
    assert first == find_attempt({}, "RUN-B", Placement(rank=1, world_size=2))


def test_run_ids_are_ulids_in_order_of_time() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(len(each) == 26 and each[0] in "01234567" for each in ids)
    assert ids[0][:10] <= ids[-1][:10]


def test_names_of_jobs() -> None:
    assert local_name("0" * 20 + "ABCDEF", None, ["/home/me/train.v2.py"]) == "train.v2-abcdef"
    assert local_name("0" * 20 + "ABCDEF", None, ["-c"]) == "python-abcdef"
    assert local_name("0" * 26, "mine/own", []) == "mine/own"
    url = "https://trainer.svc:10443/apis/trainer.kubeflow.org/v1alpha1/namespaces/a%2Fb/trainjobs/c%20d/status"
    assert find_job(url) == JobKey("a/b", "c d")
    assert find_job("http://127.0.0.1:1/elsewhere") is None


def test_settings_resolve_the_first_address_that_is_complete() -> None:
    kubeflow = {
        "KUBEFLOW_TRAINER_SERVER_URL": "https://k/x",
        "KUBEFLOW_TRAINER_SERVER_TOKEN": "/t",
        "KUBEFLOW_TRAINER_SERVER_CA_CERT": "/c",
    }
    said = Settings.from_env({**kubeflow, "HEADWAY_URL": "http://h:1", "HEADWAY_TOKEN": "s", "HEADWAY_JOB": "a%2Fb/c"})
    assert (said.url, said.kubeflow_url, said.token, said.job) == ("http://h:1", None, "s", JobKey("a/b", "c"))
    assert "'s'" not in repr(said)
    incomplete = Settings.from_env({**kubeflow, "HEADWAY_URL": "http://h:1"})
    assert (incomplete.url, incomplete.kubeflow_url, str(incomplete.token_file), str(incomplete.ca_file)) == (
        None,
        "https://k/x",
        "/t",
        "/c",
    )
    assert len(incomplete.problems) == 1
    bad = Settings.from_env(
        {"HEADWAY_URL": "h:1", "HEADWAY_TOKEN": "s", "HEADWAY_JOB": "nameless", "HEADWAY_INTERVAL": "nan"}
    )
    assert (bad.url, bad.job, bad.interval) == (None, None, None)
    assert len(bad.problems) == 3
    assert Settings.from_env({"HEADWAY_DISABLED": "0"}).disabled is False
    assert Settings.from_env({"HEADWAY_DISABLED": "true"}).disabled is True
