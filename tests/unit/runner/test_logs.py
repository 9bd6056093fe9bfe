"""Logs of commands: the old and the too many go, what is written stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.errors import SettingsError
from headway.runner.logs import LogSettings, clear_away
from headway.runner.output import Output
from headway.testing.waiting import wait_until

NOW = 1_800_000_000.0
DAY = 86400.0


def log(folder: Path, name: str, days: float, size: int = 100) -> Path:
    path = folder / f"{name}.log"
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return path


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    young, old = log(tmp_path, "young", 89), log(tmp_path, "old", 91)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    os.utime(other, (0, 0))
    assert clear_away(tmp_path, LogSettings(), NOW) == [old]
    assert young.exists()
    assert other.exists()


def test_of_too_much_the_oldest_go_first(tmp_path: Path) -> None:
    logs = [log(tmp_path, f"log-{days}", days) for days in range(10)]
    gone = clear_away(tmp_path, LogSettings(max_bytes=350.0), NOW)
    assert sorted(gone) == sorted(logs[3:])
    assert clear_away(tmp_path, LogSettings(max_bytes=350.0), NOW) == []


def test_what_is_being_written_stays_until_it_is_closed(tmp_path: Path) -> None:
    path = log(tmp_path, "job", 1000)
    output = Output(path)
    os.write(output.stdout, b"a line\n")
    assert clear_away(tmp_path, LogSettings(max_bytes=0), NOW + 1e9) == []
    output.given()
    assert "a line" in output.finish()
    # who copied it may yet be about to end
    wait_until(lambda: clear_away(tmp_path, LogSettings(max_bytes=0), NOW) == [path])


def test_links_folders_and_missing_folders_are_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "link.log").symlink_to(target)
    (tmp_path / "folder.log").mkdir()
    assert clear_away(tmp_path, LogSettings(max_age_days=0.0, max_bytes=0), 4e9) == []
    assert clear_away(tmp_path / "nowhere", LogSettings(), NOW) == []
    assert target.read_text() == "mine"


def test_settings() -> None:
    environ = {"HEADWAY_LOGS_MAX_DAYS": "0.5", "HEADWAY_LOGS_MAX_BYTES": "inf"}
    assert LogSettings.from_env(environ) == LogSettings(max_age_days=0.5, max_bytes=float("inf"))
    assert LogSettings.from_env({}) == LogSettings()
    for value in ("-1", "nan", "many"):
        with pytest.raises(SettingsError, match="HEADWAY_LOGS_MAX_DAYS"):
            LogSettings.from_env({"HEADWAY_LOGS_MAX_DAYS": value})
