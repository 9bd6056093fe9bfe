"""The dashboard's sources: types, style, unit tests, the API's types up to date, and a build that fits its budget."""

from __future__ import annotations

import fcntl
import gzip
import importlib.util
import json
import os
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


@pytest.fixture(scope="module")
def node():
    """How to run Node and npm; web/node_modules is installed where it is not, or not of this lock file."""
    hook = load(ROOT / "hatch_build.py")
    try:
        node, npm = hook.machine_node() or hook.pypi_node()
    except SystemExit as error:
        pytest.skip(str(error))
    env = os.environ | {
        "PATH": f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "NODE_USE_SYSTEM_CA": "1",
    }
    env["CI"] = "true"
    with (ROOT / "web" / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, installed = json.load(lock), WEB / "node_modules" / ".package-lock.json"
        there = json.loads(installed.read_text()).get("packages", {}) if installed.exists() else {}
        missing = [
            name
            for name, package in wanted["packages"].items()
            if name and not package.get("optional") and there.get(name, {}).get("version") != package["version"]
        ]
        if missing:
            command = [node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=WEB, env=env, check=True, capture_output=True, timeout=600)

    def run(tool: str, *arguments: str) -> None:
        command = [node, str(WEB / "node_modules" / tool), *arguments]
        done = subprocess.run(command, cwd=WEB, env=env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{tool} {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"

    return run


@pytest.mark.timeout(700)
def test_types_hold(node):
    node("typescript/bin/tsc", "--noEmit")


@pytest.mark.timeout(700)
def test_style_and_lint(node):
    node("@biomejs/biome/bin/biome", "check")


@pytest.mark.timeout(700)
def test_units(node):
    node("vitest/vitest.mjs", "run")


@pytest.mark.timeout(700)
def test_types_of_the_api_are_those_of_the_server(node):
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
