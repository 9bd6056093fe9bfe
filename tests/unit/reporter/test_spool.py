"""Spool files: one writer, whole lines, nothing lost, nothing taken twice."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from headway.errors import StoreCorruptError, UnavailableError
from headway.reporter.transports.spool import SpoolHeader, SpoolWriter, read_spool

HEADER = SpoolHeader("local", "a/b ü", "RUN", "ATTEMPT")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "deep" / "run.jsonl", HEADER)
    writer.append({"a": "\n é"})
    writer.append(b'{"b":2}', attempt="A", run="R", seq=4)
    header, lines = read_spool(writer.path)
    assert header == HEADER
    first, second = lines
    assert (first.body, first.seq) == ({"a": "\n é"}, None)
    assert (second.body, second.attempt, second.run, second.seq) == ({"b": 2}, "A", "R", 4)
    assert first.at <= second.at
    assert writer.path.stat().st_mode & 0o077 == 0


def test_a_file_says_which_server_it_is_for(tmp_path: Path) -> None:
    for server in (None, "https://headway.example:8443"):
        writer = SpoolWriter(tmp_path / f"{server is None}.jsonl", HEADER._replace(server=server))
        assert read_spool(writer.path)[0].server == server


def test_lines_are_handed_back_in_order_until_none_is_left(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "run.jsonl", HEADER)
    for number in range(5):
        writer.append({"n": number, "fill": "x" * 300_000})
    seen = []
    while (line := writer.first()) is not None:
        seen.append(line.body["n"])
        if line.body["n"] == 2:
            writer.append({"n": 5})
        writer.drop()
    assert seen == [0, 1, 2, 3, 4, 5]
    writer.close(delete=True)
    assert not writer.path.exists()
    with pytest.raises(UnavailableError):
        writer.append({})


def test_a_torn_line_is_ignored_and_never_glued_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = SpoolWriter(path, HEADER)
    writer.append({"n": 1})
    writer.close()
    with path.open("ab") as file:
        file.write(b'{"at": 1, "body": {"n"')
    _, lines = read_spool(path)
    assert [line.body["n"] for line in lines] == [1]
    again = SpoolWriter(path, HEADER)
    again.append({"n": 2})
    _, lines = read_spool(path)
    assert [line.body["n"] for line in lines] == [1, 2]
    assert again.first().body == {"n": 1}


@pytest.mark.parametrize("jump", [-18_000.0, 18_000.0])
def test_a_wall_clock_that_is_set_does_not_change_ages(tmp_path: Path, monkeypatch, jump: float) -> None:
    writer = SpoolWriter(tmp_path / "run.jsonl", HEADER)
    writer.append({"n": 1})
    wall = time.time
    monkeypatch.setattr("headway.reporter.transports.spool.time.time", lambda: wall() + jump)
    writer.append({"n": 2})
    for _ in range(2):
        line = writer.first()
        assert line is not None
        assert 0.0 <= writer.age(line) < 60.0
        writer.drop()


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = SpoolWriter(path, HEADER)
    with pytest.raises(UnavailableError):
        SpoolWriter(path, HEADER)
    writer.close()
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # now the intake may have it
    os.close(descriptor)


@pytest.mark.parametrize("text", ["", "hello\n", '{"spool": 2}\n', '{"spool": 1, "name": "x"}\n', "[]\n"])
def test_what_is_no_spool_file_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(StoreCorruptError):
        read_spool(path)
