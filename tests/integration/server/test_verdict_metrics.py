"""What Prometheus reads of conditions and of money."""

from __future__ import annotations

import time


def test_conditions_and_costs(user, stranger, status_path, report):
    spec = {"pricePerHour": 3600.0, "devicesPerNode": 2}
    registration = {"runner": "runner", "attempt": "attempt-1", "spec": spec}
    assert user.put("/api/v1/jobs/local/dear", json=registration).status_code == 200
    event = {"kind": "started", "runner": "runner", "attempt": "attempt-1"}
    assert user.post("/api/v1/jobs/local/dear/lifecycle", json=event).status_code == 200
    body = report(step=1200, points=[[1200, 2.0, {"loss": 0.5}]])
    body["headway"]["attempt"] = "attempt-1"
    assert user.post(status_path("dear"), json=body).status_code == 200
    condition = (
        'headway_job_condition{namespace="local",name="dear",condition="TotalWrong",metric="",severity="notice"} 1'
    )
    end = time.monotonic() + 15
    while condition not in (lines := stranger.get("/metrics").text.splitlines()):
        assert time.monotonic() < end, lines
        time.sleep(0.1)
    values = dict(line.rsplit(" ", 1) for line in lines if 'name="dear"' in line)
    spent = float(values['headway_job_cost{namespace="local",name="dear",kind="spent"}'])
    hours = float(values['headway_job_device_hours{namespace="local",name="dear",kind="spent"}'])
    assert 0 < spent < 60
    assert abs(hours - 2 * spent / 3600) < 1e-6
    assert values['headway_job_cost{namespace="local",name="dear",kind="without_progress"}'] == "0"
