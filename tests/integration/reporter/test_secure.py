"""HTTPS with a certificate authority of one's own, whose file is replaced while the run goes on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from headway.testing.servers import ScriptedServer

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="makes certificates with openssl: install openssl"
)


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_replaced_certificates_and_token_cost_no_report(script, tmp_path: Path, wait_until) -> None:
    first, second = make_certificate(tmp_path, "first"), make_certificate(tmp_path, "second")
    authority, token = tmp_path / "ca.crt", tmp_path / "token"
    shutil.copy(first[0], authority)
    token.write_text("one")
    with ScriptedServer(certificate=first, token="one") as server:
        process = script.start(
            """
            import time, headway
            run = headway.track(total_steps=400)
            for step in range(400):
                run.log(step=step + 1, loss=1.0)
                time.sleep(0.02)
            """,
            HEADWAY_URL="",
            KUBEFLOW_TRAINER_SERVER_URL=server.status_url(),
            KUBEFLOW_TRAINER_SERVER_TOKEN=str(token),
            KUBEFLOW_TRAINER_SERVER_CA_CERT=str(authority),
            HEADWAY_INTERVAL="0.2",
        )
        wait_until(server.points)
        server.stop()
        server.certificate = second
        server.require(token="two")
        shutil.copy(second[0], tmp_path / "next")
        (tmp_path / "next").replace(authority)
        token.write_text("two")
        before = len(server.posts)
        server.start()
        wait_until(lambda: len(server.posts) > before and server.posts[-1].taken)
        assert process.wait(30) == 0
        assert [point[0] for point in server.points()] == list(range(1, 401))
        assert "Traceback" not in process.stderr.read()


def test_a_server_with_an_unknown_certificate_is_told_nothing(script, tmp_path: Path) -> None:
    known, other = make_certificate(tmp_path, "known"), make_certificate(tmp_path, "other")
    with ScriptedServer(certificate=other) as server:
        done = script.run(
            "import headway\nwith headway.track() as run:\n    run.step(loss=1.0)\n",
            HEADWAY_URL=server.url,
            HEADWAY_CA_FILE=str(known[0]),
            HEADWAY_FINISH_TIMEOUT="0.5",
        )
    assert done.code == 0
    assert server.posts == []
    assert "CERTIFICATE_VERIFY_FAILED" in done.err
