"""Stalled: no step for longer than the run's own pace explains.

:class:`StallWatch` learns how long a run usually takes from one advance of the step to the next, and how long each declared
phase takes. It is fed by the fold (and, in the training process, by the reporter) and asked from time to time; the clock is
the caller's, in seconds, the same for both.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headway.insight import wording
from headway.insight.findings import Finding
from headway.protocol.report import Phase
from headway.protocol.verdict import ConditionType

_FIRST: Final = 5
"""Gaps left out at the start of an attempt: they hold compilation and warm-up."""
_RECENT: Final = 50
_EARLY: Final = 2
"""Gaps, besides the one before the first step, from which on the pace is evident enough for a first limit."""
_STUCK: Final = 3
"""Late reports in a row after which they are believed."""
_USUAL_FACTOR: Final = 5.0
_LONGEST_FACTOR: Final = 2.0
_OFTEN: Final = 3
"""A longest gap that has come less often is a poor guide: the next may well be longer."""
_LIKE_LONGEST: Final = 0.6
_EARLIER_FACTOR: Final = 3.0
_PHASE_FACTOR: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StallSettings:
    """When a run counts as stalled."""

    floor: float = 60.0
    """Seconds: nothing shorter is ever a stall. Long enough for a hiccup of a file system or a network."""
    unknown: float = 1800.0
    """Seconds before the first step, and in a phase not seen before: compiling a large model can take this long."""


class StallWatch:
    """The gaps between advances of one run, and the one that is open now."""

    __slots__ = (
        "_count", "_early", "_first", "_first_gap", "_gaps", "_held", "_in_phases", "_late", "_longest", "_phase", "_phase_since",
        "_phases", "_since", "_step", "settings",
    )  # fmt: skip

    def __init__(self, settings: StallSettings = StallSettings()) -> None:
        self.settings = settings
        self._gaps: deque[float] = deque(maxlen=_RECENT)
        self._early: list[float] = []
        """The first gaps after the first step."""
        self._longest: list[float] | None = None
        """Longest gap after the first ones, the step after which it came last, how often one like it came."""
        self._first_gap = 0.0
        """Longest first gap of earlier attempts and of this one."""
        self._phases: dict[str, float] = {}
        """Longest length of each phase seen."""
        self._phase: str | None = None
        self._phase_since = 0.0
        self._in_phases = 0.0
        """Seconds spent in phases other than training since the last advance."""
        self._count = 0
        self._step: float | None = None
        self._first = 0.0
        self._since: float | None = None
        self._held: float | None = None
        self._late = 0
        """Reports in a row that were overtaken."""

    def begin_attempt(self, step: float | None, t: float) -> None:
        """Begin an attempt at time ``t``, at ``step`` if known. Lengths of phases and of the first gap are remembered."""
        self._gaps.clear()
        self._early = []
        self._longest = None
        self._count = 0
        self._step = step
        self._first = step or 0.0
        self._since = t
        self._phase = None
        self._in_phases = 0.0
        self._held = None

    def hold(self, t: float) -> None:
        """Stop the clock at ``t``: the job waits in a queue, is paused, or cannot be placed."""
        if self._held is None:
            self._held = t

    def release(self, t: float) -> None:
        """Let the clock go on at ``t``; the time since :meth:`hold` does not count."""
        if self._held is None:
            return
        away = max(0.0, t - self._held)
        self._held = None
        if self._since is not None:
            self._since += away
        self._phase_since += away

    def observe(self, step: float | None, t: float, *, phase: str | None = None, blind: bool = False) -> None:
        """Take in that the run stood at ``step`` at time ``t``: a point, or a beat with a step that did not move.

        ``phase`` None says nothing, but a step that advances without a word is training. ``blind``: nothing was heard since
        the last word, though more was to be expected, so this gap is not the run's and is not learnt from. A report that was
        overtaken by a later one (an older time, a lower step) is passed over.
        """
        if not math.isfinite(t):
            return
        if self._since is None:
            self._since = t
        if step is not None and self._step is not None and step < self._step:
            if t < self._since and self._late < _STUCK:
                self._late += 1
                return
            self._late = 0
            self._step = step
            self._advance(t, None)
        elif step is not None and (self._step is None or step > self._step):
            known = self._step is not None
            self._late = 0
            self._step = step
            self._advance(t, t - self._since if not blind and (known or self._count == 0) else None)
            if phase is None:
                self._enter(None, t)
        if phase is not None:
            self._enter(None if phase == Phase.TRAIN else str(phase), t)

    @property
    def step(self) -> float | None:
        """Where the run stands."""
        return self._step

    def limit(self) -> float:
        """Seconds that the run may now stand still."""
        floor, unknown = self.settings.floor, self.settings.unknown
        longest = self._phases.get(self._phase) if self._phase is not None else None
        if self._count == 0:
            return max(unknown, _EARLIER_FACTOR * self._first_gap, _PHASE_FACTOR * (longest or 0.0))
        if self._phase is not None:
            return unknown if longest is None else max(floor, _PHASE_FACTOR * longest)
        if not self._gaps:
            if len(self._early) < _EARLY:
                return unknown
            return max(floor, _USUAL_FACTOR * max(self._early), self._first_gap)
        longest_ever, _, times = self._longest or (0.0, 0.0, 0)
        rare = 0.0 if times >= _OFTEN else min(unknown, _USUAL_FACTOR * longest_ever)
        return max(floor, _USUAL_FACTOR * max(self._gaps), _LONGEST_FACTOR * longest_ever, rare)

    def age(self, now: float, *, heard: float | None = None) -> float:
        """Seconds of standstill at ``now``, as they count against :meth:`limit`. ``heard``: as in :meth:`finding`."""
        if self._since is None:
            return 0.0
        until = min(now, now if self._held is None else self._held, now if heard is None else heard)
        if self._phase is not None:
            return until - self._phase_since
        return until - self._since - self._in_phases

    def finding(self, now: float, *, heard: float | None = None) -> Finding | None:
        """Return Stalled if the run stands still for too long at ``now``.

        ``heard`` is when a run that beats was heard last: what it did since is unknown, so the clock stops there.
        """
        age = self.age(now, heard=heard)
        if self._since is None or not age > self.settings.floor:
            return None
        limit = self.limit()
        if not age > limit:
            return None
        usual = max(self._gaps or self._early, default=None)
        where = f" in phase {self._phase}" if self._phase else ""
        at = f"step {wording.step(self._step)}" if self._count and self._step is not None else "the start"
        because = (
            f"its longest gap of the last {len(self._gaps or self._early)} is {_short(usual)}, the limit {_short(limit)}"
            if usual is not None and self._phase is None
            else f"the limit here is {_short(limit)}"
        )
        return Finding(
            type=ConditionType.STALLED,
            since_t=self._since,
            since_step=None if self._step is None else int(self._step),
            evidence={
                "step": self._step,
                "seconds": round(now - self._since, 3),
                "phase": self._phase,
                "limitSeconds": round(limit, 3),
                "usualGapSeconds": None if usual is None else round(usual, 6),
                "gaps": len(self._gaps or self._early),
            },
            text=f"no step for {wording.duration(now - self._since)}, since {at}{where}; {because}",
        )

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values, for :meth:`load`."""
        return {
            "gaps": [float(f"{gap:.5g}") for gap in self._gaps],
            "early": self._early,
            "longest": self._longest,
            "phases": self._phases,
            "last": [self._step, self._since, self._first, self._count, self._first_gap],
            "phase": [self._phase, self._phase_since, self._in_phases, self._held],
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], settings: StallSettings = StallSettings()) -> StallWatch:
        """Return the watch that :meth:`dump` described."""
        self = cls(settings)
        self._gaps.extend(state["gaps"])
        self._early = list(state["early"])
        self._longest = state["longest"]
        self._phases = dict(state["phases"])
        self._step, self._since, self._first, self._count, self._first_gap = state["last"]
        self._phase, self._phase_since, self._in_phases, self._held = state["phase"]
        return self

    def _enter(self, phase: str | None, t: float) -> None:
        if phase == self._phase:
            return
        if self._phase is not None:
            length = max(0.0, t - self._phase_since)
            self._phases[self._phase] = max(length, self._phases.get(self._phase, 0.0))
            self._in_phases += length
        self._phase, self._phase_since = phase, t

    def _advance(self, t: float, gap: float | None) -> None:
        """The step moved at ``t``, ``gap`` seconds after it did before (None: it was set back, or was unknown)."""
        if self._phase is not None:
            self._enter(None, t)
        away, self._in_phases = self._in_phases, 0.0
        self._since = t
        if gap is None:
            return
        gap = max(0.0, gap - away)
        self._count += 1
        if self._count == 1:
            self._first_gap = max(self._first_gap, gap)
        elif self._count <= _FIRST:
            self._early.append(gap)
        if self._count > _FIRST:
            self._gaps.append(gap)
            self._remember(gap)

    def _remember(self, gap: float) -> None:
        """Keep the longest gap: for good if it came again, else until it should have come again twice over."""
        step = self._step or 0.0
        longest = self._longest
        if longest is None or gap > longest[0] / _LIKE_LONGEST:
            self._longest = [gap, step, 1]
        elif gap > _LIKE_LONGEST * longest[0]:
            self._longest = [max(gap, longest[0]), step, longest[2] + 1]
        elif longest[2] == 1 and len(self._gaps) == _RECENT and step - longest[1] > 2 * (longest[1] - self._first):
            self._longest = [max(self._gaps), step, 1]


def _short(seconds: float) -> str:
    return wording.duration(seconds) if seconds >= 10 else f"{wording.number(seconds, 2)} s"
