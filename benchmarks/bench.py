"""Runs every benchmark, one after the other, each within a time; the tables go to the terminal, the figures to ``results/``.

python benchmarks/bench.py [--quick] [--only NAME ...] [--curves DIR]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from turns import QUIET, RESULTS

HERE = Path(__file__).parent
CURVES = HERE.parent.parent / "shared" / "curves"
JSON = "{results}"
PLAN: dict[str, tuple[list[str], float, list[str], float]] = {
    "hotpath": (["--quick"], 90, [], 120),
    "hung_server": (["--quick"], 120, ["--rounds", "2"], 240),
    "ingest": (["--quick"], 90, ["--rounds", "2", "--seconds", "4", "--connections", "64", "256"], 180),
    "fleet": (["--quick"], 90, [], 300),
    "overhead": (["--quick"], 90, ["--rounds", "2"], 180),
    "store": (["--seconds", "1", "--points", "200000", "--jobs", "2000"], 60, ["--seconds", "3"], 120),
    "insight": (["--json", JSON], 60, ["--json", JSON], 90),
    "eta": (["--seeds", "1", "--out", JSON], 60, ["--seeds", "3", "--out", JSON], 60),
}
"""Name: arguments when quick and most seconds then, arguments otherwise and most seconds."""
WHOLE = {True: 450.0, False: 1200.0}
"""Most seconds for all of them, quick or not."""


def run(name: str, arguments: list[str], seconds: float) -> str:
    """Runs one; answers why it failed, in a few words, or nothing."""
    print(f"\n== {name} {' '.join(arguments)}", flush=True)
    command = [sys.executable, str(HERE / f"{name}.py"), *arguments]
    began = time.monotonic()
    started = subprocess.Popen(command, env={**os.environ, **QUIET})
    try:
        code = started.wait(seconds)
    except subprocess.TimeoutExpired:
        print(f"== {name} did not end within {seconds:.0f} s: left off")
        started.send_signal(signal.SIGINT)  # so that it ends the servers that it started
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        return f"not within {seconds:.0f} s"
    print(f"== {name}: {time.monotonic() - began:.0f} s" + (f", exit code {code}" if code else ""))
    return f"exit code {code}" if code else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under eight minutes in all")
    parser.add_argument("--only", nargs="+", choices=tuple(PLAN), default=tuple(PLAN))
    parser.add_argument("--curves", type=Path, default=CURVES, help="labelled learning curves, for insight and eta")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    failed = []
    end = time.monotonic() + WHOLE[arguments.quick]
    for name in arguments.only:
        wanted, seconds = PLAN[name][:2] if arguments.quick else PLAN[name][2:]
        seconds = min(seconds, end - time.monotonic())
        if seconds <= 0:
            failed.append(f"{name} (not begun: {WHOLE[arguments.quick]:.0f} s are over)")
            continue
        given = [str(RESULTS / f"{name}.json") if each == JSON else each for each in wanted]
        if name in ("insight", "eta"):
            if arguments.curves.is_dir():
                given += ["--curves", str(arguments.curves)]
            elif name == "insight":
                given += ["--synthetic", "200"]
        elif name == "store":
            given += ["--json", str(RESULTS / f"{name}.json")]
        if why := run(name, given, seconds):
            failed.append(f"{name} ({why})")
    print(f"\nfigures: {RESULTS}")
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
