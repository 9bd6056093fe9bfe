"""Rules for the whole suite: nothing touches the user's own files, and where nothing may be skipped, a skip is a failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Turns a skip into a failure where HEADWAY_TEST_NO_SKIPS is set."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and not hasattr(report, "wasxfail") and "HEADWAY_TEST_NO_SKIPS" in os.environ:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped where nothing may be: {report.longrepr}"
