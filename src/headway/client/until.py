"""What to wait for: questions on a job, combined with ``|`` and ``&``. Pure: they look at a job and a time, and at nothing else.

::

    from headway import Client, until

    worth_a_look = until.finished() | until.condition("Plateaued", for_="1h") | until.metric("eval_loss").below(0.2)
    job = Client().wait("fraud-ft", worth_a_look, timeout=86_400)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from headway.errors import InvalidError
from headway.protocol.job import Job, State
from headway.protocol.limits import CANONICAL_METRICS
from headway.protocol.verdict import ConditionType

Word = TypeVar("Word", State, ConditionType)

_UNITS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:min|[smhd])?\s*)+", re.IGNORECASE)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(min|[smhd]?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Until:
    """A question that a job answers with yes or no at a time (Unix seconds by the server's clock)."""

    test: Callable[[Job, float], bool]
    text: str
    """The question in words, for messages."""

    def __call__(self, job: Job, now: float) -> bool:
        """Whether it is so."""
        return self.test(job, now)

    def __or__(self, other: Until) -> Until:
        if not isinstance(other, Until):
            return NotImplemented
        return Until(lambda job, now: self(job, now) or other(job, now), f"({self.text} or {other.text})")

    def __and__(self, other: Until) -> Until:
        if not isinstance(other, Until):
            return NotImplemented
        return Until(lambda job, now: self(job, now) and other(job, now), f"({self.text} and {other.text})")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class MetricValue:
    """The newest value of a metric, to be compared. One that was never reported, or is NaN, is neither below nor above."""

    name: str

    def below(self, limit: float) -> Until:
        """Whether it is less than ``limit``.

        Raises:
            InvalidError: that is no number.
        """
        limit = _number(limit, "limit")
        return Until(lambda job, _: any(value < limit for value in self._values(job)), f"{self.name} below {limit:g}")

    def above(self, limit: float) -> Until:
        """Whether it is more than ``limit``.

        Raises:
            InvalidError: that is no number.
        """
        limit = _number(limit, "limit")
        return Until(lambda job, _: any(value > limit for value in self._values(job)), f"{self.name} above {limit:g}")

    def _values(self, job: Job) -> list[float]:
        if self.name in job.metrics:
            return [job.metrics[self.name]]
        wanted = CANONICAL_METRICS.get(self.name, self.name)
        return [value for name, value in job.metrics.items() if CANONICAL_METRICS.get(name, name) == wanted]


def finished() -> Until:
    """Nothing more is expected: Complete, Failed, Stopped or Lost."""
    return Until(lambda job, _: job.state.ended, "the end")


def state(*states: State | str) -> Until:
    """The job is in one of these states, such as ``"Running"`` or ``"Paused"``.

    Raises:
        InvalidError: there is no such state, or none is named.
    """
    if not states:
        raise InvalidError(f"no state is named; there are {', '.join(State)}")
    wanted = frozenset(_member(State, each, "state") for each in states)
    return Until(lambda job, _: job.state in wanted, " or ".join(sorted(wanted)))


def condition(kind: ConditionType | str, *, for_: str | float | timedelta = 0.0, metric: str | None = None) -> Until:
    """A condition stands, and has stood for so long.

    Args:
        kind: such as ``"Plateaued"`` or ``"Stalled"``.
        for_: seconds, a timedelta, or ``"90s"``, ``"15 min"``, ``"1h30m"``, ``"2d"``.
        metric: only where it concerns this metric.

    Raises:
        InvalidError: there is no such condition, or no such duration.
    """
    wanted, least = _member(ConditionType, kind, "condition"), seconds(for_)

    def stands(job: Job, now: float) -> bool:
        return any(
            each.type is wanted and each.until is None and metric in (None, each.metric) and now - each.since >= least
            for each in job.conditions
        )

    subject = "" if metric is None else f" of {metric}"
    return Until(stands, f"{wanted}{subject}" + (f" for {least:g} s" if least else ""))


def metric(name: str) -> MetricValue:
    """The newest value of a metric: ``metric("eval_loss").below(0.2)``. Known aliases (``val_loss``) count, too."""
    return MetricValue(name)


def step(number: int) -> Until:
    """The job has made this step.

    Raises:
        InvalidError: that is no number.
    """
    _number(number, "step")
    return Until(lambda job, _: job.progress.step is not None and job.progress.step >= number, f"step {number}")


def seconds(duration: str | float | timedelta) -> float:
    """A duration in seconds.

    Raises:
        InvalidError: it is none.
    """
    if isinstance(duration, str):
        text = duration.strip()
        if not _DURATION.fullmatch(text):
            raise InvalidError(f"{duration!r} is no duration; one looks like 90s, 15 min, 1h30m or 2d")
        return sum(float(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(text))
    length = duration.total_seconds() if isinstance(duration, timedelta) else _number(duration, "duration")
    if not 0 <= length < math.inf:
        raise InvalidError(f"{duration!r} is no duration: it is not from 0 to any number of seconds")
    return length


def _number(value: float, what: str) -> float:
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InvalidError(f"{value!r} is no {what}: a number is needed")
    return number


def _member(kind: type[Word], word: Word | str, what: str) -> Word:
    for member in kind:
        if member.value.lower() == str(word).lower():
            return member
    raise InvalidError(f"{word!r} is no {what}; there are {', '.join(kind)}")
