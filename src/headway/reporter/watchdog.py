"""Sees that the interpreter itself stands still: something holds its lock, so that not even the reporter's thread can tell.

The reporter's thread sets ``faulthandler``'s timer again and again, which runs without the lock. When the thread no longer gets
to it, the timer writes where all threads stand into a file of the runner's, and ``headway run`` hands that on.
"""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path
from typing import Any, Final

from headway.reporter.folders import private_folder
from headway.reporter.notices import log

STACKS_VARIABLE: Final = "HEADWAY_STACKS"
"""The runner's folder for these files. Empty: ``faulthandler``'s one timer is left to the user."""
_PART: Final = 0.8
"""Of the stall floor: by then the stack is there."""
_LEAST: Final = 2.0
_ROUNDS: Final = 3.0
"""How often the timer is set within its time."""


class Watchdog:
    """One process's timer. A program that sets the timer for itself keeps it.

    Args:
        folder: where the file goes; None: there is no timer.
        run: id of the run, which names the file.
        floor: seconds without a step that are never a stall.
    """

    def __init__(self, folder: Path | None, run: str, floor: float) -> None:
        self._seconds = max(_LEAST, _PART * floor)
        self._next = 0.0
        self._path: Path | None = None
        self._file = -1
        self._set = faulthandler.dump_traceback_later
        if folder is None:
            return
        try:
            path = private_folder(folder) / f"{run}.stack"
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            log.debug("no watchdog, for its file cannot be written: %s", error)
            return
        self._path = path
        faulthandler.dump_traceback_later = self._set_by_user

    def feed(self, now: float) -> None:
        """The interpreter runs: sets the timer anew, now and then."""
        if self._file < 0 or now < self._next:
            return
        self._next = now + self._seconds / _ROUNDS
        try:
            if os.fstat(self._file).st_size:
                os.ftruncate(self._file, 0)
                os.lseek(self._file, 0, os.SEEK_SET)
            self._set(self._seconds, file=self._file)
        except (OSError, RuntimeError, ValueError) as error:
            log.debug("the watchdog ends: %r", error)
            self.close()

    def close(self) -> None:
        """Stops the timer and removes its file."""
        if self._file < 0:
            return
        faulthandler.cancel_dump_traceback_later()
        self._let_go()

    def abandon(self) -> None:
        """In a forked child, which inherits no timer: file and name are the parent's."""
        self._path = None
        self._let_go()

    def _set_by_user(self, *args: Any, **options: Any) -> None:
        """Stands in for ``faulthandler.dump_traceback_later``: whoever calls it takes the timer over."""
        self._let_go()
        self._set(*args, **options)

    def _let_go(self) -> None:
        file, self._file = self._file, -1
        if faulthandler.dump_traceback_later == self._set_by_user:
            faulthandler.dump_traceback_later = self._set
        if file >= 0:
            os.close(file)
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
