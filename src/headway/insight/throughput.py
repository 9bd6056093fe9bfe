"""Slow: the step time has risen to a multiple of the best level that the run once held.

The level to compare with is that of the lowest of blocks of five minutes, all that agree taken together. A CUSUM on
the logarithm of the step time finds whether and since when it has been higher; its increments are bounded, and what is slow
alone is a pause and left out.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from headway.insight import wording
from headway.insight.findings import Finding
from headway.protocol.report import Phase
from headway.protocol.verdict import ConditionType

_FIRST: Final = 5
_TICK: Final = 1.0
"""Seconds that one value covers, roughly and at least: so many steps are averaged, always the same number."""
_NEARLY: Final = 0.999
_BLOCK_SECONDS: Final = 300.0
_BLOCK_VALUES: Final = 20
_RECENT: Final = 256
_SHIFTS: Final = (math.log(1.25), math.log(2.0))
"""Slow-downs that are looked for, each by a sum of its own: a large one shows in fewer values."""
_BOUND: Final = 3.5
_RARE: Final = 14.0
_LEAST_THRESHOLD: Final = 11.5
"""What a sum must exceed: a false alarm in e to the 14 seconds at the least, in e to the 11.5 values."""
_CEILING: Final = 2.0
_STUCK: Final = 3
"""Late reports in a row after which they are believed."""
_LEAST_VALUES: Final = 4
_LEAST_SD: Final = 0.02
_MIDDLE_ERROR: Final = 1.1
"""Standard error of the mean of the middle half, in standard errors of a mean."""
_LOW_DEVIATION: Final = 0.5586
"""Mean of the lower four fifths of the absolute deviations of a normal variable, in standard deviations."""
_SD_ERROR: Final = 1.5
"""One and a half standard errors of a standard deviation from these, relative, times the root of their number."""
_LIKE: Final = 3.0
_LIKE_LEAST: Final = 0.05
"""A block is of the best level if it is off by less than so many standard errors, and this much."""
_CERTAIN: Final = 0.05
"""Standard error of the level up to which it is compared with."""
_SURE: Final = math.log(1.1)
"""What the ratio, less two of its standard errors, must exceed."""
_DOUBTS: Final = 2.0
_KEPT: Final = 64
_ALONE: Final = math.log(2.5)
_ALONE_SD: Final = 4.0
"""A value higher than the level by this much, and so many standard deviations, is a pause if the next one is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSettings:
    """When a run counts as slow."""

    ratio: float = 1.18
    """Step time relative to the best sustained level. Below 1.25, so that a slow-down by a quarter is found in noise."""
    lasting: float = 120.0
    """Seconds that it must have lasted."""


class _Sum:
    """A CUSUM: log likelihood that the step time has risen by ``shift``, from where that is most likely."""

    __slots__ = ("count", "score", "shift", "step", "t")

    def __init__(self, shift: float) -> None:
        self.shift = shift
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.score = self.t = self.step = 0.0
        self.count = 0

    def add(self, rise: float, sd: float, ceiling: float, t: float, step: float) -> None:
        """Take in a value that is ``rise`` above the level and began at ``t``, with the step that it led to."""
        if self.score == 0.0:
            self.t, self.step, self.count = t, step, 0
        gain = self.shift * (rise - self.shift / 2) / (sd * sd)
        self.score = min(ceiling, max(0.0, self.score + max(-_BOUND, min(_BOUND, gain))))
        self.count = self.count + 1 if self.score else 0


