"""Who may do what, over real HTTP: tokens, cookies, one-time codes, origins and hosts."""

from __future__ import annotations

import time

import jwt
import pytest

from headway.protocol.job import JobKey
from headway.reporter.discovery import prove
from headway.server.tokens import Keyring, Keys, audience_of

RUNNER = {"runner": "runner-1", "attempt": "attempt-1"}
ALIVE = {"kind": "alive", **RUNNER}
NO_PUNCTUATION = str.maketrans(dict.fromkeys("[]{}/", "-"))


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def job(user, request):
    """A registered job of this test, and its token."""
    name = f"job-{request.node.name.translate(NO_PUNCTUATION)}"
    answer = user.put(f"/api/v1/jobs/local/{name}", json=RUNNER)
    assert answer.status_code == 200
    return name, answer.json()["token"]


def test_a_jobs_token_opens_its_status_and_lifecycle(stranger, job, status_path):
    name, token = job
    assert stranger.post(status_path(name), json={"trainerStatus": {}}, headers=bearer(token)).status_code == 200
    answer = stranger.post(f"/api/v1/jobs/local/{name}/lifecycle", json=ALIVE, headers=bearer(token))
    assert answer.status_code == 200
    assert answer.json()["heartbeat"] > 0


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/jobs"),
        ("GET", "/api/v1/jobs/local/{name}"),
        ("PUT", "/api/v1/jobs/local/{name}"),
        ("DELETE", "/api/v1/jobs/local/{name}"),
        ("POST", "/api/v1/jobs/local/{name}/stop"),
        ("GET", "/api/v1/jobs/local/{name}/series"),
        ("GET", "/api/v1/jobs/local/{name}/metrics"),
        ("GET", "/api/v1/jobs/local/{name}/attempts"),
        ("GET", "/api/v1/jobs/local/{name}/log"),
        ("GET", "/api/v1/events"),
        ("POST", "/api/v1/codes"),
    ],
)
def test_a_jobs_token_opens_nothing_else(stranger, job, method, path):
    name, token = job
    answer = stranger.request(method, path.replace("{name}", name), headers=bearer(token))
    assert answer.status_code == 403
    assert answer.json()["reason"] == "Forbidden"


def test_another_jobs_token_opens_neither(stranger, server, job, status_path):
    name, _ = job
    other = bearer(server.job_token("another"))
    assert stranger.post(status_path(name), json={}, headers=other).status_code == 403
    assert stranger.post(f"/api/v1/jobs/local/{name}/lifecycle", json=ALIVE, headers=other).status_code == 403
    same_name = bearer(server.job_token(name, namespace="elsewhere"))
    assert stranger.post(status_path(name), json={}, headers=same_name).status_code == 403


def test_a_jobs_token_does_not_create_it(stranger, server, status_path):
    headers = bearer(server.job_token("never-registered"))
    assert (
        stranger.post(status_path("never-registered"), json={"trainerStatus": {}}, headers=headers).status_code == 404
    )


@pytest.mark.parametrize(
    "make", ["garbage", "empty", "none-algorithm", "other-key", "expired", "no-expiry", "session", "basic"]
)
def test_a_bad_token_is_forbidden(stranger, server, job, status_path, make):
    name, _ = job
    claims = {"iss": "headway", "aud": audience_of(JobKey("local", name)), "exp": time.time() + 3600}
    header = {
        "garbage": lambda: "Bearer x.y.z",
        "empty": lambda: "Bearer",
        "none-algorithm": lambda: "Bearer " + jwt.encode(claims, None, algorithm="none"),
        "other-key": lambda: "Bearer " + jwt.encode(claims, "k" * 64, algorithm="HS256"),
        "expired": lambda: "Bearer " + _sign(server, {**claims, "exp": time.time() - 1}),
        "no-expiry": lambda: "Bearer " + _sign(server, {key: claims[key] for key in ("iss", "aud")}),
        "session": lambda: "Bearer " + server.context.keyring.session(),
        "basic": lambda: "Basic dXNlcjpwYXNz",
    }[make]()
    for path in (status_path(name), f"/api/v1/jobs/local/{name}/lifecycle"):
        answer = stranger.post(path, json={}, headers={"authorization": header})
        assert answer.status_code == 403, path
        assert answer.json()["kind"] == "Status"


def _sign(server, claims):
    return jwt.encode(claims, server.context.keyring._keys.signing, algorithm="HS256")


def test_a_good_token_signed_by_hand_shows_that_the_bad_ones_fail_for_their_reason(stranger, server, job, status_path):
    name, _ = job
    token = _sign(server, {"iss": "headway", "aud": audience_of(JobKey("local", name)), "exp": time.time() + 60})
    assert stranger.post(status_path(name), json={}, headers=bearer(token)).status_code == 200


