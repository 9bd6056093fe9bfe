"""64 jobs through a short outage: all come back, one by one, and every point of theirs is there once."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from urllib.parse import urlsplit

from headway import Client
from headway.protocol.report import RunInfo, Unit
from headway.reporter.identity import new_run_id
from headway.reporter.reporter import Reporter
from headway.reporter.run import Run
from headway.reporter.settings import Settings
from headway.reporter.slots import Slots
from headway.testing import live_server

JOBS = 64
OUTAGE = 3.0


def test_nothing_is_lost_and_they_do_not_come_back_at_once(tmp_path, headway_home, until):
    runs: dict[str, Run] = {}
    with live_server(tmp_path) as server:
        url, token = server.url, server.token
        for number in range(JOBS):
            name = f"job-{number}"
            environ = {"HEADWAY_URL": url, "HEADWAY_TOKEN": token, "HEADWAY_JOB": f"local/{name}"}
            settings = Settings.from_env({**environ, "HEADWAY_HOME": str(headway_home)})
            settings = replace(settings, interval=1.0)
            slots, run_id = Slots(0, Unit.OPTIMIZER_STEP), new_run_id()
            run = runs[name] = Run(slots, Reporter(slots, settings, RunInfo(), run_id, name), finish_timeout=30.0)
            run.set_total(1000)
            run._start()
            run.log(1, mark=1.0)
        before = Client(url, token)
        until(lambda: sum(job.progress.step == 1 for job in before.jobs().items) == JOBS, what="the first step of all")
        before.close()
    for step in range(2, 11):
        for run in runs.values():
            run.log(step, mark=float(step))
        time.sleep(OUTAGE / 9)
    with live_server(tmp_path, port=urlsplit(url).port or 0) as server, Client(url, token) as client:
        back, seen = time.monotonic(), dict[str, int]()

        def all_seen() -> bool:
            second = int(time.monotonic() - back)
            for job in client.jobs().items:
                if job.progress.step == 10:
                    seen.setdefault(job.name, second)
            return len(seen) == JOBS

        until(all_seen, what="the last step of all")
        # A quarter of them at most, by waits that are counted (test_backoff); here a busy machine may put a few seconds into one.
        assert max(Counter(seen.values()).values()) <= JOBS / 2
        for name, run in runs.items():
            run.finish()
            (series,) = client.series(name, "mark")
            assert [point.step for point in series.points] == list(range(1, 11))
            assert [point.mean for point in series.points] == [float(step) for step in range(1, 11)]
        assert server.hub.stats().spooled_reports == 0
    assert list((headway_home / "state" / "spool").glob("*")) == []
