"""Training scripts behind the relay, as they are: two stock clients, curl, and Headway's own reporter."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.client.client import Client
from headway.protocol.job import State
from headway.testing.sockets import black_hole, refused_url

KUBEFLOW = """
from kubeflow.trainer import update_trainjob_status
import kubeflow.trainer.backends.kubernetes.utils as utils

def post(step, total):
    utils._last_update_time = 0.0  # as if five seconds had gone by
    return update_trainjob_status(progress_percent=int(100 * step / total), estimated_remaining_seconds=total - step,
        metrics={"current_step": step, "total_steps": total, "loss": 1 / step})
"""

TRANSFORMERS = """
from transformers.integrations import KubeflowCallback
callback = KubeflowCallback()

def post(step, total):
    return callback._update_status(progress_percent=int(100 * step / total), estimated_time_remaining=total - step,
        metrics={"current_step": step, "total_steps": total, "loss": 1 / step}, force=True)
"""

LOOP = """
import json, sys, time

def loop(call):
    started, worst = time.perf_counter(), 0.0
    for step in range(1, 101):
        time.sleep(0.01)
        before = time.perf_counter()
        assert call(step, 100) is not False
        worst = max(worst, time.perf_counter() - before)
    return time.perf_counter() - started, worst

bare, _ = loop(lambda step, total: None)
tracked, worst = loop(post)
print(json.dumps([bare, tracked, worst]), flush=True)
"""

STOCK = [pytest.param(KUBEFLOW, id="kubeflow-sdk"), pytest.param(TRANSFORMERS, id="transformers")]


def times(process: subprocess.Popen[str]) -> tuple[float, float, float]:
    line = process.stdout.readline() if process.stdout else ""
    assert line, process.stderr.read() if process.stderr else ""
    bare, tracked, worst = json.loads(line)
    return bare, tracked, worst


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("client_code", "fault"),
    [
        pytest.param(KUBEFLOW, "hangs", id="kubeflow-sdk-hangs"),
        pytest.param(KUBEFLOW, "refuses", id="kubeflow-sdk-refuses"),
        pytest.param(TRANSFORMERS, "hangs", id="transformers-hangs"),
    ],
)
def test_a_server_that_does_not_answer_holds_up_no_stock_client_and_no_exit(
    alone: Any, folders: Any, client_code: str, fault: str
) -> None:
    with black_hole() as hole:
        environ = {"HEADWAY_URL": hole if fault == "hangs" else refused_url(), "HEADWAY_TOKEN": "t"}
        environ["HEADWAY_FINISH_TIMEOUT"] = "0.5"
        code = client_code + LOOP + "sys.exit(3)"
        process = alone.start(alone.python(code), name="job", environ=environ)
        _, tracked, worst = times(process)
        ended = time.monotonic()
        assert process.wait(60) == 3
        # Unhindered, a hundred posts take some milliseconds each; one held up by the server takes the client's time-out, 5 s.
        assert worst < 2.5
        assert tracked < 50
        assert time.monotonic() - ended < 10
    (spool,) = folders.spool.glob("*.jsonl")
    lines = spool.read_text().splitlines()
    assert sum('"trainerStatus"' in line for line in lines) == 100


@pytest.mark.frameworks
@pytest.mark.parametrize("client_code", STOCK)
def test_stock_clients_are_tracked_as_they_are(launcher: Any, client: Client, client_code: str) -> None:
    result = launcher.run(launcher.python(client_code + LOOP), name="job")
    assert result.returncode == 0, result.stderr
    job = client.job("job")
    assert (job.state, job.progress.percent, job.progress.step, job.progress.total_steps) == (
        State.COMPLETE,
        100,
        100,
        100,
    )
    assert job.metrics["loss"] == pytest.approx(0.01)
    (series,) = client.series("job", "loss")
    assert [point.step for point in series.points] == list(range(1, 101))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed; get it from your package manager")
def test_a_loop_with_curl_is_tracked(launcher: Any, client: Client, tmp_path: Path) -> None:
    script = tmp_path / "loop.sh"
    script.write_text(
        "set -e\n"
        "for step in 1 2 3 4; do\n"
        '  curl -sS -f -X POST "$KUBEFLOW_TRAINER_SERVER_URL" -H "Content-Type: application/json" \\\n'
        '    -H "Authorization: Bearer $(cat "$KUBEFLOW_TRAINER_SERVER_TOKEN")" \\\n'
        '    -d "{\\"trainerStatus\\": {\\"progressPercentage\\": $((step * 25)), \\"metrics\\": [\n'
        '      {\\"name\\": \\"current_step\\", \\"value\\": \\"$step\\"},\n'
        '      {\\"name\\": \\"total_steps\\", \\"value\\": \\"4\\"}]}}"\n'
        "done\n"
    )
    result = launcher.run(["bash", str(script)])
    assert result.returncode == 0, result.stderr
    job = client.job("loop")
    assert (job.state, job.progress.percent, job.progress.step) == (State.COMPLETE, 100, 4)


TRACKED = """
import headway, sys, time, os
run = headway.track(total_steps=60, config={"lr": 2e-5})
for step in range(1, 61):
    run.step(loss=1 / step, learning_rate=2e-5)
    time.sleep(float(sys.argv[1]))
    if run.should_stop:
        print("asked to stop", flush=True)
        break
"""


def test_headways_own_reporter_reports_through_the_relay(launcher: Any, client: Client) -> None:
    result = launcher.run(launcher.python(TRACKED + "run.finish()", "0.02"), name="job")
    assert result.returncode == 0, result.stderr
    job = client.job("job")
    assert (job.state, job.summary) == (State.COMPLETE, "Complete")
    assert (job.progress.percent, job.progress.step, job.config) == (100, 60, {"lr": 2e-5})
    series = client.series("job", "loss")
    assert sum(point.n for each in series for point in each.points) == 60


def test_headways_own_reporter_hears_a_stop(launcher: Any, client: Client, until: Callable[..., Any]) -> None:
    process = launcher.start(launcher.python(TRACKED + "run.finish()", "0.5"), name="job")
    until(lambda: client.jobs().total and client.job("job").progress.step)
    client.stop("job", notice=30, reason="enough")
    out, _ = process.communicate(timeout=60)
    assert out == "asked to stop\n"
    assert process.returncode == 0
    job = client.job("job")
    assert (job.state, len(job.attempts)) == (State.STOPPED, 1)


def test_headways_own_reporter_tells_why_it_failed(launcher: Any, client: Client) -> None:
    code = "import headway, time\nwith headway.track(total_steps=10) as run:\n    run.step(loss=1.0)\n    raise KeyError('gone')"
    result = launcher.run(launcher.python(code), name="job")
    assert result.returncode == 1
    assert "KeyError: 'gone'" in result.stderr
    job = client.job("job")
    assert (job.state, job.summary) == (State.FAILED, "Failed at 10 %")
    assert job.ending is not None
    assert (job.ending.exception, job.ending.exit_code) == ("KeyError", 1)
    assert "KeyError" in job.ending.log_tail[-1]
