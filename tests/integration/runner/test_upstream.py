"""``headway run`` within a TrainJob: the platform's own status server goes on hearing of the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import State
from headway.testing.servers import ScriptedServer

STOCK = "for step in range(1, 11):\n    report(step, 10)\n    time.sleep(0.02)\n"
OWN = """
import headway, time
with headway.track(total_steps=10) as run:
    for step in range(10):
        run.step(loss=0.5)
        time.sleep(0.02)
"""


@pytest.fixture
def platform() -> Iterator[ScriptedServer]:
    """The status server of the platform."""
    with ScriptedServer(token="the platform's") as server:
        yield server


@pytest.fixture
def given(platform: ScriptedServer, tmp_path: Path) -> dict[str, str]:
    """What the platform puts into the environment of a TrainJob's processes."""
    token = tmp_path / "platform-token"
    token.write_text("the platform's")
    return {
        "KUBEFLOW_TRAINER_SERVER_URL": platform.status_url("team", "train"),
        "KUBEFLOW_TRAINER_SERVER_TOKEN": str(token),
    }


@pytest.mark.parametrize("own", [False, True], ids=["stock", "headway"])
def test_the_platform_hears_the_newest_status_in_its_own_terms(
    launcher: Any, client: Client, platform: ScriptedServer, given: dict[str, str], report: str, own: bool
) -> None:
    code = OWN if own else report + STOCK
    result = launcher.run(launcher.python(code), name="job", environ=given)
    assert (result.returncode, result.stderr.count("status server")) == (0, 0), result.stderr
    bodies = [post.body for post in platform.posts if post.taken]
    assert 1 <= len(bodies) <= 3, "no more often than Kubeflow's own clients post"
    assert all(set(body) == {"trainerStatus"} for body in bodies), "it knows nothing of ours"
    metrics = {each["name"]: each["value"] for each in bodies[-1]["trainerStatus"]["metrics"]}
    assert bodies[-1]["trainerStatus"]["progressPercentage"] == 100
    assert (metrics["current_step"], metrics["total_steps"]) == ("10", "10")
    assert {post.path for post in platform.posts} == {given["KUBEFLOW_TRAINER_SERVER_URL"].removeprefix(platform.url)}
    job = client.job("job")
    assert (job.state, job.progress.step) == (State.COMPLETE, 10)


def test_a_platform_that_does_not_answer_holds_nothing_up(
    launcher: Any, client: Client, platform: ScriptedServer, given: dict[str, str], report: str
) -> None:
    platform.behave("hang")
    code = report + STOCK + "print('ended', flush=True)\n"
    process = launcher.start(launcher.python(code), name="job", environ={**given, "HEADWAY_FINISH_TIMEOUT": "0.5"})
    assert process.stdout.readline() == "ended\n"
    began = time.monotonic()
    assert process.wait(30) == 0
    assert time.monotonic() - began < 5, "the time-out of the request"
    assert client.job("job").progress.step == 10


def test_one_that_refuses_is_said_once(
    launcher: Any, client: Client, platform: ScriptedServer, given: dict[str, str], report: str
) -> None:
    Path(given["KUBEFLOW_TRAINER_SERVER_TOKEN"]).write_text("another")
    result = launcher.run(launcher.python(report + STOCK), name="job", environ=given)
    assert result.returncode == 0
    assert result.stderr.count("the platform's own status server does not take") == 1
    assert client.job("job").progress.step == 10
