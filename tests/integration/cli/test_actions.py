"""A run is steered through the ``headway`` command alone: checkpoint, pause, resume, stop."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LOOP = """
import headway, pathlib, sys, time
saved = pathlib.Path(sys.argv[1])
start = int(saved.read_text()) if saved.exists() else 0
with headway.track(total_steps=100_000, start_step=start) as run:
    for step in range(start + 1, 100_001):
        time.sleep(0.02)
        run.step(loss=1 / step)
        if run.should_checkpoint:
            saved.write_text(str(step))
            run.checkpointed(step, path=saved)
        if run.should_stop:
            break
"""


def test_checkpoint_pause_resume_and_stop(headway: Any, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    runner = headway.start("run", "--name", "steered", "--", sys.executable, "-c", LOOP, str(saved))
    headway.until("steered", lambda job: (job["progress"].get("step") or 0) > 3)
    asked = headway("checkpoint", "steered", "--reason", "maintenance")
    assert asked.returncode == 0, asked.stderr
    assert f"saved at step {saved.read_text()}" in asked.stdout

    paused = headway("pause", "steered")
    assert paused.returncode == 0, paused.stderr
    step = saved.read_text()
    assert "local/steered: Paused at " in paused.stdout
    assert f"saved at step {step}; the run ended by itself" in paused.stdout
    assert runner.poll() is None
    assert "headway resume steered" in headway.said(runner)
    assert headway("ls").stdout.splitlines()[1].split()[1] == "Paused"
    again = headway("pause", "steered")
    assert again.returncode == 1
    assert "is Paused" in again.stderr

    resumed = headway("resume", "steered")
    assert resumed.returncode == 0, resumed.stderr
    assert "attempt 2 was begun" in resumed.stdout
    headway.until("steered", lambda job: (job["attempts"][-1].get("lastStep") or 0) > int(step))

    stopped = headway("stop", "steered", "--save")
    assert stopped.returncode == 0, stopped.stderr
    assert "Stopped at " in stopped.stdout
    assert runner.wait(20) == 0
    assert int(saved.read_text()) > int(step)
    page = headway("show", "steered").stdout
    assert "Actions" in page
    assert "maintenance" in page
    kinds = [each["kind"] for each in json.loads(headway("show", "steered", "--json").stdout)["actions"]]
    assert kinds == ["checkpoint", "pause", "resume", "stop"]
    lost = headway("resume", "steered")
    assert lost.returncode == 1
    assert "headway run --name steered -- " in lost.stderr


DEAF = """
import json, os, time, urllib.request
metrics = [{"name": "current_step", "value": "1"}, {"name": "total_steps", "value": "9"}]
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
body = json.dumps({"trainerStatus": {"lastUpdatedTime": "2026-01-01T00:00:00Z", "metrics": metrics}}).encode()
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], body, headers), timeout=20)
time.sleep(120)
"""


def test_a_request_that_was_refused_is_a_failure(headway: Any) -> None:
    """Who writes `headway checkpoint x && …` relies on what was saved."""
    runner = headway.start("run", "--name", "deaf", "--", sys.executable, "-c", DEAF)
    headway.until("deaf", lambda job: job["progress"].get("step") == 1)
    asked = headway("checkpoint", "deaf")
    assert (asked.returncode, asked.stdout) == (1, "")
    assert "local/deaf: no checkpoint: its client hears no requests" in asked.stderr
    stopped = headway("stop", "deaf")
    assert stopped.returncode == 0, stopped.stderr
    runner.wait(20)
