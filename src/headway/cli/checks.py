"""What ``headway doctor`` looks at: each check says how it stands and, where that is not well, what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from headway.adapters import auto
from headway.errors import HeadwayError
from headway.reporter.folders import Folders


class Level(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    level: Level
    subject: str
    text: str
    todo: str = ""


NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs",
        "lustre", "nfs", "nfs4", "smb3", "smbfs",
    }
)  # fmt: skip

VARIABLES: Final = frozenset(
    {
        "HEADWAY_URL", "HEADWAY_TOKEN", "HEADWAY_TOKEN_FILE", "HEADWAY_JOB", "HEADWAY_ATTEMPT", "HEADWAY_HOME",
        "HEADWAY_DISABLED", "HEADWAY_INTERVAL", "HEADWAY_FINISH_TIMEOUT", "HEADWAY_CA_FILE", "HEADWAY_RUNNER",
        "HEADWAY_RELAY_FOR", "HEADWAY_STALL_FLOOR", "HEADWAY_STACKS", "HEADWAY_SERVER_HOST", "HEADWAY_SERVER_PORT",
        "HEADWAY_SERVER_STORE", "HEADWAY_SERVER_ALLOWED_HOSTS", "HEADWAY_SERVER_OPEN_METRICS", "HEADWAY_LOGS_MAX_DAYS",
        "HEADWAY_LOGS_MAX_BYTES", "HEADWAY_SKIP_DASHBOARD", "HEADWAY_AUTO", "HEADWAY_TRAINING_PID", "HEADWAY_GRACE",
    }
)  # fmt: skip

_EXTRAS: Final = {
    "client": ("httpx2",),
    "server": ("litestar", "uvicorn", "msgspec", "jwt"),
    "demo": ("numpy",),
}
_TWO_LINES: Final = "two lines: headway.track() and run.step()"
_FRAMEWORKS: Final = {
    **{
        name.partition(".")[0]: "found by itself under headway run" for name in auto.HOOKS if not name.startswith("jax")
    },
    "trl": "found by itself under headway run",
    "jax": "one line: headway.adapters.jax.watch(step)",
    "keras": _TWO_LINES,
    "kubeflow": "update_trainjob_status() reports to Headway under headway run",
}
"""Modules, and how a training with them is tracked."""
_LOW_DISK = 1 << 30
_SKEW = 2.0


def every_check(environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """All checks, one after the other, as they come out."""
    folders = Folders.from_env(environ)
    yield python()
    yield from extras()
    yield from places(folders)
    yield file_system(folders.state)
    yield clock(folders.state)
    yield server(folders)
    yield from spooled(folders)
    if environ.get("HEADWAY_URL"):
        yield remote(environ["HEADWAY_URL"])
    yield from frameworks()
    yield from variables(environ)


def python() -> Check:
    """The interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Check(Level.OK, "python", f"{version}, {sys.executable}; headway {importlib.metadata.version('headway')}")


def extras() -> Iterator[Check]:
    """What is installed beside the core."""
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if missing:
            todo = f"pip install 'headway[{extra}]', if you want {_wanted_for(extra)}"
            yield Check(Level.WARN, f"extra {extra}", f"{', '.join(missing)} not installed", todo)
        else:
            yield Check(Level.OK, f"extra {extra}", "installed")


def _wanted_for(extra: str) -> str:
    return {"client": "to look at jobs", "server": "a server on this machine", "demo": "headway demo"}[extra]


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


