"""One start of the command: its process group, how it is signalled, how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from headway.runner.descendants import Descendants
from headway.runner.output import Output

_POLL_SECONDS: Final = 0.02


class Child:
    """A command in a session and process group of its own.

    Args:
        command: program and arguments.
        environ: its whole environment.
        output: where its output goes; None: where the runner's does.

    Raises:
        OSError: the program cannot be started.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], output: Output | None) -> None:
        self.ended = threading.Event()
        self._process = subprocess.Popen(
            list(command),
            env=dict(environ),
            stdout=None if output is None else output.stdout,
            stderr=None if output is None else output.stderr,
            start_new_session=True,
        )
        if output is not None:
            output.given()

    @property
    def pid(self) -> int:
        """Process id, which is the process group's too."""
        return self._process.pid

    def wait(self) -> int:
        """Waits for the command itself, whatever it may leave behind; its exit code, or the negative number of its signal."""
        code = self._process.wait()
        self.ended.set()
        return code

    def signal(self, number: int, *, group: bool = False) -> None:
        """Sends a signal to the command, or to it and everything in its process group."""
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                self._process.send_signal(number)
        except (ProcessLookupError, PermissionError):
            return  # it has ended

    def kill(self) -> None:
        """Kills the command, its process group, and all that it has started, wherever that has moved to."""
        started = Descendants(self.pid)
        self.signal(signal.SIGKILL, group=True)
        started.kill()

    def end_group(self, grace: float, *, kill: bool) -> None:
        """After the command's end: asks what is left of its process group to end, and waits for it, ``grace`` seconds at most.

        Args:
            grace: seconds to wait.
            kill: whether what is still there then is killed.
        """
        self.signal(signal.SIGTERM, group=True)
        end = time.monotonic() + grace
        while self._group_lives():
            if time.monotonic() >= end:
                if kill:
                    self.signal(signal.SIGKILL, group=True)
                return
            time.sleep(_POLL_SECONDS)

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return False
        return True
