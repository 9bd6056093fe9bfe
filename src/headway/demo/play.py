"""Runs one scenario under the same runner as ``headway run``: ``python -m headway.demo.play NAME FOLDER SECONDS``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.demo.scenarios import SCENARIOS
from headway.errors import HeadwayError
from headway.runner import RunRequest, run

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


_GRACE = "6"
"""Seconds within which a job that is asked to end does so, also one that hangs: who ends the demo waits for it."""


def single_threaded(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which numpy keeps to one core: matrices this small only lose by more."""
    return {**environ, **dict.fromkeys(_THREADS, "1")}


def main(arguments: Sequence[str]) -> int:
    """Plays one scenario; the exit code of its training."""
    name, folder, seconds = arguments
    scenario = next(each for each in SCENARIOS if each.name == name)
    request = RunRequest(
        command=scenario.command(Path(folder), float(seconds)),
        name=scenario.job,
        restarts=scenario.restarts,
        stall_floor=scenario.stall_floor,
        tags=("demo",),
        devices=1,
        quiet=True,
        environ={**single_threaded(os.environ), "HEADWAY_GRACE": _GRACE},
    )
    try:
        return run(request)
    except HeadwayError as error:
        print(f"headway: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