def server(folders: Folders) -> Check:
    """The server of this machine: there, the one it claims to be, ready, of this version."""
    from headway.client.local_server import server_status

    try:
        found = server_status(folders)
    except HeadwayError as error:
        return Check(Level.FAIL, "server", str(error), "headway server stop, remove the file, headway server start")
    if not found.running:
        if folders.server_record.exists():
            text = "its record is there, but nothing answers at that address that can prove to be it"
            return Check(Level.WARN, "server", text, "headway server start")
        return Check(Level.OK, "server", "not running; headway run starts it")
    ours = importlib.metadata.version("headway")
    if not found.ready:
        return Check(Level.FAIL, "server", f"{found.url} is up, but not ready to work", f"see {found.log}")
    if found.version != ours:
        return Check(
            Level.WARN,
            "server",
            f"it is version {found.version}, this is {ours}",
            "headway server stop; headway server start",
        )
    return Check(Level.OK, "server", f"{found.url}, process {found.pid}, proved to be yours")


def spooled(folders: Folders) -> Iterator[Check]:
    """Reports that wait for a server on another machine; one here takes its own in by itself."""
    from headway.reporter.transports.spool import read_spool

    waiting: dict[str, int] = {}
    for path in folders.spool.glob("*.jsonl"):
        try:
            header, lines = read_spool(path)
            if header.server is not None:
                waiting[header.server] = waiting.get(header.server, 0) + sum(1 for _ in lines)
        except (OSError, HeadwayError):
            continue  # gone meanwhile, or no spool file: the server puts that aside, and says so
    for address, count in sorted(waiting.items()):
        text = f"{count} report{'' if count == 1 else 's'} in {folders.spool} for {address}"
        todo = f"HEADWAY_URL={address} headway run … hands them on, with a token that opens everything there"
        yield Check(Level.WARN, "kept reports", text, todo)


def remote(url: str) -> Check:
    """The server that HEADWAY_URL names."""
    from headway.client.client import Client
    from headway.protocol.job import JobQuery

    try:
        with Client(timeout=5) as client:
            health = client.health()
            if health.ready:
                client.jobs(JobQuery(limit=1))
    except HeadwayError as error:
        return Check(Level.FAIL, "HEADWAY_URL", str(error), "check HEADWAY_URL, HEADWAY_TOKEN and the network")
    if not health.ready:
        return Check(Level.FAIL, "HEADWAY_URL", f"{url} is not ready: {health.text}", "wait, or look at its log")
    return Check(Level.OK, "HEADWAY_URL", f"{url} answers, and the token opens it")


def frameworks() -> Iterator[Check]:
    """Training frameworks in this Python, and how each is tracked."""
    for name, how in _FRAMEWORKS.items():
        if importlib.util.find_spec(name) is None:
            continue
        try:
            version = importlib.metadata.version(name.replace("_", "-"))
        except importlib.metadata.PackageNotFoundError:
            continue
        yield Check(Level.OK, name, f"{version}; {how}")


def variables(environ: Mapping[str, str]) -> Iterator[Check]:
    """Environment variables that change what Headway does."""
    for name in sorted(environ):
        if not name.startswith(("HEADWAY_", "KUBEFLOW_TRAINER_")):
            continue
        value = "(set)" if name == "HEADWAY_TOKEN" else environ[name]
        if name == "HEADWAY_DISABLED" and value == "1":
            yield Check(Level.WARN, name, "1: nothing is reported", "unset HEADWAY_DISABLED")
        elif name == auto.VARIABLE and not auto.wanted(environ):
            yield Check(Level.WARN, name, f"{value}: no framework is found by itself", f"unset {name}")
        elif name.startswith("HEADWAY_") and name not in VARIABLES and not name.startswith("HEADWAY_TEST_"):
            yield Check(Level.WARN, name, "no variable of Headway has this name", "check its spelling")
        elif name == "HEADWAY_URL" and not (environ.get("HEADWAY_TOKEN") or environ.get("HEADWAY_TOKEN_FILE")):
            yield Check(Level.WARN, name, f"{value}, but no token", "set HEADWAY_TOKEN or HEADWAY_TOKEN_FILE")
        elif name in {"HEADWAY_TOKEN_FILE", "HEADWAY_CA_FILE"} and not os.access(value, os.R_OK):
            yield Check(Level.FAIL, name, f"{value} cannot be read", "check the path and its permissions")
        else:
            yield Check(Level.OK, name, value)
