"""What the relay says back: an acknowledgement of what it keeps, and what it last heard from the server for that run."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Final

from headway.protocol.directive import Answer, DirectiveKind
from headway.protocol.report import Report

INTERVAL: Final = 1.0
"""Seconds between reports until the server says otherwise."""

_MAX_RUNS: Final = 1024


@dataclass(slots=True)
class _Run:
    heard: Answer = field(default_factory=lambda: Answer(interval=INTERVAL))
    ack: int = 0
    ahead: set[int] = field(default_factory=set)
    """Sequence numbers kept beyond a gap."""


class Answers:
    """One for all runs of a job; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._stops: set[str] = set()
        self._ends: set[str] = set()
        self._done: set[str] = set()
        self._grace: float | None = None
        self._kill_at: float | None = None
        self.hears = False
        """Whether a client that reads what it is asked has reported in this attempt; a stock one does not."""

    def heard(self, run: str, answer: Answer) -> None:
        """The server answered a report of ``run``."""
        with self._lock:
            # it may answer a report that went before the one in which the run acknowledged
            left = tuple(each for each in answer.directives if each.id not in self._done)
            self._run(run).heard = replace(answer, directives=left)

    def kept(self, run: str, report: Report) -> Answer:
        """The answer to a report of ``run`` that is now on disk."""
        with self._lock:
            state = self._run(run)
            ack = None
            if report.headway is not None:
                ack = self._acknowledge(state, report.headway.seq)
                done = frozenset(report.headway.acks)
                self.hears = True
                self._done |= done
                state.heard = replace(
                    state.heard,
                    directives=tuple(each for each in state.heard.directives if each.id not in done),
                    want=() if report.headway.job is not None else state.heard.want,
                )
            heard = state.heard
            stops = {each.id for each in heard.directives if each.kind is DirectiveKind.STOP}
            self._stops |= stops
            self._ends |= stops | {each.then for each in heard.directives if each.then is not None}
        warnings = tuple(dict.fromkeys((*report.warnings, *heard.warnings)))
        grace = self._seconds_left()
        return replace(
            heard,
            status=report.status,
            ack=ack,
            warnings=warnings,
            grace=heard.grace if grace is None else grace,
        )

    def will_kill(self, grace: float) -> None:
        """The processes are to end, and get so many seconds between SIGTERM and SIGKILL: tells the runs."""
        self._grace = grace

    def killing(self, grace: float) -> None:
        """SIGTERM is sent now, and SIGKILL after so many seconds."""
        self._kill_at = time.monotonic() + grace

    def _seconds_left(self) -> float | None:
        return self._grace if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())

    def stops(self) -> tuple[str, ...]:
        """Ids of the requests to stop that some run has been given."""
        with self._lock:
            return tuple(sorted(self._stops))

    def obeyed(self) -> frozenset[str]:
        """Ids of the requests to end that some run has acknowledged."""
        with self._lock:
            return frozenset(self._ends & self._done)

    def done(self, directive: str) -> bool:
        """Whether some run has acknowledged a directive."""
        with self._lock:
            return directive in self._done

    def begin(self) -> None:
        """A new attempt starts: its clients have not been heard yet."""
        with self._lock:
            self.hears = False
            self._grace = self._kill_at = None

    @staticmethod
    def _acknowledge(state: _Run, seq: int) -> int:
        if seq > state.ack:
            state.ahead.add(seq)
        while state.ack + 1 in state.ahead:
            state.ack += 1
            state.ahead.discard(state.ack)
        return state.ack

    def _run(self, run: str) -> _Run:
        if run not in self._runs:
            if len(self._runs) >= _MAX_RUNS:
                del self._runs[next(iter(self._runs))]
            self._runs[run] = _Run()
        return self._runs[run]
