"""Where a folder lies is told from the mounts, and a network file system is warned about."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from headway.store.sqlite import SqliteStore
from headway.store.sqlite.folder import FolderLock, file_system, warn_of_network

MOUNTS = """\
/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local ext4 rw 0 0
//share /mnt/with\\040space cifs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib/headway", "ext4"),
        ("/tmp/headway", "tmpfs"),
        ("/home/ada/headway", "nfs4"),
        ("/home/local/headway", "ext4"),
        ("/homer", "ext4"),
        ("/mnt/with space/headway", "cifs"),
    ],
)
def test_the_innermost_mount_decides(folder: str, kind: str) -> None:
    assert file_system(Path(folder), MOUNTS) == kind


def test_a_network_file_system_is_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {tmp_path} nfs rw 0 0\n")
    with caplog.at_level(logging.WARNING):
        warn_of_network(tmp_path / "store", mounts)
    (record,) = caplog.records
    assert "network file system (nfs)" in record.getMessage()
    assert str(tmp_path) in record.getMessage()


def test_a_local_one_is_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_network(tmp_path, tmp_path / "no such file")
        SqliteStore(tmp_path).close()
    assert not caplog.records


def test_the_lock_names_its_holder_and_can_be_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "headway.lock"
    lock = FolderLock(path)
    lock.acquire()
    assert path.read_text() == f"{os.getpid()}\n"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    lock.release()
    lock.release()
    lock.acquire()
    lock.release()