class SlowWatch:
    """The step times of one run, against the best it can do."""

    __slots__ = (
        "_block", "_block_seconds", "_count", "_error", "_late", "_lower", "_pending", "_phase", "_pool", "_recent", "_sd",
        "_seconds", "_step", "_sums", "_t", "_threshold", "_unit", "_work", "_work_done", "settings",
    )  # fmt: skip

    def __init__(self, settings: SlowSettings = SlowSettings()) -> None:
        self.settings = settings
        self._pool: tuple[float, float, float] | None = None
        """The blocks of the best level: how many values, their mean log seconds per step, the variance of one value."""
        self._error = 0.0
        """Standard error of the level."""
        self._sd = _LEAST_SD
        """Standard deviation of one value, rather too large than too small."""
        self._threshold = _RARE
        self._sums = tuple(_Sum(shift) for shift in _SHIFTS)
        self._recent = array("f")
        """Newest values, as rises above the level."""
        self._block = array("f")
        self._block_seconds = 0.0
        self._lower = False
        """Whether the last block was lower than the best level."""
        self._pending: tuple[float, float, float, float] | None = None
        """A value that may be a pause: itself, its seconds, time and step at its end."""
        self._step: float | None = None
        self._t = 0.0
        self._work: float | None = None
        self._count = 0
        self._late = 0
        """Reports in a row that were overtaken."""
        self._phase = False
        self._unit = 0.0
        """Work that one value covers; 0: not known yet."""
        self._work_done = 0.0
        self._seconds = 0.0

    def begin_attempt(self, step: float | None, t: float, *, same_size: bool = True) -> None:
        """Begin an attempt. The level of earlier ones holds on, unless the number of processes differs (``same_size``)."""
        if not same_size:
            self._pool = None
        self._recent = array("f")
        for each in self._sums:
            each.clear()
        self._reset(step, t)

    def observe(self, step: float, t: float, *, phase: str | None = None, work: float | None = None) -> None:
        """Take in that ``step`` steps were complete at time ``t``.

        A report that was overtaken by a later one is passed over; an interval in which another phase than training was
        declared is left out. ``work`` is what is done so far in units that cost the same (tokens, samples), for steps of
        unequal size.
        """
        if not (math.isfinite(step) and math.isfinite(t)):
            return
        if phase is not None and phase != Phase.TRAIN:
            self._phase = True
        if self._count and (work is None) != (self._work is None):
            self._pool = None
            self._step = None
        if self._step is not None and step < self._step and t < self._t and self._late < _STUCK:
            self._late += 1
            return
        self._late = 0
        if self._step is None or step < self._step or t < self._t:
            self._reset(step, t, work)
            return
        if step == self._step:
            return
        done = step - self._step if work is None or self._work is None else work - self._work
        seconds = t - self._t
        self._step, self._t = step, t
        self._work = work
        skip, self._phase = self._phase, phase is not None and phase != Phase.TRAIN
        if skip or done <= 0:
            return
        self._count += 1
        if self._count <= _FIRST:
            return
        self._work_done += done
        self._seconds += seconds
        if self._unit == 0.0 and self._seconds > 0.0:
            self._unit = _NEARLY * min(self._work_done, _TICK * self._work_done / self._seconds)
        if self._work_done >= self._unit and self._seconds > 0.0:
            self._take((math.log(self._seconds / self._work_done), self._seconds, t, step))
            self._work_done = self._seconds = 0.0

    def finding(self, now: float) -> Finding | None:
        """Return Slow if the step time has been higher than it could be, for long enough, up to the newest step."""
        if self._pool is None:
            return None
        for each in self._sums:
            count = min(each.count, len(self._recent))
            if each.score < self._threshold or count < _LEAST_VALUES or self._t - each.t < self.settings.lasting:
                continue
            rise = _middle(self._recent[-count:])
            ratio = math.exp(rise)
            doubt = math.hypot(self._error, _MIDDLE_ERROR * self._sd / math.sqrt(count))
            if ratio >= self.settings.ratio and rise - _DOUBTS * doubt >= _SURE:
                return self._found(now, each, ratio)
        return None

    def _found(self, now: float, since: _Sum, ratio: float) -> Finding:
        best = math.exp(self._pool[1]) if self._pool else math.nan
        return Finding(
            type=ConditionType.SLOW,
            since_t=since.t,
            since_step=int(since.step),
            evidence={
                "ratio": round(ratio, 3),
                "stepSeconds": ratio * best,
                "bestStepSeconds": best,
                "seconds": round(now - since.t, 3),
            },
            text=(
                f"steps take {wording.number(ratio, 2)} x as long as they did at best "
                f"({_pace(ratio * best)} against {_pace(best)}), "
                f"since step {wording.step(since.step)}, for {wording.duration(now - since.t)}"
            ),
        )

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values, for :meth:`load`: without the block that is not full, and with few values."""
        longest = min(_KEPT, max(each.count for each in self._sums))
        return {
            "pool": self._pool,
            "level": [self._error, self._sd, self._lower],
            "recent": [round(rise, 4) for rise in self._recent[-longest:]] if longest else [],
            "sums": [[each.score, each.t, each.step, each.count] for each in self._sums],
            "last": [
                self._step,
                self._t,
                self._work,
                self._count,
                self._phase,
                self._unit,
                self._work_done,
                self._seconds,
            ],
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], settings: SlowSettings = SlowSettings()) -> SlowWatch:
        """Return the watch that :meth:`dump` described."""
        self = cls(settings)
        pool = state["pool"]
        self._pool = None if pool is None else (pool[0], pool[1], pool[2])
        self._error, self._sd, self._lower = state["level"]
        if self._pool is not None:
            self._threshold = _threshold(self._pool[1])
        self._recent.extend(state["recent"])
        for each, values in zip(self._sums, state["sums"], strict=True):
            each.score, each.t, each.step, each.count = values
        self._step, self._t, self._work, self._count, self._phase, self._unit, self._work_done, self._seconds = state[
            "last"
        ]
        return self

    def _reset(self, step: float | None, t: float, work: float | None = None) -> None:
        self._step = step
        self._t = t
        self._work = work
        self._count = self._late = 0
        self._phase = False
        self._unit = self._work_done = self._seconds = 0.0
        self._block = array("f")
        self._block_seconds = 0.0
        self._pending = None

    def _take(self, value: tuple[float, float, float, float]) -> None:
        """Take in a value; one that stands out waits for the next, which tells whether it stands alone."""
        if self._pool is not None:
            pending, self._pending = self._pending, None
            if value[0] - self._pool[1] > max(_ALONE, _ALONE_SD * self._sd):
                if pending is None:
                    self._pending = value
                    return
                self._put(*pending)
        self._put(*value)

    def _put(self, value: float, seconds: float, t: float, step: float) -> None:
        if self._pool is not None and self._error <= _CERTAIN:
            rise = value - self._pool[1]
            over, rising = rise - self._error, False
            for each in self._sums:
                if each.score or over > each.shift / 2:
                    each.add(over, self._sd, _CEILING * self._threshold, t - seconds, step)
                    rising = rising or each.count > 0
            if rising:
                self._recent.append(rise)
                if len(self._recent) > 2 * _RECENT:
                    self._recent = self._recent[-_RECENT:]
            elif self._recent:
                self._recent = array("f")
        self._block.append(value)
        self._block_seconds += seconds
        if len(self._block) >= _BLOCK_VALUES and self._block_seconds >= _BLOCK_SECONDS:
            self._close(self._block)
            self._block = array("f")
            self._block_seconds = 0.0

    def _close(self, block: Sequence[float]) -> None:
        """A block is full: one that agrees with the best level makes it more certain; the second lower one is the best level."""
        count, middle = len(block), _middle(block)
        sd = fmean(sorted(abs(value - middle) for value in block)[: (4 * count) // 5]) / _LOW_DEVIATION
        if any(each.score >= self._threshold / 2 for each in self._sums):
            return
        if self._pool is not None:
            counts, level, variance = self._pool
            error = _MIDDLE_ERROR * math.sqrt(max(variance, sd * sd) * (1 / count + 1 / counts))
            off, like = middle - level, max(_LIKE * error, _LIKE_LEAST)
            lower, self._lower = self._lower, off < -like
            if off > like or (self._lower and not lower):
                return
            if not self._lower:
                share = count / (counts + count)
                self._keep(counts + count, level + share * off, variance + share * (sd * sd - variance), sd)
                return
        self._lower = False
        self._unit = 0.0
        self._keep(count, middle, sd * sd, sd)

    def _keep(self, count: float, level: float, variance: float, newest: float) -> None:
        """Set the best level: the mean of blocks of ``count`` values of this ``variance``."""
        self._pool = (count, level, variance)
        self._sd = max(_LEAST_SD, math.sqrt(variance) * (1 + _SD_ERROR / math.sqrt(count)), newest)
        self._error = _MIDDLE_ERROR * self._sd / math.sqrt(count)
        self._threshold = _threshold(level)


def _middle(values: Sequence[float]) -> float:
    """Mean of the middle half: blind to pauses as a median is, nearly as sure as a mean."""
    quarter = len(values) // 4
    return fmean(sorted(values)[quarter : len(values) - quarter])


def _threshold(level: float) -> float:
    return max(_LEAST_THRESHOLD, _RARE - max(0.0, level))


def _pace(seconds: float) -> str:
    return f"{wording.number(seconds, 2)} s"
