"""Slow: the step time has risen to a multiple of the best level that the run once held.

The level to compare with is the lowest median over a block of five minutes. A CUSUM on the logarithm of the step time, with
bounded increments so that a pause counts no more than a slow step, finds whether and since when it has been higher.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from headway.insight import wording
from headway.insight.findings import Finding
from headway.protocol.report import Phase
from headway.protocol.verdict import ConditionType

_FIRST: Final = 5
_TICK: Final = 1.0
"""Seconds that one value covers at least: faster steps are averaged."""
_BLOCK_SECONDS: Final = 300.0
_BLOCK_VALUES: Final = 20
_RECENT: Final = 256
_KEPT: Final = 64
_SHIFT: Final = math.log(1.2)
_BOUND: Final = 3.0
_THRESHOLD: Final = 14.0
_CEILING: Final = 28.0
_LEAST_VALUES: Final = 5
_LEAST_SD: Final = 0.02
_MAD_TO_SD: Final = 1.4826
_MEDIAN_ERROR: Final = 1.2533
"""Standard error of a median, in standard errors of a mean."""
_SD_ERROR: Final = 2.0
"""Nearly two standard errors of a standard deviation by way of medians, relative."""
_BLOCK_ERROR: Final = 0.02
_BLOCK_MOST: Final = 400
_SURE: Final = math.log(1.1)
"""What the ratio, less three of its standard errors, must exceed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSettings:
    """When a run counts as slow."""

    ratio: float = 1.18
    """Step time relative to the best sustained level. Below 1.25, so that a slow-down by a quarter is found in noise."""
    lasting: float = 120.0
    """Seconds that it must have lasted."""


