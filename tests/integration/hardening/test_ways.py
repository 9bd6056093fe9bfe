"""The ways to a server on another machine: through TLS that an authority of one's own vouches for, and through an SSH tunnel."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headway.client.client import Client
from headway.protocol.job import State
from headway.testing.live import LiveServer, live_server
from headway.testing.sockets import Listener

LOOP = """
import sys, time, headway
run = headway.track(total_steps=100)
for step in range(1, 101):
    run.log(step=step, loss=1.0 / step)
    time.sleep(0.02)
run.finish()
"""


class Way(Listener):
    """Passes connections on to a port of this machine; what comes in may be TLS, and ends here."""

    def __init__(self, to: str, certificate: tuple[Path, Path] | None = None, port: int = 0) -> None:
        self._to = (urlsplit(to).hostname or "", urlsplit(to).port or 0)
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)
        self.passed = bytearray()
        """What was passed on to the server, in the open."""
        super().__init__(self._join, port)

    def _join(self, incoming: socket.socket) -> None:
        try:
            if self._context is not None:
                incoming = self._context.wrap_socket(incoming, server_side=True)
                self.opened(incoming)
            outgoing = socket.create_connection(self._to)
        except OSError:
            incoming.close()
            return
        self.opened(outgoing)
        threading.Thread(target=self._pass, args=(outgoing, incoming, None), daemon=True).start()
        self._pass(incoming, outgoing, self.passed)

    def _pass(self, source: socket.socket, target: socket.socket, seen: bytearray | None) -> None:
        try:
            while data := source.recv(65536):
                if seen is not None:
                    seen += data
                target.sendall(data)
        except OSError:
            pass
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[LiveServer]:
    """The server, on the machine that keeps the jobs."""
    with live_server(tmp_path / "kept") as server:
        yield server


@pytest.fixture
def authority(tmp_path: Path) -> tuple[Path, tuple[Path, Path]]:
    """An authority's certificate, and a certificate with its key that it signed for ``localhost``."""
    if shutil.which("openssl") is None:
        pytest.skip("makes certificates with openssl: install openssl")

    def openssl(*arguments: object) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=tmp_path)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=An authority", "-keyout", "ca.key", "-out", "ca.crt")
    openssl("req", *curve, "-subj", "/CN=localhost", "-keyout", "leaf.key", "-out", "leaf.csr")
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    openssl("x509", "-req", "-in", "leaf.csr", *signing, "-out", "leaf.crt")
    return tmp_path / "ca.crt", (tmp_path / "leaf.crt", tmp_path / "leaf.key")


def shown(client: Client, name: str) -> list[int]:
    """The steps of a job's loss, once it is complete."""
    job = client.job(name)
    assert (job.state, job.progress.percent) == (State.COMPLETE, 100)
    (series,) = client.series(name, "loss")
    return [point.step for point in series.points]


def test_jobs_and_commands_behind_tls(headway: Any, kept: LiveServer, authority: Any, tmp_path: Path) -> None:
    ca, certificate = authority
    with Way(kept.url, certificate) as way, Client(kept.url, kept.token) as client:
        token = tmp_path / "token"
        token.write_text(kept.token)
        environ = {
            "HEADWAY_URL": f"https://localhost:{way.port}",
            "HEADWAY_TOKEN_FILE": str(token),
            "HEADWAY_CA_FILE": str(ca),
        }
        done = headway("run", "--name", "behind", "--", sys.executable, "-c", LOOP, **environ)
        assert done.returncode == 0, done.stderr
        assert shown(client, "behind") == list(range(1, 101))
        assert "behind" in headway("ls", **environ).stdout

        alone = subprocess.run(
            [sys.executable, "-c", LOOP],
            env={**headway.environ, **environ, "HEADWAY_JOB": "local/alone"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (alone.returncode, alone.stderr) == (0, "")
        assert shown(client, "alone") == list(range(1, 101))

        with Client(environ["HEADWAY_URL"], kept.token, environ=environ) as through:
            assert {job.name for job in through.jobs().items} == {"behind", "alone"}


def test_a_certificate_that_nobody_vouches_for_is_told_nothing(headway: Any, kept: LiveServer, authority: Any) -> None:
    _, certificate = authority
    with Way(kept.url, certificate) as way:
        environ = {"HEADWAY_URL": f"https://localhost:{way.port}", "HEADWAY_TOKEN": kept.token}
        done = headway(
            "run",
            "--name",
            "job",
            "--",
            sys.executable,
            "-c",
            "print('trained')",
            HEADWAY_FINISH_TIMEOUT="0.2",
            **environ,
        )
        assert (done.returncode, done.stdout) == (0, "trained\n")
        assert "certificate" in done.stderr.lower()
        assert headway("ls", **environ).returncode == 4
        assert way.passed == b""


def test_a_tunnel_that_is_cut_and_laid_again(headway: Any, kept: LiveServer, tmp_path: Path, until: Any) -> None:
    gate = tmp_path / "gate"
    pause = f"    while step == 50 and not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.02)\n"
    code = "import pathlib" + LOOP.replace("    time.sleep(0.02)\n", "    time.sleep(0.02)\n" + pause)
    with Client(kept.url, kept.token) as client:
        with Way(kept.url) as way:
            environ = {"HEADWAY_URL": f"http://127.0.0.1:{way.port}", "HEADWAY_TOKEN": kept.token}
            runner = headway.start("run", "--name", "far", "--", sys.executable, "-c", code, **environ)
            until(lambda: client.jobs().total and client.job("far").progress.step == 50)
            assert "far" in headway("ls", **environ).stdout
        gate.touch()
        assert headway("ls", **environ).returncode == 4
        with Way(kept.url, port=way.port):
            assert runner.wait(60) == 0, headway.said(runner)
        assert shown(client, "far") == list(range(1, 101))
