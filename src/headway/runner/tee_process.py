"""Copies a command's output to the terminal and to the log: a process of its own, run as a script, standard library only.

It lives for as long as anybody holds the other ends, so neither a runner that is killed nor a command that leaves processes in
the background makes anybody write into a broken pipe. It is as transparent as it can be: when a reader closes our output, the
command's output is closed too; when the log cannot be written, only the log ends.

Arguments: the number of the control socket, that of the log (or -1), then pairs ``source:target`` of file numbers. A byte on
the control socket asks it to say when it has caught up; it answers with the end of the output.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import sys
import threading
import time

TAIL_BYTES = 16384
"""How much of the end of the output is told to the runner."""

_QUIET_SECONDS = 0.03
_LONGEST_SECONDS = 2.0
"""Processes left in the background may write for ever; the runner is not kept waiting for them."""


class Record:
    """The log, and the end of what went into it."""

    def __init__(self, log: int) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Appends to the log; once that fails, only the end is kept."""
        with self._lock:
            self._tail += data
            del self._tail[:-TAIL_BYTES]
            if self._log >= 0 and not write(self._log, data):
                self._log = -1

    def tail(self) -> bytes:
        """The last bytes."""
        with self._lock:
            return bytes(self._tail)


class Stream:
    """One stream from the command to where the runner's own goes, in a thread: one that is held up holds up no other."""

    def __init__(self, source: int, target: int, record: Record) -> None:
        self._source, self._target, self._record = source, target, record
        self._busy = False
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def settled(self) -> bool:
        """Whether nothing is on its way."""
        return not self.thread.is_alive() or not (self._busy or self._poll.poll(0) or self._busy)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        try:
            while True:
                poll.poll()
                self._busy = True
                data = os.read(self._source, 65536)
                if not data:
                    return
                self._record.add(data)
                if not write(self._target, data, lost_if=(errno.EPIPE,)):
                    return
                self._busy = False
        except OSError as error:
            if error.errno != errno.EIO:  # which means that the last process on a pseudo-terminal is gone
                raise
        finally:
            os.close(self._source)


def write(target: int, data: bytes, lost_if: tuple[int, ...] | None = None) -> bool:
    """Writes all of it. False: it failed, for one of the reasons in ``lost_if`` (any, if None); others are passed over."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError as error:
            return lost_if is not None and error.errno not in lost_if
    return True


def caught_up(streams: list[Stream]) -> None:
    """Waits until nothing that was written so far is still on its way."""
    end = time.monotonic() + _LONGEST_SECONDS
    quiet_since: float | None = None
    while any(stream.thread.is_alive() for stream in streams) and time.monotonic() < end:
        if not all(stream.settled() for stream in streams):
            quiet_since = None
        elif quiet_since is None:
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since >= _QUIET_SECONDS:
            return
        time.sleep(0.002)


def main(arguments: list[str]) -> None:
    """Copies until every source has ended."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=int(arguments[0]))
    record = Record(int(arguments[1]))
    pairs = [[int(number) for number in pair.split(":")] for pair in arguments[2:]]
    streams = [Stream(source, target, record) for source, target in pairs]
    try:
        if control.recv(1):
            caught_up(streams)
            control.sendall(record.tail())
    except OSError:
        pass  # the runner is gone; what the command has to say is copied all the same
    control.close()
    for stream in streams:
        stream.thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