class SlowWatch:
    """The step times of one run, against the best it can do."""

    __slots__ = (
        "_block", "_block_least", "_block_seconds", "_count", "_level", "_onset", "_phase", "_recent", "_score", "_sd",
        "_seconds", "_step", "_t", "_work", "_work_done", "settings",
    )  # fmt: skip

    def __init__(self, settings: SlowSettings = SlowSettings()) -> None:
        self.settings = settings
        self._level: float | None = None
        self._sd = _LEAST_SD
        self._recent: deque[tuple[float, float, float]] = deque(maxlen=_RECENT)
        """(time, step, log seconds per step)"""
        self._block: list[float] = []
        self._block_seconds = 0.0
        self._block_least = _BLOCK_VALUES
        self._score = 0.0
        self._onset: tuple[float, float] | None = None
        self._step: float | None = None
        self._t = 0.0
        self._work: float | None = None
        self._count = 0
        self._phase = False
        self._work_done = 0.0
        self._seconds = 0.0

    def begin_attempt(self, step: float | None, t: float, *, same_size: bool = True) -> None:
        """Begin an attempt. The level of earlier ones holds on, unless the number of processes differs (``same_size``)."""
        if not same_size:
            self._level = None
        self._recent.clear()
        self._score = 0.0
        self._onset = None
        self._reset(step, t)

    def observe(self, step: float, t: float, *, phase: str | None = None, work: float | None = None) -> None:
        """Take in that ``step`` steps were complete at time ``t``.

        An interval in which another phase than training was declared is left out. ``work`` is what is done so far in
        units that cost the same (tokens, samples), for steps of unequal size.
        """
        if not (math.isfinite(step) and math.isfinite(t)):
            return
        if phase is not None and phase != Phase.TRAIN:
            self._phase = True
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
        if self._seconds >= _TICK:
            self._take(math.log(self._seconds / self._work_done), self._seconds)
            self._work_done = self._seconds = 0.0

    def finding(self, now: float) -> Finding | None:
        """Return Slow if the step time has been higher than it could be, for long enough, up to the newest step."""
        if self._level is None or self._onset is None or self._score < _THRESHOLD:
            return None
        since, step = self._onset
        values = [value for t, _, value in self._recent if t > since]
        if len(values) < _LEAST_VALUES or self._t - since < self.settings.lasting:
            return None
        rise = median(values) - self._level
        ratio = math.exp(rise)
        if ratio < self.settings.ratio or rise - 3 * _MEDIAN_ERROR * self._sd / math.sqrt(len(values)) < _SURE:
            return None
        return Finding(
            type=ConditionType.SLOW,
            since_t=since,
            since_step=int(step),
            evidence={
                "ratio": round(ratio, 3),
                "stepSeconds": math.exp(median(values)),
                "bestStepSeconds": math.exp(self._level),
                "seconds": round(now - since, 3),
            },
            text=(
                f"steps take {wording.number(ratio, 2)} x as long as they did at best "
                f"({_pace(math.exp(median(values)))} against {_pace(math.exp(self._level))}), "
                f"since step {wording.step(step)}, for {wording.duration(now - since)}"
            ),
        )

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values, for :meth:`load`: without the block that is not full, and with few values."""
        return {
            "level": [self._level, self._sd],
            "recent": self._since_onset()[-_KEPT:],
            "block": self._block_least,
            "cusum": [self._score, None if self._onset is None else list(self._onset)],
            "last": [self._step, self._t, self._work, self._count, self._phase, self._work_done, self._seconds],
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], settings: SlowSettings = SlowSettings()) -> SlowWatch:
        """Return the watch that :meth:`dump` described."""
        self = cls(settings)
        self._level, self._sd = state["level"]
        self._recent.extend((t, step, value) for t, step, value in state["recent"])
        self._block_least = state["block"]
        self._score, onset = state["cusum"]
        self._onset = None if onset is None else (onset[0], onset[1])
        self._step, self._t, self._work, self._count, self._phase, self._work_done, self._seconds = state["last"]
        return self

    def _since_onset(self) -> list[list[float]]:
        if self._onset is None or self._score == 0.0:
            return []
        return [list(item) for item in self._recent if item[0] > self._onset[0]]

    def _reset(self, step: float | None, t: float, work: float | None = None) -> None:
        self._step = step
        self._t = t
        self._work = work
        self._count = 0
        self._phase = False
        self._work_done = self._seconds = 0.0
        self._block = []
        self._block_seconds = 0.0

    def _take(self, value: float, seconds: float) -> None:
        step = self._step or 0.0
        if self._level is not None:
            if self._score == 0.0:
                self._onset = (self._t - seconds, step)
            gain = _SHIFT * (value - self._level - _SHIFT / 2) / self._sd**2
            self._score = min(_CEILING, max(0.0, self._score + max(-_BOUND, min(_BOUND, gain))))
        self._recent.append((self._t, step, value))
        self._block.append(value)
        self._block_seconds += seconds
        n = len(self._block)
        if self._block_seconds >= _BLOCK_SECONDS and n >= self._block_least and (n % 8 == 0 or n >= _BLOCK_MOST):
            self._close()

    def _close(self) -> None:
        """A block is full: its median, and two standard errors for chance, may be a new best level.

        The next block is twice as long as long as chance leaves the level uncertain.
        """
        middle = median(self._block)
        root = math.sqrt(len(self._block))
        sd = (1 + _SD_ERROR / root) * _MAD_TO_SD * median(abs(value - middle) for value in self._block)
        sd = max(_LEAST_SD, sd, self._sd if self._level is not None else 0.0)
        error = _MEDIAN_ERROR * sd / root
        if self._score < _THRESHOLD:
            self._sd = sd
            if self._level is None or middle + 2 * error < self._level:
                self._level = middle + 2 * error
        self._block_least = min(_BLOCK_MOST, 2 * len(self._block)) if error > _BLOCK_ERROR else _BLOCK_VALUES
        self._block = []
        self._block_seconds = 0.0


def _pace(seconds: float) -> str:
    return f"{wording.number(seconds, 2)} s"
