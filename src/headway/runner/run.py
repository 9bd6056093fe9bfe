"""``headway run``: from a command to its exit code, tracked on the way.

Nothing here may make the command fail: what cannot be set up is said in one line, and the command runs all the same.
"""

from __future__ import annotations

import http.client
import os
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headway.adapters import auto
from headway.errors import ConflictError
from headway.protocol.report import Ending, EndingKind
from headway.runner.answers import Answers
from headway.runner.child import Child
from headway.runner.commands import Commands
from headway.runner.endings import ending_of, exit_code
from headway.runner.notices import Notices
from headway.runner.output import Output
from headway.runner.request import RunRequest
from headway.runner.signals import Signals
from headway.runner.tracking import GRACE, RELAY_VARIABLE, RUNNER_VARIABLE, Tracking, problem_of

_LONGEST_DELAY: Final = 60.0
_LOOK_SECONDS: Final = 0.2
_COMMAND_SECONDS: Final = 3.0
"""What a command gets to arrive after a run that has obeyed it already."""
_OWN: Final = (
    *("HEADWAY_URL", "HEADWAY_TOKEN", "HEADWAY_JOB", "HEADWAY_ATTEMPT", RUNNER_VARIABLE, RELAY_VARIABLE),
    *("KUBEFLOW_TRAINER_SERVER_URL", "KUBEFLOW_TRAINER_SERVER_TOKEN"),
)


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
    request, tracked_already = _outer_runner(request)
    if not request.auto:
        request = replace(request, environ={**request.environ, auto.VARIABLE: "0"})
    answers = Answers()
    commands = Commands(say, answers)
    attempts = _Attempts(request, commands, say)
    with Signals(attempts.resized) as signals:
        attempts.signals = signals
        if not tracked_already and request.environ.get("HEADWAY_DISABLED", "0") in {"", "0"}:
            try:
                attempts.tracking = Tracking(request, commands.hear, answers, say)
            except ConflictError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the command runs
                say(f"this run is not tracked: {problem_of(error)}")
        try:
            return attempts.run()
        finally:
            if attempts.tracking is not None:
                attempts.tracking.close()


class _Attempts:
    """Starts the command, and starts it again."""

    def __init__(self, request: RunRequest, commands: Commands, say: Callable[[str], None]) -> None:
        self._request, self._commands, self._say = request, commands, say
        self._output: Output | None = None
        self._paused = False
        self.tracking: Tracking | None = None
        self.signals: Signals

    def resized(self) -> None:
        if self._output is not None:
            self._output.resized()

    def run(self) -> int:
        ordinal, failures = 1, 0
        while True:
            if ordinal == 1 and self.signals.ending is not None:
                code = 128 + self.signals.ending
                return self._never(code, Ending(kind=EndingKind.CANCELLED, exit_code=code))
            code, ending = self._once(ordinal)
            signalled = self._hurry()
            again = code != 0 and failures < self._request.restarts and not self._asked() and not self._paused
            self._tell_ended(ending, restarting=again)
            if self._paused:
                goes_on = self._wait_for_resume(signalled)
            elif again:
                failures += 1
                goes_on = self._wait_for_restart(code, failures)
            else:
                return code
            if not goes_on:
                return self._never(code, ending)
            ordinal += 1

    def _wait_for_restart(self, code: int, failures: int) -> bool:
        delay = min(_LONGEST_DELAY, self._request.restart_delay * 2.0 ** min(failures - 1, 30))
        self._say(f"the command ended with exit code {code}; starting it again in {delay:g} s")
        end = time.monotonic() + delay
        while time.monotonic() < end and not self._asked():
            time.sleep(min(0.1, delay))
        return not self._asked()

    def _wait_for_resume(self, signalled: Callable[[], bool]) -> bool:
        """Whether a paused job goes on: somebody asks for it, unless a stop or a signal comes first."""
        name = "" if self.tracking is None else f" {shlex.quote(self.tracking.key.name)}"
        self._say(f"paused; `headway resume{name}` starts it again, `headway stop{name}` or Ctrl-C ends it")
        while not signalled() and not self._commands.stopping.is_set():
            if self._commands.wait_for_resume(_LOOK_SECONDS):
                return True
        return False

    def _tell_ended(self, ending: Ending, *, restarting: bool = False) -> None:
        if self.tracking is not None:
            outcomes = self._commands.outcomes(paused=self._paused)
            self.tracking.ended(
                ending, restarting=restarting, paused=self._paused, outcomes=outcomes, hurry=self._hurry()
            )

    def _once(self, ordinal: int) -> tuple[int, Ending]:
        environ = self._request.environ if self.tracking is None else self.tracking.begin(ordinal)
        self._output = self._open_output()
        try:
            child = Child(self._request.command, environ, self._output)
        except OSError as error:
            self._say(f"{self._request.command[0]} cannot be started: {error.strerror or error}")
            if self._output is not None:
                self._output.finish()
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return code, Ending(kind=EndingKind.FAILED, exit_code=code, message=str(error))
        if self.tracking is not None:
            self.tracking.started(child.pid)
        self._commands.attend(child)
        self.signals.attend(child)
        code = child.wait()
        self.signals.attend(None)
        if self.tracking is not None:
            self._commands.catch_up(self.tracking.poke, _COMMAND_SECONDS)
        self._paused = self._commands.paused(code)
        if self._paused or self._commands.stopping.is_set():
            child.end_group(self._commands.grace, kill=True)
        elif self._asked():
            child.end_group(GRACE, kill=False)
        tail = () if self._output is None else self._output.finish()
        self._output = None
        return exit_code(code), ending_of(code, tail, asked=self._paused or self._asked())

    def _open_output(self) -> Output | None:
        if self.tracking is None:
            return None
        for log in (self.tracking.log, None):
            try:
                return Output(log)
            except OSError as error:
                self._say(f"the log cannot be kept: {error}")
        return None

    def _never(self, code: int, ending: Ending) -> int:
        """The end came before the command, or its next attempt, was started."""
        self._paused = False
        self._tell_ended(ending)
        return code

    def _asked(self) -> bool:
        return self._commands.stopping.is_set() or self.signals.asked

    def _hurry(self) -> Callable[[], bool]:
        before = self.signals.count
        return lambda: self.signals.count > before


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


def _outer_runner(request: RunRequest) -> tuple[RunRequest, bool]:
    """Whether a runner around this one tracks the job already; variables of one that is gone are left out."""
    if RUNNER_VARIABLE not in request.environ:
        return request, False
    if _answers(request.environ):
        return request, True
    environ = {name: value for name, value in request.environ.items() if name not in _OWN}
    return replace(request, environ=environ), False


def _answers(environ: Mapping[str, str]) -> bool:
    try:
        address = urlsplit(environ.get("HEADWAY_URL", ""))
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=1.0)
    except ValueError:
        return False
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
