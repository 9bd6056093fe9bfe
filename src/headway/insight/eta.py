"""When a run will end, with an interval: fed with steps and times by the reporter and by the server's fold alike.

Time is an argument: ``t`` is seconds on a clock that only goes forward within one attempt (seconds since it began).
The first interval of an attempt is never used: it holds start-up and compilation, and possibly steps of an earlier attempt.
What follows is split into training proper, whose present pace :mod:`headway.insight.pace` finds, and pauses
(evaluations, checkpoints), which :mod:`headway.insight.pauses` counts as an amount per so many steps.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, NamedTuple

from headway.insight import wording
from headway.insight.outlook import outlook
from headway.insight.pace import LEAF, RING, Interval, Pace, PaceHistory, present, stretch
from headway.insight.pauses import Pauses
from headway.protocol.report import Phase

_LEAST: Final = 2
"""Intervals needed for an estimate, the first one left out."""
_AGREE: Final = 4
"""With fewer intervals than this, they must agree."""
_FEW: Final = 6
"""With fewer intervals than this, their median is the pace."""
_EVERY_TIME: Final = 32
"""With fewer intervals than this, each one is news."""
_GROWTH: Final = 0.03
_NEWS: Final = 0.03
_NEWS_SD: Final = 2.0
_SETTLED: Final = 5
"""Pauses before this many intervals belong to the start and are not expected again."""
_PAUSE: Final = 2.5
"""An interval this many times slower than its neighbours holds a pause."""
_AROUND: Final = 3
"""Intervals before and after one that are looked at to tell a pause from a change of pace."""
_FRESH: Final = 2.0
"""An interval this many times slower than the present pace is looked at without delay."""
_DECLARED_PAUSE: Final = 1.2
_MEDIAN_STEPS: Final = 4
"""Steps from which on the median that a run reports says more than its neighbours do."""
_STUCK: Final = 3
"""Late observations in a row after which they are believed."""
_WORTH_A_WORD: Final = 0.02
"""Share of the rest from which on the pauses ahead are told."""
_HUGE: Final = float(2**53)
_AGES: Final = 1e12
"""Seconds: no clock shows more."""
_TINY: Final = 1e-9
_ONCE: Final = frozenset({Phase.INIT, Phase.COMPILE, Phase.RESTORE, Phase.FINISH})
"""Phases that are not expected again."""


@dataclass(frozen=True, slots=True)
class EtaEstimate:
    """Seconds from now to the end: a point estimate and an 80 % interval, ``0 <= low <= seconds <= high < inf``."""

    seconds: float
    low: float
    high: float
    basis: str
    """What the estimate rests on, in words."""
    step_seconds: float | None = None
    """The pace that it rests on."""
    steps: float | None = None
    """Over how many steps that was measured."""
    pause_seconds: float | None = None
    """What evaluations, checkpoints and other pauses add ahead."""


class _Seen(NamedTuple):
    steps: float
    seconds: float
    before: float
    """Step after which a pause within it came."""
    phase: str | None
    """The phase other than training that the run declared within it."""
    settled: bool
    usual: float | None = None
    """Median seconds per step within it, where the run says so and enough steps stand behind it."""


class _Known(NamedTuple):
    """What was worked out last, and when: it is worked out anew only when there is news."""

    intervals: int
    step: float
    t: float
    pace: Pace
    pauses: Pauses
    cadence: float
    """Seconds that usually pass between two observations."""


class EtaEstimator:
    """Learns the pace and the pauses of a run. Memory is bounded; one observation costs microseconds."""

    __slots__ = (
        "_before", "_count", "_first", "_history", "_known", "_late", "_pauses", "_phase", "_ring", "_skip", "_step", "_t",
    )  # fmt: skip

    def __init__(self) -> None:
        self._ring: deque[_Seen] = deque()
        self._before: deque[float] = deque(maxlen=_AROUND)
        """Paces of the last intervals that have left the ring."""
        self._history = PaceHistory()
        self._pauses = Pauses()
        self._step: float | None = None
        self._t = 0.0
        self._skip = True
        self._first: tuple[float, float, float] | None = None
        """The first interval, as long as it is in doubt: steps, seconds, step before it."""
        self._count = 0
        self._late = 0
        self._phase: str | None = None
        self._known: _Known | None = None

    def begin_attempt(self, step: float | None, t: float) -> None:
        """Begin an attempt that stands at ``step`` (None if unknown) at time ``t`` of its own clock.

        The pace is learnt anew; how often and how long the run pauses is remembered.
        """
        self._flush()
        if self._step is not None:
            self._pauses.end(self._step)
        self._history.clear()
        self._before.clear()
        self._known = None
        self._step = None
        self._skip = True
        self._first = None
        self._count = 0
        if step is not None:
            self._anchor(step, t)

    def observe(self, step: float, t: float, *, phase: str | None = None, step_seconds: float | None = None) -> None:
        """Take in that ``step`` steps were complete at time ``t``.

        Args:
            step: steps completed (may be a fraction, for runs that count only epochs). Those since the last call may be many.
            t: seconds since the attempt began. A clock or a step count that goes back sets a new origin.
            phase: what the run was doing at ``t``, if it says so.
            step_seconds: median seconds per step since the last observation, if known.
        """
        if not (abs(step) < _HUGE and abs(t) < _AGES):
            return
        last = self._step
        if last is None:
            self._anchor(step, t)
            self._mark(phase)
            return
        dn, dt = step - last, t - self._t
        if abs(dn) < _TINY:
            self._mark(phase)
            return
        if dn < 0 and dt < 0 and self._late < _STUCK:
            self._late += 1
            return
        self._late = 0
        if dn < 0 or dt < 0:
            self._step, self._t = step, t
            self._mark(phase)
            return
        if dt < _TINY:
            return
        label = self._phase
        self._step, self._t = step, t
        self._phase = None
        self._mark(phase)
        if self._skip:
            self._skip = False
            self._first = (dn, dt, last)
            self._pauses.start = last if dn <= 1 else step
            return
        self._count += 1
        usual = step_seconds if step_seconds and dn >= _MEDIAN_STEPS and 0 < step_seconds * dn <= dt else None
        if self._known and (label or dt > _FRESH * dn * self._known.pace.seconds_per_step):
            self._known = None
        self._ring.append(_Seen(dn, dt, last, label, self._count >= _SETTLED, usual))
        if self._count == _SETTLED:
            self._use_first()
        if len(self._ring) >= 2 * RING:
            self._commit(RING)

    def estimate(self, now_t: float, total_steps: float | None) -> EtaEstimate | None:
        """Return when ``total_steps`` will be reached, seen from ``now_t``; None when that cannot be known."""
        step = self._step
        if (
            step is None
            or total_steps is None
            or not (0 < total_steps < _HUGE and step <= total_steps)
            or len(self._ring) < _LEAST
        ):
            return None
        known = self._known
        if known is None or self._outdated(known, step):
            known = self._known = self._learn()
        if known is None:
            return None
        pace, pauses = known.pace, known.pauses
        left = total_steps - step
        ahead = pauses.ahead(step, total_steps, pace.seconds_per_step)
        seen = outlook(pace, left, ahead, self._count)
        age = max(0.0, now_t - self._t)
        allowed = known.cadence + ahead.due
        rest = max(0.0, seen.seconds - min(age, allowed))
        low = max(0.0, rest - seen.below)
        high = rest + seen.above + max(0.0, age - allowed)
        if not math.isfinite(high):
            return None
        pausing = ahead.seconds if ahead.seconds > _WORTH_A_WORD * seen.seconds else None
        return EtaEstimate(rest, low, high, _basis(pace, pausing), pace.seconds_per_step, pace.steps, pausing)

    def _outdated(self, known: _Known, step: float) -> bool:
        """Whether there is news: many intervals since, or a few that are not as those before."""
        n = self._count - known.intervals
        if n == 0:
            return False
        if self._count < _EVERY_TIME or n >= known.intervals * _GROWTH:
            return True
        steps = step - known.step
        if steps <= 0:
            return False
        off = (self._t - known.t) / steps / known.pace.seconds_per_step - 1
        return abs(off) > max(_NEWS, _NEWS_SD * known.pace.sd / math.sqrt(n / LEAF))

    def _learn(self) -> _Known | None:
        """Work out the present pace, the pauses and the usual time between observations; None if that is too early."""
        pause = self._level()[1]
        if self._count < _AGREE and pause < max(seen.seconds / seen.steps for seen in self._ring):
            return None
        pauses = self._pauses.copy()
        recent = [interval for interval, _ in self._apart(len(self._ring), pauses)]
        if self._count < _FEW:
            sums = stretch(recent)
            typical = median(i.pace for i in recent)
            pace = Pace(typical, sums[1], sums[0], 0.15, typical, sums[1], (), 0.0, 0.0)
        else:
            pace = present(self._history.newest_first(recent))
        cadence = max(pace.seconds_per_step, median(seen.seconds for seen in self._ring))
        return _Known(self._count, self._step or 0.0, self._t, pace, pauses, cadence)

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values, for :meth:`load`."""
        return {
            "ring": [list(seen) for seen in self._ring],
            "before": list(self._before),
            "pace": self._history.dump(),
            "pauses": self._pauses.dump(),
            "last": [self._step, self._t, self._skip, self._count, self._late, self._phase, self._first],
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> EtaEstimator:
        """Return the estimator that :meth:`dump` described."""
        self = cls()
        self._ring.extend(_Seen(*values) for values in state["ring"])
        self._before.extend(state["before"])
        self._history.load(state["pace"])
        self._pauses.load(state["pauses"])
        self._step, self._t, self._skip, self._count, self._late, self._phase, first = state["last"]
        self._first = None if first is None else (first[0], first[1], first[2])
        return self

    def _anchor(self, step: float, t: float) -> None:
        self._step, self._t = step, t
        self._phase = None
        self._late = 0
        self._pauses.begin(step)

    def _mark(self, phase: str | None) -> None:
        if phase is not None and phase != Phase.TRAIN:
            self._phase = str(phase)

    def _use_first(self) -> None:
        """The first interval counts after all if nothing sets it apart from those after it."""
        if self._first is None:
            return
        steps, seconds, before = self._first
        paces = [seen.seconds / seen.steps for seen in self._ring]
        margin = (max(paces) - min(paces)) / 2
        if min(paces) - margin <= seconds / steps <= max(paces) + margin:
            self._ring.appendleft(_Seen(steps, seconds, before, None, False))
        self._first = None

    def _flush(self) -> None:
        if self._ring:
            self._commit(len(self._ring))

    def _commit(self, n: int) -> None:
        """Hand the oldest ``n`` intervals over to the history and the pauses."""
        for interval, pace in self._apart(n, self._pauses):
            self._history.add(interval)
            self._before.append(pace)
            self._ring.popleft()

    def _apart(self, n: int, pauses: Pauses) -> list[tuple[Interval, float]]:
        """Take the pauses out of the oldest ``n`` intervals, and into ``pauses``; each interval with its pace as it came.

        A pause stands alone. One of many intervals that are equally slow is none: the pace has changed.
        """
        base, pause = self._level()
        paces = [*self._before, *(seen.seconds / seen.steps for seen in self._ring)]
        done = len(self._before)
        out = []
        for index, seen in zip(range(done, done + n), self._ring, strict=False):
            pace = paces[index]
            if seen.usual is None and pace <= (pause if seen.phase is None else base):
                out.append((Interval(seen.steps, seen.seconds), pace))
                continue
            around = max(
                median(paces[index - _AROUND : index]) if index >= _AROUND else 0.0,
                median(paces[index + 1 : index + 1 + _AROUND]) if index + _AROUND < len(paces) else 0.0,
            )
            over = max(1.0, around / base)
            out.append((_split(seen, over * base, over * pause, pauses), pace))
        return out

    def _level(self) -> tuple[float, float]:
        """Return the usual pace of the newest intervals, and the pace above which one holds a pause."""
        paces = sorted(seen.seconds / seen.steps for seen in self._ring)
        base = paces[len(paces) // 2] if len(paces) > 2 else paces[0]
        upper = paces[(3 * len(paces)) // 4] if len(paces) >= 8 else base
        return base, base * max(_PAUSE, (upper / base) ** 6 if upper < 2 * base else _PAUSE)


def _split(seen: _Seen, base: float, pause: float, pauses: Pauses) -> Interval:
    """Take the pause, if there is one, out of an interval and into ``pauses``."""
    pace = seen.seconds / seen.steps
    if seen.usual is not None:
        base, pause = seen.usual, seen.usual * _PAUSE
    if pace <= (pause if seen.phase is None else base * _DECLARED_PAUSE):
        return Interval(seen.steps, seen.seconds)
    proper = min(seen.seconds, base * seen.steps)
    if seen.settled and seen.phase not in _ONCE:
        pauses.add(seen.before, seen.seconds - proper, seen.phase)
    return Interval(seen.steps, proper)


def _basis(pace: Pace, pausing: float | None) -> str:
    steps = wording.step(pace.steps) if pace.steps >= 100 else f"{pace.steps:.3g}"  # epochs come by fractions
    words = f"{wording.number(pace.seconds_per_step)} s per step over the last {steps} steps"
    return f"{words}, and {wording.duration(pausing)} of pauses ahead" if pausing else words
