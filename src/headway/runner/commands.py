"""Carries out what the server commands: a stop is a request first, then SIGTERM, then SIGKILL."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from headway.protocol.lifecycle import Command
from headway.runner.child import Child


class Commands:
    """The commands of one job, over all its attempts.

    Args:
        say: tells the user what is done.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._child: Child | None = None
        self.stopping = threading.Event()
        """Set once the job is to end: nothing is started any more."""
        self.grace = 0.0
        """Seconds that processes get between SIGTERM and SIGKILL."""

    def attend(self, child: Child) -> None:
        """Commands concern this child from now on."""
        with self._lock:
            self._child = child

    def hear(self, command: Command) -> None:
        """A new command has come; the one kind there is says stop."""
        self.grace = max(command.grace, 0.0)
        self.stopping.set()
        by = f" by {command.by}" if command.by else ""
        why = f": {command.reason}" if command.reason else ""
        self._say(f"stop requested{by}{why}")
        threading.Thread(target=self._stop, args=(command,), name="headway-stop", daemon=True).start()

    def _stop(self, command: Command) -> None:
        with self._lock:
            child = self._child
        if child is None or child.ended.wait(max(command.notice, 0.0)):
            return
        child.signal(signal.SIGTERM)
        if not child.ended.wait(self.grace):
            self._say(f"the command did not end within {self.grace:g} s of SIGTERM and is killed")
            child.signal(signal.SIGKILL, group=True)
