"""Headway's server as ``ingest.py`` measures it: as always, but for the bound on what one job may report.

A job's reports are bounded to some fifty a second and two for each of its ranks, so that a loop gone wild does not take the
server for itself. Where 64 jobs are to bring all that a server can take, that bound would be what is measured.

    HEADWAY_HOME=… python benchmarks/ingest_server.py --port 0
"""

from __future__ import annotations

import dataclasses
import sys

from headway.app.process import read_arguments, run
from headway.app.settings import Settings

UNBOUNDED = 1e9

if __name__ == "__main__":
    settings = read_arguments(Settings.from_env())
    server = dataclasses.replace(settings.server, reports_per_second=UNBOUNDED, report_burst=UNBOUNDED)
    sys.exit(run(dataclasses.replace(settings, server=server)))
