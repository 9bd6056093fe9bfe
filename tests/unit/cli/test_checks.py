"""What ``headway doctor`` finds out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway.cli.checks import Level, environment, machine, servers
from headway.reporter.discovery import ServerRecord, write_record
from headway.reporter.folders import Folders

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
nas:/home /home nfs4 rw 0 0
tmpfs /home/ada/my\\040scratch tmpfs rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/headway", "ext4"),
        ("/home/ada/.local/state/headway", "nfs4"),
        ("/homework", "ext4"),
        ("/home/ada/my scratch/x", "tmpfs"),
    ],
)
def test_mount_type(path: str, kind: str) -> None:
    assert machine.mount_type(Path(path), MOUNTS) == kind
    assert (kind in machine.NETWORK_FILE_SYSTEMS) == (kind == "nfs4")


def test_folders(tmp_path: Path) -> None:
    fresh = list(machine.places(Folders(tmp_path / "a" / "state", tmp_path / "a" / "run")))
    assert [each.level for each in fresh] == [Level.OK, Level.OK]
    assert "made when it is first needed" in fresh[0].text
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    warned = next(machine.places(Folders(shared, shared)))
    assert warned.level is Level.WARN
    assert f"chmod 700 {shared}" in warned.todo


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    found = next(machine.places(Folders(in_the_way / "state", in_the_way / "run")))
    assert found.level is Level.FAIL
    assert "HEADWAY_HOME" in found.todo


def test_clock_probe_leaves_nothing_behind(tmp_path: Path) -> None:
    assert machine.clock(tmp_path).level is Level.OK
    assert list(tmp_path.iterdir()) == []


def test_server_that_is_not_there_and_one_that_cannot_prove_itself(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "state", tmp_path / "run")
    assert servers.server(folders).level is Level.OK
    write_record(folders.server_record, ServerRecord(url="http://127.0.0.1:9", token="t", pid=1, version="0"))
    stale = servers.server(folders)
    assert (stale.level, stale.todo) == (Level.WARN, "headway server start")
    folders.server_record.chmod(0o644)
    assert servers.server(folders).level is Level.FAIL


def test_remote_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HEADWAY_TOKEN", "t")
    assert servers.remote("http://127.0.0.1:9").level is Level.FAIL


def test_variables(tmp_path: Path) -> None:
    found = {
        each.subject: each
        for each in environment.variables(
            {
                "PATH": "/bin",
                "HEADWAY_DISABLED": "1",
                "HEADWAY_HOEM": "/x",
                "HEADWAY_TOKEN": "secret",
                "HEADWAY_URL": "http://gpu-01:4321",
                "HEADWAY_CA_FILE": str(tmp_path / "none"),
                "HEADWAY_AUTO": "0",
                "HEADWAY_INTERVAL": "2",
            }
        )
    }
    assert "PATH" not in found
    assert {name for name, each in found.items() if each.level is Level.WARN} == {
        "HEADWAY_DISABLED", "HEADWAY_HOEM", "HEADWAY_AUTO",
    }  # fmt: skip
    assert found["HEADWAY_CA_FILE"].level is Level.FAIL
    assert "secret" not in found["HEADWAY_TOKEN"].text


def test_url_without_a_token() -> None:
    (only,) = environment.variables({"HEADWAY_URL": "http://gpu-01:4321"})
    assert only.level is Level.WARN


def test_every_variable_that_the_code_reads_is_known_to_the_doctor() -> None:
    source = Path(environment.__file__).parents[2]
    texts = (path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    read = {name for text in texts for name in re.findall(r"\bHEADWAY_[A-Z_]*[A-Z]\b", text)} - {"HEADWAY_TEST"}
    assert read <= environment.VARIABLES
