"""SIGKILL of the server while many report: what was acknowledged is there afterwards, and what was not comes later."""

from __future__ import annotations

import http.client
import threading
from urllib.parse import urlsplit

from headway import Client
from headway.protocol.codec import dumps, loads
from headway.reporter.discovery import ServerRecord

TRAIN = """
    import sys, time, headway
    run = headway.track(400, name=sys.argv[1])
    for step in range(1, 401):
        run.log(step, mark=float(step))
        run.step()
        time.sleep(0.01)
    run.finish(timeout=20)
"""
REPORTERS, LOADERS = 4, 8


class Loader:
    """Posts one report after the other, and remembers which were acknowledged."""

    def __init__(self, record: ServerRecord, name: str) -> None:
        self.name = name
        self.acknowledged = 0
        self._record = record
        self.thread = threading.Thread(target=self._load, name=name, daemon=True)
        self.thread.start()

    def _load(self) -> None:
        parts = urlsplit(self._record.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        path = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/local/trainjobs/{self.name}/status"
        headers = {"Authorization": f"Bearer {self._record.token}", "Content-Type": "application/json"}
        try:
            for seq in range(1, 1_000_000):
                report = {
                    "version": 1,
                    "run": self.name,
                    "attempt": self.name,
                    "seq": seq,
                    "sentAfter": seq / 10,
                    "progress": {"step": seq, "totalSteps": 1_000_000, "unit": "optimizer_step", "phase": "train"},
                    "points": [[seq, seq / 10, {"mark": seq}]],
                }
                connection.request("POST", path, dumps({"headway": report}), headers)
                response = connection.getresponse()
                answer = loads(response.read())
                assert response.status == 200, answer
                assert answer["headway"]["ack"] == seq
                self.acknowledged = seq
        except (OSError, http.client.HTTPException):
            pass  # the server was killed
        finally:
            connection.close()


def marks(client: Client, name: str) -> list[int]:
    return [round(point.mean) for series in client.series(name, "mark", points=100_000) for point in series.points]


def test_every_acknowledged_report_is_there_after_the_restart(make_home, until):
    home = make_home()
    process, record = home.server()
    reporters = [home.script(TRAIN, f"reporter-{number}") for number in range(REPORTERS)]
    with Client(folders=home.folders) as client:
        names = {f"reporter-{number}" for number in range(REPORTERS)}
        until(lambda: sum(bool(job.progress.step) for job in client.jobs().items if job.name in names) == REPORTERS)
    loaders = [Loader(record, f"loader-{number}") for number in range(LOADERS)]
    until(lambda: all(loader.acknowledged > 50 for loader in loaders))
    process.kill()
    process.wait()
    for loader in loaders:
        loader.thread.join(20)
        assert not loader.thread.is_alive()
    home.server()
    with Client(folders=home.folders) as client:
        for loader in loaders:
            # One report more may be there: it was persisted, and its acknowledgement did not arrive.
            found = marks(client, loader.name)
            assert found in (list(range(1, loader.acknowledged + extra + 1)) for extra in (0, 1))
            assert client.job(loader.name).progress.step == len(found)
        assert [reporter.wait(60) for reporter in reporters] == [0] * REPORTERS
        for number in range(REPORTERS):
            name = f"reporter-{number}"
            job = until(lambda name=name: (job := client.job(name)).state == "Complete" and job)
            assert (job.progress.step, job.progress.percent, len(job.attempts)) == (400, 100, 1)
            assert marks(client, name) == list(range(1, 401))
