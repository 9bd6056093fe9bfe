"""Attempts: one start of a job's processes each, their order, and which run of one writes its progress.

An attempt is known by the launcher's id. Attempts are ordered by when they were first heard of (with what a report was kept
for taken off), except that ids which differ only in the number at their end are ordered by it; so the order does not depend on
the order of arrival, and neither does which attempt is the current one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from headway.protocol.report import Ending, EndingKind
from headway.tracking.runs import RunState, earliest_first
from headway.tracking.said import Saved

SUCCESSION_SILENCE: Final = 30.0
"""Seconds for which a run must have been silent, and a later one heard, before the later one takes its place."""

_NUMBERED: Final = re.compile(r"(.*?)(\d+)", re.DOTALL)
_GOOD: Final = frozenset({EndingKind.COMPLETED, EndingKind.EARLY_STOPPED})


@dataclass(slots=True)
class RunnerState:
    """One runner's word on an attempt."""

    heard_at: float
    ended_at: float | None = None
    ending: Ending | None = None
    restarting: bool = False
    paused: bool = False


@dataclass(slots=True)
class AttemptState:
    """Everything known of one attempt."""

    id: str
    known_at: float
    """When it was first heard of."""
    registered: bool = False
    """Whether a runner announced it: then the runner's word decides how it ends."""
    started_at: float | None = None
    """When its processes were started, by the runner's word."""
    runners: dict[str, RunnerState] = field(default_factory=dict)
    runs: dict[str, RunState] = field(default_factory=dict)
    lost_at: float | None = None
    """When sight of it was lost; cleared by the next word."""
    fragment: bytes | None = None
    """Its part of the stored document, as long as nothing changes."""
    head_fragment: bytes | None = None
    """What of that is not said by its runs."""

    def changed(self) -> None:
        """Something besides its runs has changed."""
        self.fragment = self.head_fragment = None

    @property
    def began_at(self) -> float:
        """When it started, as well as it is known."""
        if self.started_at is not None:
            return self.started_at
        if self.registered:
            return self.known_at
        return min([self.known_at, *(run.origin for run in self.runs.values())])

    @property
    def heard_at(self) -> float | None:
        """When any of its processes was last heard."""
        return max((run.spoke_at for run in self.runs.values()), default=None)

    @property
    def runner_heard_at(self) -> float | None:
        """When any of its runners was last heard."""
        return max((runner.heard_at for runner in self.runners.values()), default=None)

    @property
    def runner_ending(self) -> RunnerState | None:
        """The gravest word of its runners, once all of them have ended."""
        ended = [runner for runner in self.runners.values() if runner.ended_at is not None]
        if not ended or len(ended) < len(self.runners):
            return None
        return max(
            ended, key=lambda one: (one.ending is not None and one.ending.kind not in _GOOD, one.ended_at or 0.0)
        )

    @property
    def paused(self) -> bool:
        """Whether its runners ended its processes, and wait to begin the next attempt."""
        return bool(self.runners) and all(one.ended_at is not None and one.paused for one in self.runners.values())

    @property
    def saves(self) -> tuple[int, ...]:
        """Steps of its checkpoints, in order."""
        return tuple(sorted({step for run in self.runs.values() for step in run.saves}))

    @property
    def checkpoint(self) -> Saved | None:
        """Its newest checkpoint."""
        saved = [run.checkpoint for run in self.runs.values() if run.checkpoint is not None]
        return max(saved, key=lambda one: (one.step, one.seq), default=None)

    def writers(self) -> list[RunState]:
        """The runs that wrote its progress one after the other, the newest last; empty before the first.

        A second run of a living attempt is auxiliary. One that begins after the first has failed or fallen silent is its
        successor, as when a shell loop starts a crashed script once more; and so is one of a later start by the launcher.
        """
        wrote = [run for run in self.runs.values() if run.wrote]
        if len(wrote) > 1:
            lowest = min(run.rank for run in wrote)
            runs = earliest_first([run for run in wrote if run.rank == lowest])
            return _succession(runs, over=self.runner_ending is not None)
        if not wrote:
            stepped = [run for run in self.runs.values() if run.step is not None]
            return [min(stepped, key=lambda run: (run.rank, run.order))] if stepped else []
        return wrote

    def writer(self) -> RunState | None:
        """The run whose word counts for progress now."""
        chain = self.writers()
        return chain[-1] if chain else None


def _succession(runs: list[RunState], *, over: bool) -> list[RunState]:
    """Who wrote after whom; ``over``: all processes have ended, so that a run which said no more was killed before."""
    chain = [runs[0]]
    for run in runs[1:]:
        last = chain[-1]
        if run.restarts > last.restarts:
            follows = True
        elif last.ending is not None:
            follows = last.ending.how.kind not in _GOOD and run.first_seen > last.ending.at
        else:
            silent = over or run.spoke_at > last.spoke_at + SUCCESSION_SILENCE
            follows = run.first_seen > last.spoke_at and silent
        if follows:
            chain.append(run)
    return chain


def in_order(attempts: Iterable[AttemptState]) -> list[AttemptState]:
    """Sorts attempts, the first begun first."""
    attempts = list(attempts)
    if len(attempts) < 2:
        return attempts
    numbered = {attempt.id: _split(attempt.id) for attempt in attempts}
    begun: dict[str, float] = {}
    for attempt in attempts:
        stem = numbered[attempt.id][0]
        begun[stem] = min(attempt.known_at, begun.get(stem, math.inf))

    def place(attempt: AttemptState) -> tuple[float, str, int, str]:
        stem, number = numbered[attempt.id]
        return begun[stem], stem, number, attempt.id

    return sorted(attempts, key=place)


def _split(identity: str) -> tuple[str, int]:
    match = _NUMBERED.fullmatch(identity)
    if match is None or len(match[2]) > 9:
        return f"{identity}\0", 0
    return match[1], int(match[2])
