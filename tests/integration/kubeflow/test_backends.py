"""The SDK's own ways to start a function: torchrun in its local backend, and what its container backend asks an engine for.

No container engine is needed: what the backend asks of one is carried out by processes that get what a container would get, the
command and the environment, and nothing else.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.client import kubeflow
from headway.protocol.job import State
from headway.testing.live import LiveServer, live_server

pytestmark = pytest.mark.frameworks


def train() -> None:
    """What a notebook's cell would hold."""
    import headway

    with headway.track(total_steps=5) as run:
        for step in range(1, 6):
            run.step(loss=1 / step)


@pytest.fixture
def trainer() -> Any:
    return pytest.importorskip("kubeflow.trainer", reason="needs the Kubeflow SDK")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    """A server that the notebook's environment names."""
    with live_server(tmp_path / "server") as running:
        monkeypatch.setenv("HEADWAY_URL", running.url)
        monkeypatch.setenv("HEADWAY_TOKEN", running.token)
        yield running


def wheel_of_torch(folder: Path) -> Path:
    """A package named torch that brings the command torchrun, and finds the PyTorch that is installed here: no download."""
    version = importlib.metadata.version("torch").partition("+")[0]
    path = folder / f"torch-{version}-py3-none-any.whl"
    about = f"torch-{version}.dist-info"
    files = {
        "outer.pth": sysconfig.get_path("purelib") + "\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\ntorchrun = torch.distributed.run:main\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def test_torchrun_in_the_local_backend(
    trainer: Any, server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="pip install --group frameworks")
    options = pytest.importorskip("kubeflow.trainer.options")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    client = trainer.TrainerClient(trainer.LocalProcessBackendConfig())
    runtime = client.get_runtime("torch-distributed")
    assert runtime.trainer.framework == "torch"
    custom = trainer.CustomTrainer(
        func=train,
        packages_to_install=[f"torch @ {wheel_of_torch(tmp_path).as_uri()}"],
        env=kubeflow.environment("by-torchrun"),
    )
    client.train(runtime=runtime, trainer=custom, options=[options.Name("by-torchrun")])
    done = client.wait_for_job_status("by-torchrun", {"Complete", "Failed"}, timeout=100, polling_interval=1)
    assert done.status == "Complete", "\n".join(client.get_job_logs("by-torchrun"))[-1500:]
    job = kubeflow.wait("by-torchrun", timeout=30)
    assert (job.state, job.progress.percent, job.progress.step) == (State.COMPLETE, 100, 5)
    assert [rank.rank for rank in job.ranks] == [0]
    assert len(job.attempts) == 1


def test_the_container_backend_starts_a_process_that_reports(
    trainer: Any, server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = pytest.importorskip("kubeflow.trainer.backends.container.backend")
    base = pytest.importorskip("kubeflow.trainer.backends.container.adapters.base")
    options = pytest.importorskip("kubeflow.trainer.options")
    types = pytest.importorskip("kubeflow.trainer.types.types")
    image = tmp_path / "image"  # its Python has headway, and its login shell finds it
    image.mkdir()
    (image / ".bash_profile").write_text(f"export PATH={image}:/usr/bin:/bin\n")
    (image / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (image / "python").chmod(0o755)
    started: list[subprocess.Popen[bytes]] = []
    asked: list[dict[str, Any]] = []

    def create_and_start_container(self: Any, **request: Any) -> str:
        asked.append(request)
        environ = {**request["environment"], "HOME": str(image)}
        started.append(subprocess.Popen(request["command"], env=environ, cwd=tmp_path))
        return str(started[-1].pid)

    missing = dict.fromkeys(base.BaseContainerClientAdapter.__abstractmethods__, lambda self, *_, **__: "net")
    engine = type(
        "Engine",
        (base.BaseContainerClientAdapter,),
        {
            **missing,
            "_runtime_type": "docker",
            "create_and_start_container": create_and_start_container,
            "image_exists": lambda self, image: True,
        },
    )
    monkeypatch.setattr(backend.ContainerBackend, "_create_adapter", lambda self: engine())
    monkeypatch.setenv("HOME", str(tmp_path))  # the SDK keeps each job's folder there
    client = trainer.TrainerClient(trainer.ContainerBackendConfig())
    runtime = types.Runtime(
        name="torch-distributed",
        kind=types.RuntimeKind.TRAINING_RUNTIME,
        trainer=types.RuntimeTrainer(
            trainer_type=types.TrainerType.CUSTOM_TRAINER, framework="torch", image="example.org/image"
        ),
    )
    environ = kubeflow.environment("in-a-container", url=server.url)
    client.train(
        runtime=runtime,
        trainer=trainer.CustomTrainer(func=train, env=environ),
        options=[options.Name("in-a-container")],
    )
    (request,) = asked
    assert request["environment"] == environ
    assert set(environ) == {"HEADWAY_URL", "HEADWAY_TOKEN", "HEADWAY_JOB", "KUBEFLOW_TRAINER_SERVER_URL"}
    assert started[0].wait(60) == 0
    job = kubeflow.wait("in-a-container", timeout=30)
    assert (job.state, job.progress.percent, job.progress.step) == (State.COMPLETE, 100, 5)
