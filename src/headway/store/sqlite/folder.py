"""The folder that a database lies in: made, locked against a second server, and looked at for where it really is."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import re
from pathlib import Path
from typing import Final

from headway.errors import StoreLockedError, UnavailableError

logger = logging.getLogger(__name__)

NETWORK_FILE_SYSTEMS: Final = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "gpfs", "lustre",
    "ncpfs", "nfs", "nfs4", "smb3", "smbfs",
})  # fmt: skip
"""Types of mounts on which SQLite's shared memory and locks cannot be relied upon."""


class FolderLock:
    """Holds the folder for this process, from :meth:`acquire` to :meth:`release`. A killed process lets go by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Takes the lock.

        Raises:
            StoreLockedError: another process has it; names that process.
            UnavailableError: the folder cannot be made or written.
        """
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnavailableError(
                f"the folder {folder} cannot be written ({error.strerror}); make it writable, or name another one"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreLockedError(
                    f"process {holder or '(unknown)'} holds the folder {folder}; stop it first, or name another folder"
                ) from error
            raise UnavailableError(f"the folder {folder} cannot be locked: {error.strerror}") from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Lets go; the file stays, for removing it would race with the next holder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def file_system(folder: Path, mounts: str) -> str:
    """Type of the file system that a folder lies on, by the text of ``/proc/mounts``; empty when that does not say."""
    resolved = folder.resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mounted = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1]))
        depth = len(mounted.parts)
        if depth >= best and resolved.is_relative_to(mounted):
            best, kind = depth, fields[2]
    return kind


def warn_of_network(folder: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """Logs a warning when the folder lies on a network file system."""
    try:
        kind = file_system(folder, mounts.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        logger.debug("cannot tell what file system %s lies on: %s", folder, error)
        return
    if kind in NETWORK_FILE_SYSTEMS:
        logger.warning(
            "%s lies on a network file system (%s), on which locks may fail and a database may be damaged: "
            "name a folder on a local disk (HEADWAY_HOME moves all of Headway's)",
            folder,
            kind,
        )
