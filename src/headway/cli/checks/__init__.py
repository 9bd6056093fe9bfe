"""What ``headway doctor`` looks at: each check says how it stands and, where that is not well, what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from headway.cli.checks.check import Check, Level
from headway.cli.checks.environment import variables
from headway.cli.checks.interpreter import extras, frameworks, python
from headway.cli.checks.machine import clock, file_system, places
from headway.cli.checks.servers import remote, server, spooled
from headway.reporter.folders import Folders

__all__ = ["Check", "Level", "every_check"]


def every_check(environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """All checks, one after the other, as they come out."""
    folders = Folders.from_env(environ)
    yield python()
    yield from extras()
    yield from places(folders)
    yield file_system(folders.state)
    yield clock(folders.state)
    yield server(folders)
    yield from spooled(folders)
    if environ.get("HEADWAY_URL"):
        yield remote(environ["HEADWAY_URL"])
    yield from frameworks()
    yield from variables(environ)
