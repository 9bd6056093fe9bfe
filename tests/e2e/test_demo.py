"""The demo in a browser: real training runs appear, move and can be steered, and what is done shows in the API.

One demo serves the whole walk: its jobs take seconds to start, and each thing that a viewer does takes less.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import pty
import signal
import stat
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headway.protocol.action import ActionKind
from headway.protocol.job import JobKey, State
from headway.testing.live import LiveServer, live_server
from headway.testing.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
JOBS = ("healthy", "crash-resume", "lr-too-high", "lr-decayed", "lost-rank")


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=60_000)
    return expected(locator)


until = partial(wait_until, timeout=60.0)


def row(page, name):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=f"demo-{name}", exact=True))


def job(server: LiveServer, name: str):
    return server.job(JobKey("local", f"demo-{name}"))


@pytest.fixture
def stand_in(tmp_path: Path) -> tuple[Path, Path]:
    """A program that stands in for the user's browser, and the file in which it writes what it was to open."""
    program, opened = tmp_path / "browser", tmp_path / "opened"
    program.write_text(f'#!/bin/sh\necho "$1" >> "{opened}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program, opened


def drain(terminal: int) -> None:
    """Reads what is written on a terminal, so that nobody who writes there waits."""
    with contextlib.suppress(OSError):  # the other end was closed
        while os.read(terminal, 65536):
            pass
    os.close(terminal)


@pytest.fixture
def started(tmp_path, stand_in):
    """Starts a demo beside a server; ends it with the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(server: LiveServer) -> str:
        program, opened = stand_in
        env = os.environ | {
            "HEADWAY_HOME": str(tmp_path / "home"),
            "HEADWAY_URL": server.url,
            "HEADWAY_TOKEN": server.token,
            "BROWSER": f"{program} %s",
            "TERM": "xterm",
        }
        command = [sys.executable, "-m", "headway.cli.main", "demo"]
        ours, theirs = pty.openpty()  # a browser is opened where somebody sits at a terminal
        processes.append(subprocess.Popen(command, env=env, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs))
        os.close(theirs)
        threading.Thread(target=drain, args=(ours,), daemon=True).start()
        until(lambda: opened.exists() and opened.read_text().endswith("\n"), "the address in the browser")
        return opened.read_text().strip()

    yield start
    for process in processes:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="the demo trains with numpy: headway[demo]")
def test_the_demo_in_a_browser(tmp_path, started, open_page):
    forgiven = ("ERR_CONNECTION_REFUSED", "Failed to load resource", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY_RESPONSE")
    with live_server(tmp_path) as server:
        port = int(server.url.rpartition(":")[2])
        page = open_page(server, forgiven=forgiven)
        page.context.clear_cookies()
        page.goto(started(server))  # as the browser that the demo opens: its address logs in
        page.evaluate("window.notReloaded = true")
        appear_and_move(page)
        are_found(page)
        show_their_verdicts(page, server)
        can_be_looked_at_closely(page, server)
        can_be_stopped(page, server)
        are_compared(page)
        are_shown_as_the_viewer_likes(page)
    banner = page.locator(".hw-banner")
    expect(banner).to_be_visible()
    expect(row(page, "lost-rank")).to_be_visible()
    with live_server(tmp_path, port=port) as server:
        expect(banner).to_have_count(0)
        step = until(lambda: job(server, "lr-too-high").progress.step, "its job")
        until(lambda: (job(server, "lr-too-high").progress.step or 0) > step, "reports to the server that came back")
    assert page.evaluate("window.notReloaded") is True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # connections of runners that the killed server left open
        gc.collect()


def appear_and_move(page):
    for name in JOBS:
        expect(row(page, name)).to_contain_text("Running")
    bar = row(page, "healthy").get_by_role("progressbar")
    first = int(bar.get_attribute("aria-valuenow"))
    until(lambda: int(bar.get_attribute("aria-valuenow")) > first, "progress")


def are_found(page):
    page.get_by_role("textbox", name="Find by name").fill("lost")
    expect(page.locator("tbody .hw-name")).to_have_text(["demo-lost-rank"])
    page.get_by_role("button", name="Clear all filters", exact=True).last.click()
    page.get_by_role("columnheader", name="Name", exact=True).get_by_role("button").click()
    expect(page.locator("tbody .hw-name")).to_have_text(sorted(f"demo-{name}" for name in JOBS))


def show_their_verdicts(page, server):
    expect(row(page, "lost-rank")).to_contain_text("Stalled")
    (stalled,) = [one for one in job(server, "lost-rank").conditions if one.type == "Stalled"]
    title = row(page, "lost-rank").locator(".hw-col-verdict span[title]").first.get_attribute("title")
    assert stalled.evidence["where"] in title


def can_be_looked_at_closely(page, server):
    row(page, "lr-too-high").get_by_role("link").click()
    panel = page.locator(".hw-panel")
    panel.get_by_role("tab", name="Curves").click()
    until(lambda: panel.locator("canvas").count() >= 1, "a curve")
    box = panel.locator(".u-over").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    until(lambda: "zoom=" in page.evaluate("location.search"), "the part that is zoomed to")
    panel.get_by_role("button", name="Checkpoint now").click()
    saved = until(lambda: job(server, "lr-too-high").checkpoint, "a checkpoint")
    assert ActionKind.CHECKPOINT in [action.kind for action in job(server, "lr-too-high").actions]
    panel.get_by_role("tab", name="History").click()
    expect(panel.get_by_role("row").filter(has_text="dashboard").first).to_contain_text("Checkpoint")
    panel.get_by_role("tab", name="Overview").click()
    expect(panel).to_contain_text("step ")
    assert saved.step > 0
    page.keyboard.press("Escape")


def can_be_stopped(page, server):
    row(page, "lost-rank").get_by_role("link").click()
    page.locator(".hw-panel").get_by_role("button", name="Stop").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox", name="Let it save first").uncheck()  # it hangs, and would not
    dialog.get_by_role("button", name="Stop", exact=True).click()
    until(lambda: job(server, "lost-rank").state is State.STOPPED, "the end that was asked for")
    assert job(server, "lost-rank").actions[-1].by == "dashboard"
    expect(row(page, "lost-rank")).to_contain_text("Stopped")
    page.locator(".hw-panel").get_by_role("button", name="Close").click()


def are_compared(page):
    for name in ("healthy", "lr-decayed"):
        page.get_by_role("checkbox", name=f"Select demo-{name}", exact=True).check()
    page.get_by_role("link", name="Compare").last.click()
    expect(page.locator(".hw-compare tbody tr")).to_have_count(2)
    until(lambda: page.locator("canvas").count() >= 1, "their curves")
    page.go_back()


def are_shown_as_the_viewer_likes(page):
    page.get_by_role("button", name="Language").click()
    page.get_by_role("option", name="日本語").click()
    expect(page.get_by_role("columnheader", name="名前", exact=True)).to_be_visible()
    expect(page.locator("tbody")).not_to_contain_text("Stalled")
    page.get_by_role("button", name="テーマ").click()
    page.get_by_role("option", name="ダーク").click()
    until(lambda: page.evaluate("document.documentElement.classList.contains('pf-v6-theme-dark')"), "the dark theme")
