"""``headway run``: from a command to its exit code, tracked on the way.

Nothing here may make the command fail: what cannot be set up is said in one line, and the command runs all the same.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headway.adapters import auto
from headway.errors import ConflictError
from headway.runner.answers import Answers
from headway.runner.attempts import Attempts
from headway.runner.commands import Commands
from headway.runner.environment import tracked_already, without_runner
from headway.runner.notices import Notices
from headway.runner.request import RunRequest
from headway.runner.signals import Signals
from headway.runner.tracker import Tracker, problem_of


def run(request: RunRequest) -> int:
    """Runs and tracks a command until its last attempt has ended.

    Returns:
        What a shell would say: the command's exit code, 128 and the number of the signal that ended it, 127 where there is no
        such command, 126 where it cannot be started.

    Raises:
        ConflictError: the user asked for the name of a job that is running; nothing was started.
    """
    say = Notices().say
    if (code := _unstartable(request, say)) is not None:
        return code
    tracked = tracked_already(request.environ)
    if not tracked:
        request = replace(request, environ=without_runner(request.environ))
    if not request.auto:
        request = replace(request, environ={**request.environ, auto.VARIABLE: "0"})
    answers = Answers()
    commands = Commands(say, answers)
    attempts = Attempts(request, commands, say)
    with Signals(attempts.resized) as signals:
        attempts.signals = signals
        if not tracked and request.environ.get("HEADWAY_DISABLED", "0") in {"", "0"}:
            try:
                attempts.tracker = Tracker(request, commands.hear, answers, say)
            except ConflictError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the command runs
                say(f"this run is not tracked: {problem_of(error, request.environ)}")
        try:
            return attempts.run()
        finally:
            if attempts.tracker is not None:
                attempts.tracker.close()


def _unstartable(request: RunRequest, say: Callable[[str], None]) -> int | None:
    """The exit code for a command that cannot be started at all, after saying so."""
    program = request.command[0]
    if shutil.which(program, path=request.environ.get("PATH", os.defpath)) is not None:
        return None
    if os.sep in program and Path(program).exists():
        hint = f"; run it as `python {program}`" if program.endswith(".py") else ""
        say(f"{program} is not a program that can be started{hint}")
        return 126
    say(f"{program}: no such command")
    return 127
