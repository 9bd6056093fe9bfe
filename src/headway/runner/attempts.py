"""The attempts of one command: starts it, and starts it again after a failure or a pause."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import Final

from headway.protocol.report import Ending, EndingKind
from headway.runner.child import Child
from headway.runner.commands import Commands
from headway.runner.endings import ending_of, exit_code
from headway.runner.environment import GRACE
from headway.runner.output import Output
from headway.runner.request import RunRequest
from headway.runner.signals import Signals
from headway.runner.tracker import Tracker

_LONGEST_DELAY: Final = 60.0
"""Seconds between two starts, at the most."""
_LOOK_SECONDS: Final = 0.2
_COMMAND_SECONDS: Final = 3.0
"""What a command of the server gets to arrive after a run that has obeyed it already."""


class Attempts:
    """Starts the command, and starts it again."""

    def __init__(self, request: RunRequest, commands: Commands, say: Callable[[str], None]) -> None:
        self._request, self._commands, self._say = request, commands, say
        self._output: Output | None = None
        self._paused = False
        self.tracker: Tracker | None = None
        self.signals: Signals

    def resized(self) -> None:
        """The terminal has another size now."""
        if self._output is not None:
            self._output.resized()

    def run(self) -> int:
        """Runs the command until its last attempt has ended; its exit code, as a shell would say it."""
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
        name = "" if self.tracker is None else f" {shlex.quote(self.tracker.key.name)}"
        self._say(f"paused; `headway resume{name}` starts it again, `headway stop{name}` or Ctrl-C ends it")
        while not signalled() and not self._commands.stopping.is_set():
            if self._commands.wait_for_resume(_LOOK_SECONDS):
                return True
        return False

    def _tell_ended(self, ending: Ending, *, restarting: bool = False) -> None:
        if self.tracker is not None:
            outcomes = self._commands.outcomes(paused=self._paused)
            self.tracker.ended(
                ending, restarting=restarting, paused=self._paused, outcomes=outcomes, hurry=self._hurry()
            )

    def _once(self, ordinal: int) -> tuple[int, Ending]:
        environ = self._request.environ if self.tracker is None else self.tracker.begin(ordinal)
        self._output = self._open_output()
        try:
            child = Child(self._request.command, environ, self._output)
        except OSError as error:
            self._say(f"{self._request.command[0]} cannot be started: {error.strerror or error}")
            if self._output is not None:
                self._output.finish()
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return code, Ending(kind=EndingKind.FAILED, exit_code=code, message=str(error))
        if self.tracker is not None:
            self.tracker.started(child.pid)
        self._commands.attend(child)
        self.signals.attend(child)
        code = child.wait()
        self.signals.attend(None)
        if self.tracker is not None:
            self._commands.catch_up(self.tracker.poke, _COMMAND_SECONDS)
        self._paused = self._commands.paused(code)
        if self._paused or self._commands.stopping.is_set():
            child.end_group(self._commands.grace, kill=True)
        elif self._asked():
            child.end_group(GRACE, kill=False)
        tail = () if self._output is None else self._output.finish()
        self._output = None
        return exit_code(code), ending_of(code, tail, asked=self._paused or self._asked())

    def _open_output(self) -> Output | None:
        if self.tracker is None:
            return None
        for log in (self.tracker.log, None):
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
