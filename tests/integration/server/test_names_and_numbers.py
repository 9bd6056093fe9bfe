"""Names and numbers of every kind come back as they were given, from every endpoint, as strict JSON."""

from __future__ import annotations

from urllib.parse import quote

import pytest

NAMES = [
    "plain",
    "a/b",
    "/leading",
    "trailing/",
    "a//b",
    "with space",
    "näïve-名前-🚂",
    "<b>bold</b>",
    "\"quoted\" & 'single'",
    "100%25",
    "%2F",
    "tab\tand\nline",
    "bell\x07",
    "back\\slash",
    "a?b=c#d",
    "plus+plus",
    "stop",
    "series",
    "..",
    ".",
    "{name}",
]


def encoded(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_kept_everywhere(user, strict, status_path, name):
    namespace = f"ns {name}"
    path = f"/api/v1/jobs/{encoded(namespace)}/{encoded(name)}"
    registered = user.put(
        path, json={"runner": "r", "attempt": "a", "tags": [name], "spec": {"command": ["python", name]}}
    )
    assert registered.status_code == 200, registered.text
    status = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{encoded(namespace)}/trainjobs/{encoded(name)}/status"
    token = {"authorization": f"Bearer {registered.json()['token']}"}
    metric = name[:60]
    body = {
        "headway": {
            "run": "r1",
            "attempt": "a",
            "seq": 1,
            "points": [[1, 1.0, {metric: 2.5}]],
            "job": {"config": {name: name}},
        }
    }
    assert user.post(status, json=body, headers=token).status_code == 200
    job = strict(user.get(path).content)
    assert (job["namespace"], job["name"]) == (namespace, name)
    assert job["metrics"] == {metric: 2.5}
    assert job["config"] == {name: name}
    assert name in job["tags"]
    page = strict(user.get("/api/v1/jobs", params={"namespace": namespace}).content)
    assert [each["name"] for each in page["items"]] == [name]
    (series,) = strict(user.get(f"{path}/series", params={"metric": metric}).content)["series"]
    assert series["metric"] == metric
    assert strict(user.get(f"{path}/metrics").content)["metrics"] == [metric]
    assert strict(user.get(f"{path}/attempts").content)["attempts"]
    lifecycle = {"kind": "ended", "runner": "r", "attempt": "a", "ending": {"kind": "failed", "message": name}}
    assert user.post(f"{path}/lifecycle", json=lifecycle).status_code == 200
    assert strict(user.get(path).content)["ending"]["message"] == name
    assert user.delete(path).status_code == 204
    assert user.get(path).status_code == 404


@pytest.mark.parametrize("part", ["%00", "a%00b", "%FF", "%C3%28", quote("x" * 2000)])
def test_what_cannot_be_a_name_is_invalid(user, part):
    for path in (
        f"/api/v1/jobs/local/{part}",
        f"/api/v1/jobs/{part}/name",
        f"/api/v1/jobs/local/{part}/series",
    ):
        assert user.get(path).status_code == 422, path
    status = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/local/trainjobs/{part}/status"
    assert user.post(status, json={}).status_code == 422


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("NaN", "NaN"),
        ("nan", "NaN"),
        ("Infinity", "Infinity"),
        ("inf", "Infinity"),
        ("-inf", "-Infinity"),
        ("-Infinity", "-Infinity"),
    ],
)
def test_a_stock_clients_number_that_json_has_no_word_for(user, strict, status_path, given, kept):
    name = f"stock{given}"
    metrics = [
        {"name": "loss", "value": given},
        {"name": "other", "value": "1.5"},
        {"name": "current_step", "value": "3"},
    ]
    assert user.post(status_path(name), json={"trainerStatus": {"metrics": metrics}}).status_code == 200
    _holds(user, strict, name, kept)


@pytest.mark.parametrize("given", ["NaN", "Infinity", "-Infinity"])
def test_a_reporters_number_that_json_has_no_word_for(user, strict, status_path, report, given):
    name = f"own{given}"
    body = report(points=[[3, 1.0, {"loss": given, "other": 1.5}]])
    assert user.post(status_path(name), json=body).status_code == 200
    _holds(user, strict, name, given)


def _holds(user, strict, name, kept):
    path = f"/api/v1/jobs/local/{name}"
    job = strict(user.get(path).content)
    assert job["metrics"]["loss"] == kept
    assert job["metrics"]["other"] == 1.5
    page = strict(user.get("/api/v1/jobs", params={"text": name}).content)
    assert page["items"][0]["metrics"]["loss"] == kept
    series = {each["metric"]: each for each in strict(user.get(f"{path}/series").content)["series"]}
    ((step, _, mean, *_, bad),) = series["loss"]["points"]
    assert (step, mean, bad) == (3, "NaN", 1) or (step, mean, bad) == (3, kept, 1)
    assert series["other"]["points"][0][2] == 1.5
    with user.stream("GET", "/api/v1/events", params={"namespace": "local", "name": name}) as events:
        data = next(line for line in events.iter_lines() if line.startswith("data: "))
    assert strict(data.removeprefix("data: "))["jobs"][0]["metrics"]["loss"] == kept
    spelled = {"NaN": "NaN", "Infinity": "+Inf", "-Infinity": "-Inf"}[kept]
    assert f'headway_job_loss{{namespace="local",name="{name}"}} {spelled}' in user.get("/metrics").text.splitlines()
