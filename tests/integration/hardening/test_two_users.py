"""Two users of one machine, with user ids of their own: the system and the servers keep what is the one's from the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

USERS = """
import json, os, sys, threading, time, traceback
from pathlib import Path

import headway
from headway import Client
from headway.errors import HeadwayError
from headway.protocol.job import JobKey
from headway.protocol.report import EndingKind
from headway.reporter.discovery import ServerRecord, find_server, read_record, write_record
from headway.reporter.folders import Folders
from headway.testing.live import live_server
from headway.testing.reports import SyntheticRun

def work(home, name):
    '''A server with one job, told of as any server is.'''
    os.environ["HEADWAY_HOME"] = str(home)
    folders = Folders.from_env()
    with live_server(home / "server") as server:
        record = ServerRecord(url=server.url, token=server.token, pid=os.getpid(), version="0")
        write_record(folders.server_record, record)
        run, key = SyntheticRun(total=3), JobKey("local", name)
        for report in (run.at(1), run.at(2), run.end(EndingKind.COMPLETED, 3)):
            server.call(server.hub.ingest(key, report, create=True))
        with Client(folders=folders) as client:
            assert [job.name for job in client.jobs().items] == [name]
        yield record, folders
    yield None

def outcome(act):
    try:
        return f"got {act()!r}"
    except (OSError, HeadwayError) as error:
        return type(error).__name__

base, uids = Path(sys.argv[1]), [int(word) for word in sys.argv[2:]]
for _ in work(base / "nobodys", "warm"):
    os.environ["HEADWAY_HOME"] = str(base / "nobodys" / "own")
    with headway.track(total_steps=1) as run:
        run.step(loss=1.0)
# All modules are loaded now: the interpreter's own files may be closed to other users.
homes = [base / name for name in ("ann", "bob")]
for home, uid in zip(homes, uids):
    home.mkdir()
    os.chown(home, uid, uid)
pipes, ends, children = [os.pipe() for _ in homes], [os.pipe() for _ in homes], []
for number, (home, uid) in enumerate(zip(homes, uids)):
    if child := os.fork():
        children.append(child)
        continue
    code = 1
    try:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        os.umask(0o022)
        working = work(home, f"of-{home.name}")
        record, folders = next(working)
        os.write(pipes[number][1], json.dumps({"url": record.url, "token": record.token}).encode() + b"\\n")
        theirs = json.loads(os.read(ends[number][0], 65536))
        other = homes[1 - number]
        hidden = Folders.from_env({"HEADWAY_HOME": str(other)})
        found = {
            "uid": os.getuid(),
            "record": outcome(lambda: hidden.server_record.read_text()),
            "keys": outcome(lambda: (other / "server" / "state" / "keys.json").read_text()),
            "list": outcome(lambda: sorted(os.listdir(other / "server" / "state"))),
            "find": outcome(lambda: find_server(hidden.server_record)),
            "client": outcome(lambda: Client(folders=hidden).jobs()),
            "my token there": outcome(lambda: Client(theirs["url"], record.token).jobs()),
            "no token there": outcome(lambda: Client(theirs["url"], "no token").jobs()),
            "mine": [job.name for job in Client(folders=folders).jobs().items],
        }
        # A home that is another's: nothing of it is used, and nothing is written there.
        os.environ["HEADWAY_HOME"] = str(other)
        with headway.track(total_steps=1) as run:
            run.step(loss=1.0)
        found["in the other's home"] = run.last_step
        print(json.dumps(found), flush=True)
        os.write(pipes[number][1], b"done\\n")
        os.read(ends[number][0], 1)
        next(working)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
for pipe in pipes:
    os.close(pipe[1])  # a child that ends has nothing more to say
said = [os.read(pipe[0], 65536) for pipe in pipes]
assert all(said), said
for number in range(2):
    os.write(ends[number][1], said[1 - number])
for pipe in pipes:
    os.read(pipe[0], 65536)
for end in ends:
    os.write(end[1], b"x")
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
assert codes == [0, 0], codes
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become two other users")
def test_neither_reads_finds_or_asks_what_is_the_others() -> None:
    with tempfile.TemporaryDirectory(prefix="headway-users-") as folder:  # pytest's own are closed to other users
        Path(folder).chmod(0o711)
        done = subprocess.run(
            [sys.executable, "-c", USERS, folder, "64101", "64102"],
            env={**os.environ, "HOME": folder},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    seen = {each["uid"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert set(seen) == {64101, 64102}
    assert [seen[uid]["mine"] for uid in sorted(seen)] == [["of-ann"], ["of-bob"]]
    for each in seen.values():
        assert each["record"] == each["keys"] == each["list"] == "PermissionError", each
        assert each["find"] == "got None", each
        assert each["client"] in {"UnavailableError", "SettingsError"}, each
        assert each["my token there"] == each["no token there"] == "ForbiddenError", each
        assert each["in the other's home"] == 1, each
