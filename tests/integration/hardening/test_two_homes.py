"""Two homes on one machine, as two users have them, and a page of somewhere else: none sees what is another's."""

from __future__ import annotations

import stat
import subprocess
import sys

import httpx2
import pytest

from headway import Client
from headway.errors import ForbiddenError, NotFoundError
from headway.reporter.discovery import read_record

TRAIN = """
    import sys, headway
    run = headway.track(3, name=sys.argv[1])
    for _ in range(3):
        run.step(loss=1.0)
    run.finish(timeout=20)
"""
FOREIGN = (
    {"origin": "http://evil.example", "host": "{host}"},
    {"origin": "http://evil.example:1", "host": "evil.example"},
    {"host": "evil.example"},
    {"host": "{host}.evil.example"},
    {"origin": "null", "sec-fetch-site": "cross-site"},
    {"origin": "http://{other}", "sec-fetch-site": "same-site"},
)


@pytest.fixture
def homes(make_home):
    ann, bob = make_home("ann"), make_home("bob")
    return ann, bob, ann.server()[1], bob.server()[1]


def test_neither_sees_the_others_jobs_or_tokens(homes, until):
    ann, bob, anns, bobs = homes
    assert anns.url != bobs.url
    assert anns.token != bobs.token
    assert ann.script(TRAIN, "of-ann").wait(60) == 0
    assert bob.script(TRAIN, "of-bob").wait(60) == 0
    with Client(folders=ann.folders) as hers, Client(folders=bob.folders) as his:
        until(lambda: [job.name for job in hers.jobs().items] == ["of-ann"])
        until(lambda: [job.name for job in his.jobs().items] == ["of-bob"])
        with pytest.raises(NotFoundError):
            hers.job("of-bob")
        token = his.token("of-ann")  # a job of the same name, but his
    for wrong in (bobs.token, token):
        with Client(anns.url, wrong) as stranger:
            for ask in (stranger.jobs, lambda stranger=stranger: stranger.stop("of-ann"), stranger.login_url):
                with pytest.raises(ForbiddenError):
                    ask()


def test_what_lies_on_disk_is_open_to_its_owner_alone(homes):
    ann, bob, *_ = homes
    assert ann.script(TRAIN, "of-ann").wait(60) == 0
    for home in (ann, bob):
        for top in (home.folders.state, home.folders.runtime):
            assert stat.S_IMODE(top.stat().st_mode) & 0o077 == 0, top
        for secret in (home.folders.server_record, home.folders.state / "keys.json"):
            assert stat.S_IMODE(secret.stat().st_mode) & 0o077 == 0, secret
    words = read_record(bob.folders.server_record).token.encode()
    for path in ann.path.rglob("*"):
        assert not path.is_file() or words not in path.read_bytes(), path


def test_a_command_in_one_home_does_not_reach_the_other(homes):
    ann, bob, *_ = homes
    assert ann.script(TRAIN, "of-ann").wait(60) == 0
    command = [sys.executable, "-m", "headway.cli.main", "show", "of-ann"]
    shown = subprocess.run(command, env=bob.environ, capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == 3
    assert "of-ann" in shown.stderr


def test_a_page_of_somewhere_else_neither_reads_nor_acts(homes, until):
    """With the cookie that a browser would send along by itself."""
    ann, _, anns, bobs = homes
    training = ann.script(TRAIN.replace("run.finish", "import time; time.sleep(60); run.finish"), "of-ann")
    with Client(folders=ann.folders) as hers, httpx2.Client(base_url=anns.url, trust_env=False) as browser:
        until(lambda: [job.name for job in hers.jobs().items] == ["of-ann"])
        assert browser.get(hers.login_url()).status_code == 303
        assert browser.get("/api/v1/jobs").status_code == 200
        host, other = anns.url.partition("://")[2], bobs.url.partition("://")[2]
        for headers in FOREIGN:
            sent = {name: value.format(host=host, other=other) for name, value in headers.items()}
            for path in ("/api/v1/jobs", "/api/v1/jobs/local/of-ann", "/api/v1/jobs/local/of-ann/series"):
                answer = browser.get(path, headers=sent)
                assert answer.status_code == 403, (sent, path)
                assert "access-control-allow-origin" not in answer.headers
            acts = [("POST", "stop"), ("POST", "pause"), ("POST", "checkpoint"), ("POST", "token"), ("DELETE", "")]
            for method, act in acts:
                path = f"/api/v1/jobs/local/of-ann/{act}".rstrip("/")
                for more in ({}, {"headway-request": "1"}, {"content-type": "text/plain"}):
                    answer = browser.request(method, path, content=b"{}", headers={**sent, **more})
                    assert answer.status_code == 403, (sent, more, path)
            preflight = {
                **sent,
                "access-control-request-method": "POST",
                "access-control-request-headers": "headway-request",
            }
            answer = browser.options("/api/v1/jobs/local/of-ann/stop", headers=preflight)
            assert not [name for name in answer.headers if name.startswith("access-control-")]
            assert browser.post("/api/v1/codes", headers=sent).status_code == 403
        assert hers.job("of-ann").actions == ()
    training.kill()
