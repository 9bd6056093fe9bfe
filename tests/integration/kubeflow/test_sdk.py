"""Jobs submitted with the Kubeflow SDK, as from a notebook: a real CustomTrainer in the SDK's own local process backend."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway import Client, until
from headway.client import kubeflow
from headway.errors import SettingsError
from headway.hub.hub import HubSettings
from headway.protocol.action import CarriedOut
from headway.protocol.job import Job, State
from headway.testing.live import LiveServer, live_server


def train() -> None:
    """What a notebook's cell would hold: its source is all that the SDK hands on."""
    import time

    import headway

    with headway.track(total_steps=2000, config={"lr": 2e-5}) as run:
        for step in range(1, 2001):
            run.step(loss=1 / step)
            time.sleep(0.02)
            if run.should_checkpoint:
                run.checkpointed(step)
            if run.should_stop:
                break


def train_and_post() -> None:
    """A stock client: the SDK's own helper's request, which needs nothing but the standard library."""
    import json
    import os
    import pathlib
    import urllib.request

    token = pathlib.Path(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read_text()
    for step in (1, 2):
        metrics = [{"name": "current_step", "value": str(step)}, {"name": "total_steps", "value": "2"}]
        status = {"progressPercentage": 50 * step, "metrics": metrics, "lastUpdatedTime": "2026-01-01T00:00:00Z"}
        request = urllib.request.Request(
            os.environ["KUBEFLOW_TRAINER_SERVER_URL"],
            json.dumps({"trainerStatus": status}).encode(),
            {"Authorization": "Bearer " + token, "Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=10).close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    """A server that the notebook's environment names."""
    with live_server(tmp_path / "server", hub=HubSettings(report_interval=0.2)) as running:
        monkeypatch.setenv("HEADWAY_URL", running.url)
        monkeypatch.setenv("HEADWAY_TOKEN", running.token)
        yield running


@pytest.fixture
def submit(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Submits a function to the SDK's local process backend; it makes a fresh virtual environment for it."""
    trainer = pytest.importorskip("kubeflow.trainer", reason="needs the Kubeflow SDK")
    options = pytest.importorskip("kubeflow.trainer.options")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    client = trainer.TrainerClient(trainer.LocalProcessBackendConfig())

    def submit(func: Any, name: str) -> Any:
        runtime = client.get_runtime("torch-distributed")
        runtime.trainer.framework = "python"  # the SDK starts torchrun otherwise, and installs PyTorch first
        custom = trainer.CustomTrainer(func=func, env=kubeflow.environment(name))
        assert client.train(runtime=runtime, trainer=custom, options=[options.Name(name)]) == name
        return client

    return submit


@pytest.mark.frameworks
def test_a_notebook_follows_what_it_submitted(submit: Any) -> None:
    client = submit(train, "fraud-ft")
    assert kubeflow.progress("fraud-ft").state in (State.CREATED, State.RUNNING)
    seen: list[Job] = []
    job = kubeflow.wait("fraud-ft", until.step(20), timeout=90, on_update=seen.append)
    assert (job.state, job.config, job.progress.total_steps) == (State.RUNNING, {"lr": 2e-5}, 2000)
    assert seen[-1].metrics["loss"] <= 1.0
    assert kubeflow.progress(client.get_job("fraud-ft")).progress.percent is not None
    kubeflow.stop("fraud-ft", save=True, reason="seen enough")
    job = kubeflow.wait("fraud-ft", timeout=60)
    assert (job.state, job.actions[-1].carried_out) == (State.STOPPED, CarriedOut.DIRECTIVE)
    assert job.checkpoint is not None
    done = client.wait_for_job_status("fraud-ft", {"Complete", "Failed"}, timeout=60, polling_interval=1)
    assert done.status == "Complete", list(client.get_job_logs("fraud-ft"))


@pytest.mark.frameworks
def test_a_stock_client_in_it_reports_as_well(submit: Any) -> None:
    client = submit(train_and_post, "stock")
    done = client.wait_for_job_status("stock", {"Complete", "Failed"}, timeout=90, polling_interval=1)
    assert done.status == "Complete", list(client.get_job_logs("stock"))
    assert (kubeflow.progress("stock").progress.step, kubeflow.progress("stock").progress.total_steps) == (2, 2)


def test_the_environment_is_all_that_a_bare_interpreter_needs(server: LiveServer) -> None:
    environ = kubeflow.environment("a job/with <odd> names")
    assert server.token not in environ.values(), "the user's token goes to no job"
    assert Path(environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).stat().st_mode & 0o777 == 0o600
    code = "import headway\nwith headway.track(total_steps=1) as run:\n    run.step(loss=0.5)"
    subprocess.run([sys.executable, "-S", "-c", code], env=environ, check=True, timeout=60)
    with Client() as client:
        job = client.job("a job/with <odd> names")
    assert (job.state, job.progress.percent, job.metrics) == (State.COMPLETE, 100, {"loss": 0.5})
    assert kubeflow.environment("another")["PYTHONPATH"] == environ["PYTHONPATH"]
    with pytest.raises(SettingsError, match="no server address"):
        kubeflow.environment("another", url="host.docker.internal:7447")


def test_in_a_container_only_the_address_counts(server: LiveServer) -> None:
    environ = kubeflow.environment("job", url="http://host.docker.internal:4321/")
    assert environ["HEADWAY_URL"] == "http://host.docker.internal:4321"
    assert environ["KUBEFLOW_TRAINER_SERVER_URL"].startswith("http://host.docker.internal:4321/apis/")
    assert not set(environ) & {"PYTHONPATH", "KUBEFLOW_TRAINER_SERVER_TOKEN", "HEADWAY_HOME"}
