"""The runner's end of the command's output: what the command is given for stdout and stderr, and who copies it.

A command whose output went to a terminal still gets a terminal; one whose output went into a file or pipe gets a pipe. Where
both streams went to the same place they stay one stream, so their order is kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import socket
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Final

from headway.runner import tee_process

_log = logging.getLogger("headway.runner")

TAIL_LINES: Final = 20
"""How many of the last lines are told with the ending."""

_MAX_LINE: Final = 400
_REPLY_SECONDS: Final = 10.0
_CONTROL: Final = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x08\x0b-\x1f\x7f]"
)


class Output:
    """The output of one attempt.

    Args:
        log: file to append to; None for none.

    Raises:
        OSError: no pipe, pseudo-terminal or process can be had.
    """

    def __init__(self, log: Path | None) -> None:
        self._terminals: list[int] = []
        self._given: list[int] = []
        """The command's ends; ours to close once it has them."""
        sources: list[tuple[int, int]] = []
        control, theirs = socket.socketpair()
        self._control = control
        mine: list[int] = []
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(theirs.close)
                number = -1
                if log is not None:
                    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                    stack.callback(os.close, number)
                    _mark_written(number)
                self.stdout = self._open(1, sources, mine)
                self.stderr = self.stdout if _same(1, 2) else self._open(2, sources, mine)
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        *("-I", "-S", tee_process.__file__),
                        str(theirs.fileno()),
                        str(number),
                        *(f"{source}:{target}" for source, target in sources),
                    ],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno(), *mine, *([number] if number >= 0 else [])],
                    start_new_session=True,
                )
        except OSError:
            control.close()
            self.given()
            self._close_terminals()
            raise
        finally:
            for descriptor in mine:
                if descriptor not in self._terminals:
                    os.close(descriptor)

    def _open(self, target: int, sources: list[tuple[int, int]], mine: list[int]) -> int:
        if os.isatty(target):
            source, given = os.openpty()
            _as_wide_as(target, source)
            attributes = termios.tcgetattr(given)
            attributes[1] &= ~termios.OPOST  # the user's own terminal does that
            termios.tcsetattr(given, termios.TCSANOW, attributes)
            self._terminals.append(source)
        else:
            source, given = os.pipe()
        mine.append(source)
        self._given.append(given)
        sources.append((source, target))
        return given

    def given(self) -> None:
        """The command has its ends, so ours are closed: else the output would never end."""
        for descriptor in self._given:
            os.close(descriptor)
        self._given.clear()

    def resized(self) -> None:
        """The user's terminal has another size."""
        for source in self._terminals:
            _as_wide_as(1 if os.isatty(1) else 2, source)

    def finish(self) -> tuple[str, ...]:
        """After the command's end: waits until its output is where it belongs; the last lines of it."""
        self.given()
        tail = b""
        try:
            self._control.settimeout(_REPLY_SECONDS)
            self._control.sendall(b"?")
            while piece := self._control.recv(65536):
                tail += piece
        except OSError as error:
            _log.debug("the end of the output is not known: %s", error)
        self._control.close()
        self._close_terminals()
        # It lives on with processes that the command left behind; when it ends, somebody has to collect it.
        threading.Thread(target=self._process.wait, name="headway-tee-wait", daemon=True).start()
        return tail_lines(tail)

    def _close_terminals(self) -> None:
        for source in self._terminals:
            os.close(source)
        self._terminals.clear()


def _same(one: int, other: int) -> bool:
    """Whether two file numbers lead to the same place."""
    try:
        first, second = os.fstat(one), os.fstat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _mark_written(log: int) -> None:
    """Locks a log for as long as any process has it open, so that nobody clears it away (:mod:`headway.runner.logs`)."""
    try:
        fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        _log.debug("the log is not locked: %s", error)


def _as_wide_as(terminal: int, other: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(other, termios.TIOCSWINSZ, size)


def tail_lines(data: bytes) -> tuple[str, ...]:
    """The last lines of a log as a person would see them: a line that was drawn over shows its last state, without colours."""
    lines = data.decode("utf-8", "replace").split("\n")
    shown = []
    for line in lines:
        parts = [part for part in line.split("\r") if part.strip()]
        text = _CONTROL.sub("", parts[-1]).rstrip() if parts else ""
        if text:
            shown.append(text if len(text) <= _MAX_LINE else text[: _MAX_LINE - 1] + "…")
    return tuple(shown[-TAIL_LINES:])
