"""The dashboard's page and files over real HTTP, the one-time login, and the courses that lists draw."""

from __future__ import annotations

import gzip
import math
from urllib.parse import quote

import pytest

from headway.protocol.history import Series, SeriesPoint, SparkPoint
from headway.protocol.job import JobKey
from headway.server.dashboard import Dashboard
from headway.server.routes.sparklines import join, thin
from headway.testing.reports import SyntheticRun

SCRIPT = b"console.log('headway')\n" * 40


@pytest.fixture
def built(server, tmp_path):
    """A dashboard of two files, in place of whatever this build ships."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Headway</title>")
    (folder / "assets" / "index-abc.js").write_bytes(SCRIPT)
    (folder / "assets" / "font-abc.woff2").write_bytes(b"font")
    (folder / "assets" / "secret.py").write_bytes(b"not for browsers")
    (tmp_path / "outside.js").write_bytes(b"outside")
    before, server.context.dashboard = server.context.dashboard, Dashboard(folder)
    yield folder
    server.context.dashboard = before


@pytest.mark.parametrize("path", ["/", "/compare", "/fleet", "/?job=local%2Fa"])
def test_every_page_is_the_one_page_and_asked_for_anew(stranger, built, path):
    answer = stranger.get(path)
    assert answer.status_code == 200
    assert answer.text == "<!doctype html><title>Headway</title>"
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-store"
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy


def test_assets_are_kept_for_ever_and_compressed(stranger, built):
    answer = stranger.get("/assets/index-abc.js", headers={"accept-encoding": "gzip"})
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.content == SCRIPT  # as the client unpacked it
    assert int(answer.headers["content-length"]) == len(gzip.compress(SCRIPT, 6, mtime=0))
    plain = stranger.get("/assets/index-abc.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == SCRIPT
    font = stranger.get("/assets/font-abc.woff2", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in font.headers
    assert font.headers["content-type"] == "font/woff2"


@pytest.mark.parametrize(
    "name",
    [
        "nothing.js",
        "secret.py",
        "..%2F..%2Foutside.js",
        "%2e%2e%2foutside.js",
        "index-abc",
        ".stamp",
        "%00.js",
        "a%5cb.js",
    ],
)
def test_nothing_else_is_served(stranger, built, name):
    assert stranger.get(f"/assets/{name}").status_code == 404


def test_a_build_without_a_dashboard_says_so(stranger, server, tmp_path):
    before, server.context.dashboard = server.context.dashboard, Dashboard(tmp_path / "empty")
    try:
        answer = stranger.get("/")
        assert answer.status_code == 200
        assert "ships no dashboard" in answer.text
        assert "/api/openapi.json" in answer.text
        assert stranger.get("/assets/index.js").status_code == 404
    finally:
        server.context.dashboard = before


def spark(user, *jobs, **more):
    answer = user.get("/api/v1/sparklines", params={"job": list(jobs), **more})
    assert answer.status_code == 200, answer.text
    return {each["name"]: each for each in answer.json()["sparklines"]}


def test_sparklines_of_many_jobs_at_once(user, server):
    for name, metric in (("spark-a", "loss"), ("spark/b", "train_loss"), ("spark-none", "reward")):
        run = SyntheticRun(run=f"run-{name}")
        for step in range(1, 201):
            report = run.at(step, metrics={metric: math.nan if step > 190 else float(step)})
            server.call(server.hub.ingest(JobKey("local", name), report, create=True))
    found = spark(
        user, "local/spark-a", f"local/{quote('spark/b', safe='')}", "local/spark-none", "local/gone", points=20
    )
    assert sorted(found) == ["spark-a", "spark/b"]
    points = found["spark-a"]["points"]
    assert len(points) == 20
    assert points[-1][0] == 200
    assert points[-1][1] == "NaN"
    values = [value for _, value in points if value != "NaN"]
    assert values == sorted(values)
    assert found["spark/b"]["metric"] == "train_loss"
    assert spark(user, "local/spark-none", metric="reward")["spark-none"]["metric"] == "reward"
    assert spark(user) == {}


def test_sparklines_say_what_was_wrong_with_the_question(user, stranger):
    assert stranger.get("/api/v1/sparklines", params={"job": "local/a"}).status_code == 403
    assert user.get("/api/v1/sparklines", params={"job": "no-slash"}).status_code == 422
    assert user.get("/api/v1/sparklines", params={"job": ["local/a"] * 101}).status_code == 422
    assert user.get("/api/v1/sparklines", params={"points": 1}).status_code == 422


def series(*steps: int) -> Series:
    return Series(
        metric="loss",
        attempt="a",
        tier=1,
        points=tuple(SeriesPoint(step, 0.0, step, step, step, 1, 0) for step in steps),
    )


def test_an_attempt_takes_over_where_it_begins():
    assert [step for step, _ in join([series(1, 2, 3, 4), series(3, 4, 5)])] == [1, 2, 3, 4, 5]
    assert [step for step, _ in join([series(1, 2), series(), series(9)])] == [1, 2, 9]
    assert join([]) == []


def test_thinning_keeps_the_last_step_and_leaves_out_what_is_not_finite():
    course = [SparkPoint(step, math.inf if step == 3 else float(step)) for step in range(1, 9)]
    assert thin(course, 4) == [SparkPoint(2, 1.5), SparkPoint(4, 4.0), SparkPoint(6, 5.5), SparkPoint(8, 7.5)]
    assert thin(course, 8) == course
