"""``headway demo``: ends by itself, and its jobs meet the fates that were told."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_demo_ends_by_itself_with_a_summary(headway: Any) -> None:
    began = time.monotonic()
    result = headway("demo", "--seconds", "60", "--no-open", timeout=120)
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - began < 75
    summary = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("demo-")]
    assert summary[-5:] == [
        "demo-healthy",
        "demo-crash-resume",
        "demo-lr-too-high",
        "demo-lr-decayed",
        "demo-lost-rank",
    ]
    assert "LAST VERDICT" in result.stdout
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith("demo-")}
    assert "NonFinite" in lines["demo-lr-too-high"]
    assert "Stalled" in lines["demo-lost-rank"]

    healthy = headway.job("demo-healthy")
    assert healthy["state"] == "Complete"
    assert healthy["progress"]["percent"] == 100
    assert healthy["metrics"]["eval_loss"] < 2.7

    crashed = headway.job("demo-crash-resume")
    assert [each["ordinal"] for each in crashed["attempts"]] == [1, 2]
    assert crashed["attempts"][0]["ending"]["exitCode"] == 1
    assert 0 < crashed["attempts"][1]["resumedFromStep"] <= crashed["attempts"][0]["lastStep"]

    wild = headway.job("demo-lr-too-high")
    assert wild["metrics"]["loss"] == "NaN"
    assert wild["best"]["loss"] < 3.5, "it learnt at first"

    lost = headway.job("demo-lost-rank")
    (stalled,) = (one for one in lost["conditions"] if one["type"] == "Stalled")
    assert "in all_reduce" in stalled["evidence"]["where"]
    assert stalled["evidence"]["limitSeconds"] >= 10
    assert lost["spec"]["stallFloor"] == 10


def test_demo_can_be_run_again(headway: Any) -> None:
    result = headway("demo", "--seconds", "15", "--no-open", timeout=90)
    assert result.returncode == 0, result.stderr
    assert len(headway.job("demo-healthy")["attempts"]) == 1, "not the next attempt of the first"


def test_a_second_demo_waits_for_nobody_and_ctrl_c_stops_the_jobs(headway: Any) -> None:
    names = ("demo-healthy", "demo-crash-resume", "demo-lr-too-high", "demo-lr-decayed", "demo-lost-rank")
    first = headway.start("demo", "--no-open")
    for name in names:
        # Running: an earlier demo's job of this name has ended, and is forgotten only as this one begins.
        headway.until(name, lambda job: job["state"] == "Running" and (job["progress"].get("step") or 0) > 5)
    second = headway("demo", "--seconds", "15", "--no-open", timeout=60)
    assert second.returncode == 1
    assert "headway stop demo-" in second.stderr
    assert "Traceback" not in second.stderr
    assert headway.job("demo-healthy")["state"] in {"Running", "Complete"}, "the first one's jobs are left alone"
    assert headway.job("demo-lost-rank")["state"] == "Running"
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 0, headway.said(first)
    states = {name: headway.job(name)["state"] for name in names}
    assert set(states.values()) <= {"Stopped", "Complete"}, states
    assert states["demo-lost-rank"] == states["demo-lr-too-high"] == "Stopped"
    assert "stopping the demo's jobs" in headway.said(first)
