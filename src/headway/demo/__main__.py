"""Plays all scenarios side by side: ``python -m headway.demo [--seconds N]``. ``headway demo`` does this and shows them live."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from headway.client.client import Client
from headway.demo.scenarios import SCENARIOS
from headway.errors import ConflictError, HeadwayError, NotFoundError
from headway.reporter.folders import Folders, private_folder

_LENGTH = 120.0
"""Seconds that the jobs are laid out for when nothing is said."""
_SHUTDOWN = 25.0


def forget_earlier(client: Client) -> None:
    """Removes the jobs of an earlier demo, so that this one does not look like their next attempt.

    Raises:
        ConflictError: one of them still runs.
    """
    there = []
    for scenario in SCENARIOS:
        try:
            job = client.job(scenario.job)
        except NotFoundError:
            continue
        if not job.state.ended:
            raise ConflictError(
                f"an earlier demo still runs ({scenario.job} is {job.state}); stop it with: headway stop {scenario.job}"
            )
        there.append(scenario.job)
    for name in there:
        client.delete(name)


def play(seconds: float | None, length: float | None = None) -> int:
    """Starts every scenario, waits until all have ended or ``seconds`` are over, and stops the rest. 0: all went as told."""
    with Client() as client:
        forget_earlier(client)
    folder = Folders.from_env().state / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    private_folder(folder)
    asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    end = None if seconds is None else time.monotonic() + seconds
    span = str(length or seconds or _LENGTH)
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "headway.demo.play", scenario.name, str(folder), span],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(folder / f"{scenario.name}.err").open("wb"),
            start_new_session=True,  # Ctrl-C is for the demo, which then stops them in order
        )
        for scenario in SCENARIOS
    ]
    ending = [process for process, scenario in zip(processes, SCENARIOS, strict=True) if not scenario.endless]
    while any(process.poll() is None for process in ending):
        if asked or (end is not None and time.monotonic() >= end):
            break
        time.sleep(0.1)
    _stop(processes)
    return _faults(folder, [process.returncode for process in processes])


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.terminate()
    deadline = time.monotonic() + _SHUTDOWN
    for process in running:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _faults(folder: Path, codes: list[int]) -> int:
    """Tells of scenarios that did not go as they should."""
    bad = 0
    for scenario, code in zip(SCENARIOS, codes, strict=True):
        if code not in {0, 128 + signal.SIGTERM, -signal.SIGTERM}:
            said = (folder / f"{scenario.name}.err").read_text(encoding="utf-8", errors="replace").strip()
            print(f"{scenario.job} ended with exit code {code}: {said[-2000:]}", file=sys.stderr)
            bad = 1
    return bad


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m headway.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help="end after so long; else with the last job")
    parser.add_argument("--length", type=float, help="seconds that the jobs are laid out for")
    parser.add_argument("--list", action="store_true", help="only say what there is to see")
    options = parser.parse_args(arguments)
    if options.list:
        width = max(len(scenario.job) for scenario in SCENARIOS)
        for scenario in SCENARIOS:
            print(f"{scenario.job:<{width}}  {scenario.story}")
        return 0
    try:
        return play(options.seconds, options.length)
    except HeadwayError as error:
        print(f"headway: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
