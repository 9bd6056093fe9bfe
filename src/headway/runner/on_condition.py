"""``--on-condition CMD``: a command of the user's own, started once when a condition begins and once when it is withdrawn.

What stands, and what was withdrawn of late, comes with the answers to the runner's life signs; a thread of its own starts the
commands one after the other, so that nothing else waits for them.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Final

from headway.protocol.codec import dumps, encode
from headway.protocol.events import ConditionEvent, EventKind, event_of
from headway.protocol.job import JobKey
from headway.protocol.verdict import Condition, ConditionType

_log = logging.getLogger("headway.runner")

_SECONDS: Final = 60.0
"""How long one command may take; then it is killed."""
_WAITING: Final = 100
"""Events that may wait for commands to end; what comes beyond them is left out, and said."""


_Name = tuple[ConditionType, str | None, float]
"""What makes two words of a condition words of the same one."""


class OnCondition:
    """Starts the user's command for each event of one job.

    Args:
        command: program and arguments; no shell. It gets the event as JSON on standard input.
        key: the job.
        environ: its environment.
        say: tells the user one line.
    """

    def __init__(
        self, command: Sequence[str], key: JobKey, environ: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        self._command, self._key, self._environ, self._say = list(command), key, dict(environ), say
        self._stand: dict[_Name, Condition] = {}
        self._over: set[_Name] | None = None
        """What was heard to be over, of what is still told; None before the first word."""
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: SimpleQueue[ConditionEvent | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="headway-on-condition", daemon=True)
        self._thread.start()

    def hear(self, conditions: Sequence[Condition]) -> None:
        """These conditions stand now, or were withdrawn of late; what has begun or ceased since the last call becomes an event.

        What was over before the first call is not told.
        """
        stand = {_name(one): one for one in conditions if one.until is None}
        over = {_name(one): one for one in conditions if one.until is not None}
        known = over.keys() if self._over is None else self._over
        stood, self._stand, self._over = self._stand, stand, set(over)
        now = time.time()
        brief = [one for name, one in over.items() if name not in known and name not in stood]
        begun = [one for name, one in stand.items() if name not in stood]
        ceased = [over.get(name, replace(one, until=now)) for name, one in stood.items() if name not in stand]
        events = [event_of(EventKind.ONSET, self._key, replace(one, until=None, until_step=None), now) for one in brief]
        events += [event_of(EventKind.RECOVERY, self._key, one, now) for one in brief]
        events += [event_of(EventKind.ONSET, self._key, one, now) for one in begun]
        events += [event_of(EventKind.RECOVERY, self._key, one, now) for one in ceased]
        for event in events:
            if self._waiting.qsize() >= _WAITING:
                self._say(f"the command of --on-condition is too slow: {event.condition.type} was left out")
            else:
                self._waiting.put(event)

    def close(self, timeout: float) -> None:
        """No more events; those that wait are handled within ``timeout`` seconds, or left out. What hangs then is killed."""
        self._waiting.put(None)
        self._thread.join(timeout)
        if (hanging := self._process) is not None:
            hanging.kill()
        left = 0
        while True:
            try:
                left += self._waiting.get_nowait() is not None
            except Empty:
                break
        if left:
            self._say(f"the run is over: {left} events were left out of --on-condition")

    def _run(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                self._start(event)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                self._say(f"the command of --on-condition failed: {error}")

    def _start(self, event: ConditionEvent) -> None:
        with subprocess.Popen(
            self._command,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            self._process = process
            try:
                _, errors = process.communicate(dumps(encode(event)), timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            finally:
                self._process = None
        if process.returncode:
            last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
            self._say(f"the command of --on-condition ended with exit code {process.returncode}: {''.join(last)}")


def _name(condition: Condition) -> _Name:
    return condition.type, condition.metric, condition.since
