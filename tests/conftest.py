"""Rules for the whole suite: nothing touches the user's own files, and where nothing may be skipped, a skip is a failure.

With several workers (``pytest -n``, which is how ``make test`` runs the whole), a module's tests stay with one of them, those of
a browser all with one, the slow modules begin first, and what is marked ``quiet`` runs while nothing else does.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

TESTS = Path(__file__).parent
WEB = TESTS.parent / "web"

for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    # What nohup, or a shell in the background, has the suite ignore, every process that it starts would ignore as well.
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number is signal.SIGINT else signal.SIG_DFL)

_NO_SKIPS = "HEADWAY_TEST_NO_SKIPS" in os.environ  # read here: no test sees the variable
_HEADWAY_VARIABLES = tuple(name for name in os.environ if name.startswith(("HEADWAY_", "KUBEFLOW_TRAINER_")))

for _name in ("COLUMNS", "LINES"):  # readline, which pytest imports, sets them in a worker
    os.environ.pop(_name, None)


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


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that is skipped as a whole."""
    report = yield
    if report.skipped and _NO_SKIPS:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped where nothing may be: {report.longrepr}"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first: the last ones to begin should be short."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    order = (TESTS / "e2e", TESTS / "integration")

    def place(item: pytest.Item) -> tuple[bool, int]:
        rank = next((number for number, folder in enumerate(order) if folder in item.path.parents), len(order))
        return item.path not in slow, rank

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands modules out whole, in the order above; browsers are for one worker."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = super()._split_scope(nodeid)
            return "tests/e2e" if module.startswith("tests/e2e/") else module

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """With several workers, a test marked ``quiet`` waits until the others have ended theirs, and they wait for it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    with _turn(item.config, alone=item.get_closest_marker("quiet") is not None):
        return (yield)


@contextmanager
def _turn(config: pytest.Config, *, alone: bool) -> Iterator[None]:
    """Who wants to be alone keeps the door until it is, so that others who come do not go on passing it by."""
    with _shared(config, "door") as door, _shared(config, "room") as room:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


def _shared(config: pytest.Config, name: str) -> IO[bytes]:
    """A file that all workers of this run open."""
    folder = config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    return (folder / f"{name}.lock").open("ab")