def test_nothing_without_a_token(stranger, job, status_path):
    name, _ = job
    assert stranger.post(status_path(name), json={}).status_code == 403
    assert stranger.get("/api/v1/jobs").status_code == 403
    assert stranger.get("/api/v1/events").status_code == 403
    for path in ("/healthz", "/readyz", "/metrics", "/api/openapi.json", "/"):
        assert stranger.get(path).status_code == 200


def test_an_expiring_token_is_forgotten_though_it_was_checked_before():
    now = [1000.0]
    keyring = Keyring(Keys.new(), job_token_days=1, wall=lambda: now[0])
    token = keyring.job_token(JobKey("a", "b"))
    assert keyring.opens_job(token, JobKey("a", "b"))
    assert not keyring.opens_job(token, JobKey("a", "c"))
    now[0] += 86_401
    assert not keyring.opens_job(token, JobKey("a", "b"))


def test_the_server_proves_who_it_is(stranger, server):
    answer = stranger.get("/api/v1/prove", params={"nonce": "0123456789abcdef"})
    assert answer.text == prove(server.token, "0123456789abcdef")
    assert stranger.get("/api/v1/prove", params={"nonce": "short"}).status_code == 422


@pytest.fixture
def browser(user, stranger):
    """A client that has logged in by a one-time code, as a browser does."""
    link = user.post("/api/v1/codes").json()["url"]
    answer = stranger.get(link)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    return stranger


def test_a_code_logs_in_once(user, stranger, browser):
    assert browser.get("/api/v1/jobs").status_code == 200
    code = user.post("/api/v1/codes").json()["code"]
    assert stranger.get("/login", params={"code": code}).status_code == 303
    assert stranger.get("/login", params={"code": code}).status_code == 403
    assert stranger.get("/login", params={"code": "guessed"}).status_code == 403


def test_a_code_goes_out_of_date():
    now = [1000.0]
    keyring = Keyring(Keys.new(), code_seconds=60, wall=lambda: now[0])
    code = keyring.new_code()
    now[0] += 61
    with pytest.raises(Exception, match="too old"):
        keyring.use_code(code)


def test_a_cookie_may_read(browser, server):
    assert browser.get("/api/v1/jobs", headers={"sec-fetch-site": "same-origin"}).status_code == 200
    assert browser.get("/api/v1/jobs", headers={"origin": server.url}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 403),
        ({"origin": "{url}"}, 403),
        ({"headway-request": "1"}, 403),
        ({"origin": "http://evil.example", "headway-request": "1"}, 403),
        ({"origin": "null", "headway-request": "1"}, 403),
        ({"origin": "http://127.0.0.1:1", "headway-request": "1"}, 403),
        ({"origin": "{url}", "headway-request": "1", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "{url}", "headway-request": "1"}, 202),
    ],
)
def test_a_cookie_changes_things_only_from_its_own_origin(browser, server, user, headers, code, request):
    name = "cookie"
    user.put(f"/api/v1/jobs/local/{name}", json=RUNNER)
    sent = {key: value.replace("{url}", server.url) for key, value in headers.items()}
    assert browser.post(f"/api/v1/jobs/local/{name}/stop", json={}, headers=sent).status_code == code


def test_a_page_of_another_origin_may_not_even_read(browser):
    assert browser.get("/api/v1/jobs", headers={"origin": "http://evil.example"}).status_code == 403
    assert browser.get("/api/v1/jobs", headers={"sec-fetch-site": "same-site"}).status_code == 403


def test_a_cookie_does_not_report(browser, server, status_path):
    headers = {"origin": server.url, "headway-request": "1"}
    assert browser.post(status_path("by-cookie"), json={}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("headway.localhost", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1:80.evil.example", 403),
        ("[::1].evil.example", 403),
        ("192.168.0.7", 403),
        ("", 403),
    ],
)
def test_a_foreign_host_is_refused(user, status_path, host, code):
    headers = {"host": host}
    assert user.get("/api/v1/jobs", headers=headers).status_code == code
    assert user.post(status_path("hosted"), json={"trainerStatus": {}}, headers=headers).status_code == code
    assert user.get("/metrics", headers=headers).status_code == code
    assert user.get("/healthz", headers=headers).status_code == 200


def test_answers_carry_what_keeps_browsers_careful(user, stranger):
    for answer in (user.get("/api/v1/jobs"), stranger.get("/"), stranger.get("/nowhere"), stranger.get("/api/v1/jobs")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
