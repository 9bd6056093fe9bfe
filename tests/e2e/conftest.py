"""A real server with real reports, and a real browser that has logged in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from headway.server.dashboard import STATIC
from headway.testing.live import LiveServer

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a browser."""
    found = os.environ.get("HEADWAY_TEST_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(
            "no Chromium here: apt-get install -y --no-install-recommends chromium, or name one by HEADWAY_TEST_CHROMIUM"
        )
    return found


@pytest.fixture(scope="session")
def dashboard() -> Path:
    """The built dashboard."""
    if not (STATIC / "index.html").exists():
        pytest.skip("the dashboard is not built: make dashboard")
    return STATIC


@pytest.fixture(scope="module")
def browser(chromium: str, dashboard: Path) -> Generator[Any, None, None]:
    """A headless browser for the tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the test dependency group: make test")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Any) -> Generator[Callable[..., Any], None, None]:
    """Opens a page of a server's dashboard, logged in; fails the test if the page complained of anything.

    Pages have ``complaints``: what the console and the page said of errors.
    """
    contexts: list[tuple[Any, list[str], list[str]]] = []

    def opened(server: LiveServer, path: str = "/", *, forgiven: tuple[str, ...] = (), **options: Any) -> Any:
        settings = {
            "viewport": {"width": 1440, "height": 900},
            "locale": "en-US",
            "timezone_id": "Europe/Rome",
            **options,
        }
        context = browser.new_context(**settings)
        complaints: list[str] = []
        contexts.append((context, complaints, list(forgiven)))
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.set_default_timeout(20_000)
        page.goto(f"{server.url}/login?code={server.context.keyring.new_code()}")
        if path != "/":
            page.goto(server.url + path)
        return page

    yield opened
    for context, complaints, forgiven in contexts:
        context.close()
        left = [each for each in complaints if not any(word in each for word in forgiven)]
        assert left == []


@pytest.fixture
def violations(web_tool: Callable[..., None]) -> Callable[[Any], list[tuple[str, list[str]]]]:
    """What axe finds serious or critical in a page: the rule, and elements that break it."""
    script = (ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")

    def find(page: Any) -> list[tuple[str, list[str]]]:
        page.evaluate(script)  # by the devtools' way, since the policy lets no script in that is not the server's own
        return [
            (each["id"], [node["html"][:200] for node in each["nodes"]][:3])
            for each in page.evaluate("axe.run().then((all) => all.violations)")
            if each["impact"] in ("serious", "critical")
        ]

    return find
