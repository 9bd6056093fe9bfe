"""The machine: its folders, the file system that they lie on, and its clock."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.cli.checks.check import Check, Level
from headway.reporter.folders import Folders

NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs",
        "lustre", "nfs", "nfs4", "smb3", "smbfs",
    }
)  # fmt: skip

_LOW_DISK: Final = 1 << 30
"""Bytes free below which a folder has too little room."""
_SKEW: Final = 2.0
"""Seconds that two clocks may differ."""


def places(folders: Folders) -> Iterator[Check]:
    """The folders: there, ours alone, with room left."""
    for subject, path in (("state folder", folders.state), ("runtime folder", folders.runtime)):
        nearest = next(each for each in (path, *path.parents) if each.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            yield Check(
                Level.FAIL, subject, f"{nearest} cannot be written to", f"chown or chmod {nearest}, or set HEADWAY_HOME"
            )
        elif nearest != path:
            yield Check(Level.OK, subject, f"{path}, made when it is first needed")
        elif path.stat().st_uid != os.getuid():
            yield Check(
                Level.FAIL, subject, f"{path} belongs to somebody else", "set HEADWAY_HOME to a folder of your own"
            )
        elif stat.S_IMODE(path.stat().st_mode) & 0o022:
            yield Check(Level.WARN, subject, f"others can write to {path}", f"chmod 700 {path}")
        else:
            free = shutil.disk_usage(path).free
            level, todo = (
                (Level.WARN, "make room: reports are refused when the disk is full")
                if free < _LOW_DISK
                else (Level.OK, "")
            )
            yield Check(level, subject, f"{path}, {free / (1 << 30):.1f} GiB free", todo)


def mount_type(path: Path, mounts: str) -> str | None:
    """The type of the file system that ``path`` lies on, by the text of /proc/mounts."""
    best, kind = -1, None
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        point = Path(parts[1].replace("\\040", " "))
        if (path == point or point in path.parents) and len(point.parts) > best:
            best, kind = len(point.parts), parts[2]
    return kind


def file_system(path: Path) -> Check:
    """Whether the store's folder is shared over a network, which a database does not bear well."""
    try:
        kind = mount_type(path.resolve(), Path("/proc/mounts").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        kind = None
    if kind in NETWORK_FILE_SYSTEMS:
        todo = "set HEADWAY_HOME to a folder on a local disk: locks and commits on a network file system cannot be relied on"
        return Check(Level.WARN, "file system", f"{path} lies on {kind}", todo)
    return Check(Level.OK, "file system", f"{kind or 'unknown type'}, local")


def clock(path: Path) -> Check:
    """Whether this host and the file system agree on the time, and the time is a plausible one."""
    now = time.time()
    if time.gmtime(now).tm_year < 2024:
        return Check(
            Level.WARN,
            "clock",
            f"it says {time.strftime('%Y-%m-%d', time.gmtime(now))}",
            "set the clock, or start ntpd",
        )
    if path.is_dir() and os.access(path, os.W_OK):
        probe = path / f".clock-{os.getpid()}"
        probe.touch()
        skew = probe.stat().st_mtime - time.time()
        probe.unlink()
        if abs(skew) > _SKEW:
            return Check(
                Level.WARN,
                "clock",
                f"the file system's clock is {skew:+.1f} s off this host's",
                "synchronise both by NTP",
            )
    return Check(Level.OK, "clock", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now)))
