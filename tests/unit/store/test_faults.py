"""Real faults: a full disk, SIGKILL under load, folders and files that cannot be written, damaged databases, a second owner."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.errors import StoreCorruptError, StoreLockedError, UnavailableError
from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey
from headway.store.sqlite import SqliteSettings, SqliteStore
from headway.store.sqlite.failures import translate
from headway.testing.store_driver import JOB, Opened, at, document, reported, steps

PRELUDE = """
import json, os, resource, sys, threading, time
from pathlib import Path
from headway.errors import HeadwayError
from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey
from headway.store.sqlite import SqliteSettings, SqliteStore
from headway.testing.store_driver import JOB, Opened, at, document, reported, steps
folder = Path(sys.argv[1])
"""


def child(script: str, folder: Path) -> subprocess.Popen[str]:
    """A process of its own that runs a script on a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(script: str, folder: Path) -> dict[str, object]:
    """What a script printed as JSON."""
    process = child(script, folder)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return json.loads(out)  # type: ignore[no-any-return]


# A full disk


def test_a_full_disk_fails_writes_leaves_reads_and_heals(tmp_path: Path) -> None:
    # the limit on a file's size is the kernel's: writes beyond it fail as they do on a full disk
    said = result(
        """
        opened = Opened(SqliteStore(folder, settings=SqliteSettings(compact_rows=4, idle_seconds=0.01)))
        kept, seq = 0, 0
        opened.keep(document("d"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
        error = None
        while error is None:
            seq += 1
            (error,) = opened.write(reported(seq, *(at(seq * 100 + i, loss=hash((seq, i)) / 7) for i in range(100))))
            kept += error is None
        failing = [type(opened.write(reported(seq, at(seq * 100, loss=1), text="x" * 10_000))[0]).__name__ for _ in range(5)]
        series = opened.store.series(JOB, SeriesQuery(points=10**6))
        documents = [job.document.decode() for job in opened.store.load()]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        healed = opened.write(reported(seq, *(at(seq * 100 + i, loss=i) for i in range(100)), text="after"))
        whole = opened.store.series(JOB, SeriesQuery(points=10**6))
        stats = opened.store.stats()
        opened.store.close()
        print(json.dumps({
            "error": type(error).__name__, "failing": failing, "kept": kept, "points": len(series[0].points),
            "documents": documents, "healed": [str(each) for each in healed], "whole": len(whole[0].points),
            "failed": stats.failed_writes, "text": str(error), "expected": [100 * kept, 100 * kept + 100],
        }))
        """,
        tmp_path,
    )
    assert said["error"] == "UnavailableError"
    assert "headway.db" in str(said["text"])
    assert said["failing"] == ["UnavailableError"] * 5
    assert said["failed"] == 6
    assert said["documents"] == ["d"]
    assert said["healed"] == ["None"]
    assert [said["points"], said["whole"]] == said["expected"]
    with_all = Opened(SqliteStore(tmp_path))
    (series,) = with_all.store.series(JOB, SeriesQuery(points=10**6))
    assert len(series.points) == said["whole"]
    assert [job.document for job in with_all.store.load()] == [b"after"]
    with_all.store.close()


