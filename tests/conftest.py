"""Rules for the whole suite: nothing touches the user's own files, and where nothing may be skipped, a skip is a failure."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

WEB = Path(__file__).parents[1] / "web"

_NO_SKIPS = "HEADWAY_TEST_NO_SKIPS" in os.environ  # read here: no test sees the variable
_HEADWAY_VARIABLES = tuple(name for name in os.environ if name.startswith(("HEADWAY_", "KUBEFLOW_TRAINER_")))


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a Headway home of its own, and no setting of whoever runs the suite."""
    for name in _HEADWAY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("headway-home")
    monkeypatch.setenv("HEADWAY_HOME", str(home))
    return home


@pytest.fixture
def headway_home(_own_home: Path) -> Path:
    """The folder that HEADWAY_HOME names during this test."""
    return _own_home


@pytest.fixture(scope="session")
def web_tool() -> Callable[..., None]:
    """Runs one of the dashboard's own tools; web/node_modules is installed where it is missing, or not of this lock file."""
    spec = importlib.util.spec_from_file_location("hatch_build", WEB.parent / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    try:
        node, npm = hook.machine_node() or hook.pypi_node()
    except SystemExit as error:
        pytest.skip(str(error))
    path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = os.environ | {"PATH": path, "NODE_USE_SYSTEM_CA": "1", "CI": "true"}
    with (WEB / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted, installed = json.load(lock)["packages"], WEB / "node_modules" / ".package-lock.json"
        there = json.loads(installed.read_text()).get("packages", {}) if installed.exists() else {}
        if any(
            name and not package.get("optional") and there.get(name, {}).get("version") != package["version"]
            for name, package in wanted.items()
        ):
            install = [node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(install, cwd=WEB, env=env, check=True, capture_output=True, timeout=600)

    def run(tool: str, *arguments: str) -> None:
        command = [node, str(WEB / "node_modules" / tool), *arguments]
        done = subprocess.run(command, cwd=WEB, env=env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{tool} {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"

    return run


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Turns a skip into a failure where HEADWAY_TEST_NO_SKIPS is set."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and not hasattr(report, "wasxfail") and _NO_SKIPS:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped where nothing may be: {report.longrepr}"
