"""Starts, stops and describes the server of this machine: one detached process per user and host, shared by all runners."""

from __future__ import annotations

import fcntl
import http.client
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headway.errors import SettingsError, UnavailableError
from headway.reporter.discovery import ServerRecord, find_server, read_record
from headway.reporter.folders import Folders, private_folder

START_TIMEOUT: Final = 20.0
"""Seconds that a server gets to become ready: a cold start on a slow disk takes a few."""

_NEEDS: Final = ("litestar", "uvicorn", "msgspec", "jwt")
_MAX_LOG: Final = 5 * 1024 * 1024
_NOT_FOR_THE_SERVER: Final = frozenset(
    {"HEADWAY_URL", "HEADWAY_TOKEN", "HEADWAY_TOKEN_FILE", "HEADWAY_JOB", "HEADWAY_ATTEMPT", "HEADWAY_DISABLED"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What is known of the server of this machine."""

    running: bool
    """It answers, and is the one that left the record."""
    ready: bool = False
    url: str | None = None
    pid: int | None = None
    version: str | None = None
    log: Path


def missing_extra() -> str | None:
    """Why no server can be started from this Python, and what to do about it; None when one can."""
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    return (
        f"no server can be started here, because {', '.join(missing)} is not installed; "
        "get it with `pip install 'headway[server]'`, or name a server with HEADWAY_URL"
    )


def server_log(folders: Folders) -> Path:
    """Where a detached server writes what it has to say."""
    return folders.state / "server.log"


def ensure_server(
    folders: Folders | None = None, *, environ: Mapping[str, str] = os.environ, timeout: float = START_TIMEOUT
) -> ServerRecord:
    """The server of this machine; started if none answers. Any number of callers at once start one.

    Args:
        folders: where the record lies; None: where ``environ`` says.
        environ: the environment that the server gets, without what names another server or a job.
        timeout: seconds to wait until it is ready.

    Raises:
        UnavailableError: it cannot be started; says why, with the end of its log where it died.
        SettingsError: the record cannot be trusted.
    """
    folders = folders or Folders.from_env(environ)
    if (record := find_server(folders.server_record)) is not None:
        return record
    if (reason := missing_extra()) is not None:
        raise UnavailableError(reason)
    end = time.monotonic() + timeout
    try:
        with _one_at_a_time(folders, end):
            if (record := find_server(folders.server_record)) is not None:
                return record
            stop_mark(folders).unlink(missing_ok=True)
            return _start(folders, environ, end)
    except OSError as error:
        raise UnavailableError(f"no server can be started: {error}; HEADWAY_HOME names another folder") from error


def _start(folders: Folders, environ: Mapping[str, str], end: float) -> ServerRecord:
    log = server_log(folders)
    private_folder(folders.state)
    if log.exists() and log.stat().st_size > _MAX_LOG:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as output:
        start = output.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.app"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_environment(folders, environ),
            start_new_session=True,
        )
    # It outlives this process; while this one lives, somebody has to collect its exit code.
    threading.Thread(target=process.wait, name="headway-server-wait", daemon=True).start()
    while time.monotonic() < end:
        record = find_server(folders.server_record, timeout=0.5)
        if record is not None and is_ready(record):
            return record
        if (code := process.returncode) is not None:
            # Somebody else's may have won the race for the store.
            if (record := find_server(folders.server_record)) is not None:
                return record
            raise UnavailableError(f"the server ended at once with exit code {code}{_said(log, start)}")
        time.sleep(0.05)
    raise UnavailableError(f"the server was not ready in time{_said(log, start)}")


def _environment(folders: Folders, environ: Mapping[str, str]) -> dict[str, str]:
    result = {name: value for name, value in environ.items() if name not in _NOT_FOR_THE_SERVER}
    if Folders.from_env(result) != folders:
        result["HEADWAY_HOME"] = str(folders.state.parent)
        if Folders.from_env(result) != folders:
            raise SettingsError(f"a server cannot be told to use {folders.state}; set HEADWAY_HOME instead")
    return result


def _said(log: Path, start: int) -> str:
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(start, size - 2000))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    if not lines:
        return f" and said nothing; its log is {log}"
    return "; the end of its log " + str(log) + ":\n  " + "\n  ".join(lines[-10:])


@contextmanager
def _one_at_a_time(folders: Folders, end: float) -> Iterator[None]:
    private_folder(folders.runtime)
    with (folders.runtime / "start.lock").open("ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise UnavailableError(
                        "another process is starting the server and does not come to an end"
                    ) from None
                time.sleep(0.05)
        yield


def is_ready(record: ServerRecord, *, timeout: float = 1.0) -> bool:
    """Whether the server says that it is ready to work."""
    address = urlsplit(record.url)
    connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=timeout)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def stop_mark(folders: Folders) -> Path:
    """The file that says that the server was stopped on purpose, so that runners do not bring it back."""
    return folders.runtime / "stopped"


def server_status(folders: Folders | None = None) -> ServerStatus:
    """What there is to say of the server of this machine, without starting one.

    Raises:
        SettingsError: the record cannot be trusted.
    """
    folders = folders or Folders.from_env()
    log = server_log(folders)
    record = find_server(folders.server_record)
    if record is None:
        return ServerStatus(running=False, log=log)
    return ServerStatus(
        running=True, ready=is_ready(record), url=record.url, pid=record.pid, version=record.version, log=log
    )


def stop_server(folders: Folders | None = None, *, timeout: float = 10.0) -> bool:
    """Ends the server of this machine, and tells running jobs' runners to leave it so. Their reports wait in the spool.

    Returns:
        Whether there was one.

    Raises:
        UnavailableError: it does not end, or it hangs and its process cannot be told from another.
        SettingsError: the record cannot be trusted.
    """
    folders = folders or Folders.from_env()
    record = read_record(folders.server_record)
    if record is None or not _alive(record.pid):
        return False
    if find_server(folders.server_record) is None and not _is_ours(record.pid):
        return False  # the number now belongs to some other program
    private_folder(folders.runtime)
    stop_mark(folders).touch()
    for word in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(record.pid, word)
        except ProcessLookupError:
            return True
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if not _alive(record.pid):
                return True
            time.sleep(0.05)
    raise UnavailableError(f"the server (process {record.pid}) does not end")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        # One that has ended but was not yet collected by its parent still has its number.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True


def _is_ours(pid: int) -> bool:
    try:
        return b"headway" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