def test_no_space_to_open_is_unavailable(tmp_path: Path) -> None:
    said = result(
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        store = SqliteStore(folder)
        try:
            store.open(print)
        except HeadwayError as error:
            said = [type(error).__name__, str(error)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        opened = Opened(store)
        opened.keep(document("d"))
        store.close()
        print(json.dumps({"said": said}))
        """,
        tmp_path,
    )
    assert said["said"][0] == "UnavailableError", said  # type: ignore[index]


def test_sqlites_own_word_for_a_full_disk(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "small.db")
    connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.Error) as caught:
        connection.execute("CREATE TABLE t AS SELECT randomblob(100000)")
    connection.close()
    error = translate(caught.value, tmp_path / "small.db")
    assert isinstance(error, UnavailableError)
    assert "no space is left" in str(error)


# Being killed


@pytest.mark.parametrize("compact_rows", [1, 10**6], ids=["compacting", "as it came"])
def test_every_acknowledged_write_survives_sigkill(tmp_path: Path, compact_rows: int) -> None:
    process = child(
        f"""
        class Load:
            def done(self, completions):
                lines = []
                for (job, seq), error in completions:
                    assert error is None, error
                    lines.append(f"{{job}} {{seq}}\\n")
                os.write(1, "".join(lines).encode())  # the acknowledgement: now it counts
                for (job, seq), _ in completions:
                    self.send(job, seq + 1)
            def send(self, job, seq):
                write = reported(seq, at(2 * seq, loss=seq), at(2 * seq + 1, loss=-seq), key=JobKey("local", f"job-{{job}}"),
                                 text=str(seq))
                store.submit(write, (job, seq))
        settings = SqliteSettings(compact_rows={compact_rows}, compact_rows_at_most={compact_rows}, idle_seconds=0.001)
        store, load = SqliteStore(folder, settings=settings), Load()
        store.open(load.done)
        for job in range(16):
            load.send(job, 1)
        time.sleep(60)
        """,
        tmp_path,
    )
    assert process.stdout is not None
    acknowledged: dict[int, int] = {}
    killer = threading.Timer(1.0, process.kill)
    killer.start()
    for line in process.stdout:
        if line.endswith("\n"):
            job, seq = map(int, line.split())
            assert seq == acknowledged.get(job, 0) + 1
            acknowledged[job] = seq
    process.communicate()
    killer.join()
    assert process.returncode == -signal.SIGKILL
    assert sum(acknowledged.values()) > 100

    store = SqliteStore(tmp_path)
    store.open(lambda _: None)
    documents = {job.key.name: int(job.document) for job in store.load()}
    for job, last in acknowledged.items():
        (series,) = store.series(JobKey("local", f"job-{job}"), SeriesQuery(points=10**6))
        assert steps(series) == list(range(2, 2 + len(series.points)))
        assert len(series.points) >= 2 * last
        # the report under way when it was killed may be there: whole, with its document, or not at all
        assert len(series.points) == 2 * documents[f"job-{job}"]
    store.close()


# Folders and files that cannot be written


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an unprivileged user may look into: root is refused nothing, so such a user has to try."""
    folder = Path(tempfile.mkdtemp(prefix="headway-store-"))
    folder.chmod(0o755)
    yield folder
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o700)
    shutil.rmtree(folder)


TRY = """
store = SqliteStore(folder)
if os.geteuid() == 0:  # after the imports, which such a user may not be able to read
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    store.open(print)
except HeadwayError as error:
    print(json.dumps({"kind": type(error).__name__, "text": str(error)}))
"""


@pytest.mark.parametrize("exists", [True, False], ids=["read-only", "cannot be made"])
def test_a_read_only_folder_says_so(open_folder: Path, exists: bool) -> None:
    open_folder.chmod(0o555)
    said = result(TRY, open_folder if exists else open_folder / "below")
    assert said["kind"] == "UnavailableError"
    assert "cannot be written" in str(said["text"])
    assert str(open_folder) in str(said["text"])


def test_a_read_only_database_says_so(open_folder: Path) -> None:
    opened = Opened(SqliteStore(open_folder))
    opened.keep(document("d"))
    opened.store.close()
    (open_folder / "headway.lock").chmod(0o666)
    (open_folder / "headway.db").chmod(0o444)
    said = result(TRY, open_folder)
    assert said["kind"] == "UnavailableError"
    assert "headway.db cannot be written" in str(said["text"])


def test_a_lock_of_another_program_is_waited_for_then_reported(tmp_path: Path) -> None:
    opened = Opened(SqliteStore(tmp_path, settings=SqliteSettings(busy_seconds=0.05)))
    backup = sqlite3.connect(tmp_path / "headway.db", isolation_level=None)
    backup.execute("BEGIN IMMEDIATE")
    (error,) = opened.write(document("d"))
    assert isinstance(error, UnavailableError)
    assert "another program" in str(error)
    backup.execute("ROLLBACK")
    backup.close()
    opened.keep(document("d"))
    opened.store.close()


# Two owners


def test_a_second_process_is_refused_by_the_name_of_the_first_until_it_is_gone(tmp_path: Path) -> None:
    holder = child(
        "Opened(SqliteStore(folder)).keep(document('first')); print('open', flush=True); time.sleep(60)", tmp_path
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    store = SqliteStore(tmp_path)
    with pytest.raises(StoreLockedError, match=f"process {holder.pid} holds the folder"):
        store.open(lambda _: None)
    holder.kill()
    holder.communicate()
    opened = Opened(store)
    assert [job.document for job in store.load()] == [b"first"]
    opened.keep(document("second"))
    store.close()


# Damage


def filled(folder: Path) -> None:
    opened = Opened(SqliteStore(folder, settings=SqliteSettings(compact_rows=1, compact_rows_at_most=1)))
    for number in range(50):
        key = JobKey("local", f"job-{number}")
        opened.keep(reported(1, *(at(i, loss=i / 7) for i in range(600)), key=key, text="document " * 100))
    opened.store.close()


def read_all(folder: Path) -> None:
    store = SqliteStore(folder)
    try:
        store.open(lambda _: None)
        for job in store.load():
            store.series(job.key, SeriesQuery())
    finally:
        store.close()


def not_a_database(path: Path) -> None:
    path.write_text("this is no database, however long it is\n" * 1000)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def all_but_the_first_page(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))


def half_of_the_first_page(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xa5" * 3996 + data[4096:])


@pytest.mark.parametrize("damage", [not_a_database, cut_in_half, all_but_the_first_page, half_of_the_first_page])
def test_a_damaged_database_is_corrupt_and_says_how_to_go_on(tmp_path: Path, damage: object) -> None:
    filled(tmp_path)
    damage(tmp_path / "headway.db")  # type: ignore[operator]
    with pytest.raises(StoreCorruptError) as caught:
        read_all(tmp_path)
    assert str(tmp_path / "headway.db") in str(caught.value)
    assert ".recover" in str(caught.value)
    assert "move headway.db" in str(caught.value)


def test_damage_in_one_history_is_of_that_job_alone(tmp_path: Path) -> None:
    filled(tmp_path)
    connection = sqlite3.connect(tmp_path / "headway.db")
    connection.execute(
        "UPDATE chunk SET points = x'00' WHERE series = (SELECT s.id FROM series s JOIN attempt a ON a.id = s.attempt "
        "JOIN job j ON j.id = a.job WHERE j.name = 'job-7')"
    )
    connection.commit()
    connection.close()
    opened = Opened(SqliteStore(tmp_path, settings=SqliteSettings(compact_rows=1, compact_rows_at_most=1)))
    key, other = JobKey("local", "job-7"), JobKey("local", "job-8")
    with pytest.raises(StoreCorruptError, match="job local/job-7 is damaged"):
        opened.store.series(key, SeriesQuery())
    assert len(opened.store.series(other, SeriesQuery())[0].points) == 600
    opened.keep(reported(2, at(600, loss=1), key=key), reported(2, at(600, loss=1), key=other))  # and it can go on
    assert len(opened.store.series(other, SeriesQuery())[0].points) == 601
    opened.keep(reported(3, at(601, loss=1), key=key), reported(3, at(601, loss=1), key=other))
    assert len(list(opened.store.load())) == 50
    opened.store.close()


def test_a_damaged_end_of_the_log_costs_only_that_end(tmp_path: Path) -> None:
    process = child(
        """
        opened = Opened(SqliteStore(folder))
        for seq in range(1, 101):
            opened.keep(reported(seq, at(seq, loss=seq), text=str(seq)))
        print("open", flush=True)
        time.sleep(60)
        """,
        tmp_path,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    process.kill()
    process.communicate()
    log = tmp_path / "headway.db-wal"
    data = log.read_bytes()
    log.write_bytes(data[:-2000] + b"\xa5" * 2000)
    store = SqliteStore(tmp_path)
    store.open(lambda _: None)
    (series,) = store.series(JOB, SeriesQuery())
    (job,) = store.load()
    assert 50 < len(series.points) < 100
    assert steps(series) == list(range(1, len(series.points) + 1))
    assert int(job.document) == len(series.points)
    store.close()


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "headway.db")
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    before = (tmp_path / "headway.db").read_bytes()[100:]
    with pytest.raises(StoreCorruptError, match="belongs to another program"):
        SqliteStore(tmp_path).open(lambda _: None)
    assert (tmp_path / "headway.db").read_bytes()[100:] == before
