"""The dashboard's sources: types, style, unit tests, the API's types up to date, and a build that fits its budget."""

from __future__ import annotations

import gzip
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WEB = ROOT / "web"
STATIC = ROOT / "src" / "headway" / "server" / "static"
KB = 1000


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(700)
def test_types_hold(web_tool):
    web_tool("typescript/bin/tsc", "--noEmit")


@pytest.mark.timeout(700)
def test_style_and_lint(web_tool):
    web_tool("@biomejs/biome/bin/biome", "check")


@pytest.mark.timeout(700)
def test_units(web_tool):
    web_tool("vitest/vitest.mjs", "run")


@pytest.mark.timeout(700)
def test_types_of_the_api_are_those_of_the_server(web_tool):
    command = [sys.executable, str(ROOT / "tools" / "generate_web_types.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()


@pytest.fixture(scope="module")
def built():
    """The built dashboard of these sources."""
    if load(ROOT / "hatch_build.py").is_stale():
        pytest.skip("the dashboard is not built, or older than web/: make dashboard")
    return STATIC


def test_the_first_load_is_small(built):
    page = (built / "index.html").read_text()
    first = dict.fromkeys((".js", ".css"), 0)
    for path in (built / "assets").iterdir():
        if f"assets/{path.name}" in page and path.suffix in first:
            first[path.suffix] += len(gzip.compress(path.read_bytes(), 6))
    assert 0 < first[".js"] < 300 * KB, first
    assert 0 < first[".css"] < 120 * KB, first


def test_the_page_needs_nothing_from_elsewhere(built):
    page = (built / "index.html").read_text()
    assert "http://" not in page
    assert "https://" not in page
    assert "<style" not in page
    assert "<script>" not in page


def test_a_change_in_the_sources_makes_the_build_stale(built, tmp_path):
    hook = load(ROOT / "hatch_build.py")
    hook.WEB = tmp_path / "web"
    shutil.copytree(WEB, hook.WEB, ignore=shutil.ignore_patterns("node_modules"))
    assert not hook.is_stale()
    with (hook.WEB / "src" / "main.tsx").open("a") as source:
        source.write("\n")
    assert hook.is_stale()
