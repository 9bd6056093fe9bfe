"""Actions over HTTP: who may ask for what, what the answer is, and a job's own token."""

from __future__ import annotations

import pytest

JOB = "/api/v1/jobs/local/{}"
RUNNER = {"runner": "R", "attempt": "R-1"}


@pytest.fixture
def running(user):
    """Makes a job that a runner holds."""

    def make(name: str) -> str:
        path = JOB.format(name)
        assert user.put(path, json={**RUNNER, "spec": {"nodes": 1}}).status_code == 200
        assert user.post(f"{path}/lifecycle", json={**RUNNER, "kind": "started"}).status_code == 200
        return path

    return make


@pytest.mark.parametrize("kind", ["checkpoint", "pause", "stop"])
def test_an_action_is_answered_with_the_job_whose_last_action_it_is(user, running, strict, kind):
    path = running(f"asked-{kind}")
    answer = user.post(f"{path}/{kind}", json={"by": "ann", "reason": "maintenance", "notice": 5})
    assert answer.status_code == 202
    (action,) = strict(answer.content)["job"]["actions"]
    assert (action["kind"], action["by"], action["reason"], action["attempt"]) == (kind, "ann", "maintenance", "R-1")
    assert action["deadline"] - action["askedAt"] == pytest.approx(5.0)
    assert "carriedOut" not in action
    assert user.get(path).json()["actions"] == [action]


def test_a_runner_is_told_until_it_acknowledges_and_its_word_is_kept(user, running):
    path = running("told")
    user.post(f"{path}/pause", json={})
    alive = {**RUNNER, "kind": "alive"}
    (command,) = user.post(f"{path}/lifecycle", json=alive).json()["commands"]
    assert (command["kind"], command["save"], command["notice"], command["grace"]) == ("pause", True, 60.0, 30.0)
    outcome = {"id": command["id"], "carriedOut": "platform", "text": "ended by SIGTERM after 60 s"}
    ended = {**RUNNER, "kind": "ended", "paused": True, "ending": {"kind": "cancelled"}, "outcomes": [outcome]}
    assert user.post(f"{path}/lifecycle", json={**ended, "acks": [command["id"]]}).json().get("commands", []) == []
    job = user.get(path).json()
    assert (job["state"], job["actions"][0]["outcome"]) == ("Paused", outcome["text"])
    assert user.post(f"{path}/resume", json={}).status_code == 202
    assert [each["kind"] for each in user.post(f"{path}/lifecycle", json=alive).json()["commands"]] == ["resume"]


@pytest.mark.parametrize(
    ("kind", "says"), [("resume", "is Running, not Paused"), ("stop", None), ("checkpoint", None), ("pause", None)]
)
def test_what_does_not_fit_is_a_conflict_and_what_is_not_there_is_not_found(user, running, kind, says):
    assert user.post(JOB.format("nobody") + f"/{kind}", json={}).status_code == 404
    path = running(f"ends-{kind}")
    if says is None:
        ended = {**RUNNER, "kind": "ended", "ending": {"kind": "completed", "exitCode": 0}}
        user.post(f"{path}/lifecycle", json=ended)
        says = f"nothing to {kind}"
    answer = user.post(f"{path}/{kind}", json={})
    assert answer.status_code == 409
    assert says in answer.json()["message"]


@pytest.mark.parametrize("body", [{"notice": -1}, {"notice": "NaN"}, {"grace": "Infinity"}, {"save": "yes"}, {"by": 3}])
def test_a_wrong_body_names_its_field(user, running, body):
    answer = user.post(f"{running('wrong')}/stop", json=body)
    assert answer.status_code == 422
    assert answer.json()["details"]["causes"][0]["field"] == next(iter(body))


def test_a_jobs_own_token_reports_but_steers_nothing(user, stranger, running, report):
    path = running("own")
    own = {"authorization": f"Bearer {user.post(f'{path}/token').json()['token']}"}
    status = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/local/trainjobs/own/status"
    assert stranger.post(status, json=report(attempt="R-1"), headers=own).status_code == 200
    for kind in ("checkpoint", "pause", "resume", "stop", "token"):
        assert stranger.post(f"{path}/{kind}", json={}).status_code == 403
        assert stranger.post(f"{path}/{kind}", json={}, headers=own).status_code == 403


def test_asking_for_a_token_makes_the_job_known(user, stranger, report):
    path = JOB.format("announced")
    answer = user.post(f"{path}/token").json()
    assert answer["job"]["state"] == "Created"
    own = {"authorization": f"Bearer {answer['token']}"}
    status = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/local/trainjobs/announced/status"
    assert stranger.post(status, json=report(), headers=own).status_code == 200
    assert user.get(path).json()["state"] == "Running"
    assert user.post(f"{path}/token").json()["job"]["state"] == "Running"
