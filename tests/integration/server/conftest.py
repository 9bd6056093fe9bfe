"""A real server per module, and clients with the user's token and with none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from headway.testing import LiveServer, live_server
from headway.testing.waiting import wait_until

SHARED = Path(__file__).parents[3] / ".." / "shared"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server over SQLite, for all tests of a module: each uses jobs of its own."""
    with live_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def user(server: LiveServer) -> Iterator[httpx2.Client]:
    """A client with the user's token."""
    with httpx2.Client(base_url=server.url, headers=bearer(server.token)) as client:
        yield client


@pytest.fixture
def stranger(server: LiveServer) -> Iterator[httpx2.Client]:
    """A client without a token."""
    with httpx2.Client(base_url=server.url) as client:
        yield client


@pytest.fixture
def report() -> Callable[..., dict[str, Any]]:
    """Makes the body of a report of Headway's own client."""

    def make(
        seq: int = 1, step: int = 1, *, run: str = "run-1", attempt: str = "attempt-1", **more: Any
    ) -> dict[str, Any]:
        points = more.pop("points", [[step, float(step), {"loss": 1.0 / step}]])
        progress = {"step": step, "totalSteps": 1000, "unit": "optimizer_step", "phase": "train"}
        headway = {"version": 1, "run": run, "attempt": attempt, "seq": seq, "sentAfter": float(step)}
        return {"headway": {**headway, "progress": progress, "points": points, **more}}

    return make


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Asks again until a question is answered with something true."""
    return wait_until


@pytest.fixture
def wire_fixture() -> Callable[[str], bytes]:
    """Reads a request of the shared collection."""

    def read(name: str) -> bytes:
        path = SHARED / "cases" / "wire" / f"{name}.json"
        if not path.exists():
            pytest.skip("the shared collection of requests is not beside this checkout")
        return path.read_bytes()

    return read


@pytest.fixture
def strict() -> Callable[[bytes | str], Any]:
    """Reads JSON as the standard has it: no bare NaN or Infinity."""

    def read(text: bytes | str) -> Any:
        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        return json.loads(text, parse_constant=refuse)

    return read


@pytest.fixture
def status_path() -> Callable[..., str]:
    """The path of a job's status endpoint."""

    def path(name: str, namespace: str = "local") -> str:
        return (
            "/apis/trainer.kubeflow.org/v1alpha1/namespaces/"
            f"{quote(namespace, safe='')}/trainjobs/{quote(name, safe='')}/status"
        )

    return path


def bearer(token: str) -> dict[str, str]:
    """The header that a token goes into."""
    return {"authorization": f"Bearer {token}"}
