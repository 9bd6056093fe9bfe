"""A server knows its own addresses, also those that it had before a restart."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from headway.server.addresses import Addresses


@pytest.fixture
def own(tmp_path: Path) -> Addresses:
    before = Addresses(tmp_path / "deep" / "addresses")
    before.add("http://127.0.0.1:41234")
    before.add("http://127.0.0.1:7447")
    after = Addresses(tmp_path / "deep" / "addresses", frozenset({"gpu-head.example"}))
    after.add("http://127.0.0.1:7447")
    assert (tmp_path / "deep" / "addresses").read_text().split() == ["http://127.0.0.1:41234", "http://127.0.0.1:7447"]
    return after


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:7447",
        "http://127.0.0.1:7447/",
        "http://127.0.0.1:41234",
        "http://localhost:7447",
        "http://[::1]:7447",
        "https://GPU-head.example",
        f"http://{socket.gethostname()}:7447",
    ],
)
def test_its_own(own: Addresses, url: str) -> None:
    assert url in own


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:7448",
        "http://127.0.0.1",
        "https://headway.example:7447",
        "http://127.0.0.1.example:7447",
        "http://127.0.0.1:7447/prefix",
        "http://127.0.0.1:x",
        "http://[::1",
        "",
        "nonsense",
    ],
)
def test_not_its_own(own: Addresses, url: str) -> None:
    assert url not in own


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    own = Addresses(tmp_path / "file" / "addresses")
    own.add("http://127.0.0.1:1")
    assert "http://127.0.0.1:1" in own
