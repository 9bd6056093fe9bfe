"""``headway ui``: the address that it gives logs a browser in, once."""

from __future__ import annotations

import os
import subprocess
import sys

import httpx2

from headway.testing.live import live_server


def test_the_address_logs_in_once(tmp_path):
    with live_server(tmp_path) as server:
        env = os.environ | {"HEADWAY_URL": server.url, "HEADWAY_TOKEN": server.token}
        command = [sys.executable, "-m", "headway.cli.main", "ui", "--no-open"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        url = done.stdout.strip()
        assert url.startswith(f"{server.url}/login?code=")
        with httpx2.Client() as browser:
            answer = browser.get(url)
            assert answer.status_code == 303
            assert answer.headers["location"] == "/"
            assert browser.get(f"{server.url}/api/v1/jobs").status_code == 200
        with httpx2.Client() as other:
            assert other.get(url).status_code == 403
            assert other.get(f"{server.url}/api/v1/jobs").status_code == 403


def test_it_opens_the_users_browser(tmp_path):
    program, opened = tmp_path / "browser", tmp_path / "opened"
    program.write_text(f'#!/bin/sh\necho "$1" >> "{opened}"\n')
    program.chmod(0o755)
    with live_server(tmp_path) as server:
        env = os.environ | {"HEADWAY_URL": server.url, "HEADWAY_TOKEN": server.token, "BROWSER": f"{program} %s"}
        command = [sys.executable, "-m", "headway.cli.main", "ui"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        url = opened.read_text().strip()
        assert url.startswith(f"{server.url}/login?code=")
        assert "code=" not in done.stdout + done.stderr  # what logs in once is not left on the screen
        assert httpx2.get(url).status_code == 303


def test_without_a_server_at_the_named_address_it_says_so():
    env = os.environ | {"HEADWAY_URL": "http://127.0.0.1:9", "HEADWAY_TOKEN": "t"}
    command = [sys.executable, "-m", "headway.cli.main", "ui", "--no-open"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert "127.0.0.1:9" in done.stderr
