"""What a drawing depends on besides the documents: the clock, the width, and what the terminal can show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rich.text import Text

from headway.cli.render import words
from headway.protocol.job import Job, State
from headway.protocol.limits import CANONICAL_METRICS
from headway.protocol.verdict import SEVERITY, Condition, ConditionType, Severity, Verdict


@dataclass(frozen=True, slots=True)
class View:
    """How to draw. Plain (``fancy`` false) is for pipes and files: no bars, nothing cut unless a width is given."""

    now: float
    """Unix seconds by the server's clock."""
    width: int | None = None
    """Columns to fit into; None: as many as it takes."""
    fancy: bool = False
    """Bars, curves and marks as well as words."""
    unicode: bool = True
    bar: int = 10
    """Columns that a progress bar takes."""

    @property
    def gap(self) -> str:
        """What stands between parts of a line."""
        return " · " if self.unicode else " - "


@dataclass(frozen=True, slots=True)
class Seen:
    """A job's document, and when it was made: ages and remaining times in it count from then."""

    job: Job
    at: float

    def contact_age(self, now: float) -> float | None:
        """Seconds since the job was last heard of; for an ended one, since it ended."""
        if self.job.state.ended:
            return max(0.0, now - (self.job.ended_at or self.job.updated_at))
        if self.job.last_contact_age is not None:
            return max(0.0, self.job.last_contact_age + now - self.at)
        return max(0.0, now - self.job.updated_at) if self.job.started_at is not None else None

    def eta_seconds(self, now: float) -> tuple[float, float, float] | None:
        """Remaining seconds and their interval, counted down to ``now``."""
        eta = self.job.eta
        if eta is None or self.job.state.ended:
            return None
        passed = max(0.0, now - self.at)
        return max(0.0, eta.seconds - passed), max(0.0, eta.low - passed), max(0.0, eta.high - passed)


STATE_STYLES = {
    State.RUNNING: "green",
    State.COMPLETE: "green",
    State.FAILED: "bold red",
    State.LOST: "bold red",
    State.STOPPED: "yellow",
    State.PAUSED: "yellow",
    State.PREEMPTED: "yellow",
    State.RESTARTING: "yellow",
    State.QUEUED: "cyan",
    State.PENDING: "cyan",
    State.CREATED: "cyan",
}
_SEVERITY_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.NOTICE: "blue"}
_CALM_STYLES = {Verdict.PROGRESSING: "green", Verdict.FINISHING: "green"}
_SEVERITY_OF = {kind.value: severity for kind, severity in SEVERITY.items()}
_ORDER = {kind: rank for rank, kind in enumerate(SEVERITY)}
_VERDICT_WIDTH = 26


def state_words(job: Job) -> str:
    """The state in words; a running job's percentage is left to the bar beside it."""
    if job.state is State.RUNNING and job.progress.percent is not None:
        return job.state.value
    return job.summary or job.state.value


def verdict_style(verdict: Verdict | None) -> str:
    """The style of a verdict: its severity's, green when all is well, dim when it is too early to say."""
    if verdict is None:
        return "dim"
    severity = _SEVERITY_OF.get(verdict.value)
    return _SEVERITY_STYLES[severity] if severity else _CALM_STYLES.get(verdict, "dim")


def severity_style(condition: Condition) -> str:
    """The style of a condition."""
    return _SEVERITY_STYLES[condition.severity]


def standing(job: Job) -> list[Condition]:
    """The conditions that stand, gravest first."""
    return sorted((each for each in job.conditions if each.until is None), key=lambda each: _ORDER[each.type])


def verdict_words(seen: Seen, now: float) -> str:
    """The verdict in a few words, with how long it has stood or how bad it is; ``-`` for a job that does not run.

    ``Plateaued 6.2 h``, ``Slow x1.8``.
    """
    job = seen.job
    if job.verdict is None:
        return words.NONE
    word = job.verdict.value
    text = words.clean(job.verdict_text or "")
    if text.startswith(word) and len(text) <= _VERDICT_WIDTH:
        return text
    cause = next((each for each in standing(job) if each.type.value == word), None)
    if cause is None:
        return word
    ratio = cause.evidence.get("ratio") if cause.type is ConditionType.SLOW else None
    return f"{word} x{ratio:.2g}" if isinstance(ratio, float) else f"{word} {words.span(now - cause.since)}"


def last_verdict(job: Job) -> Condition | None:
    """The gravest condition that stood when a job ended; None where none did, or the job has not ended."""
    end = job.ended_at
    if not job.state.ended or end is None:
        return None
    stood = [each for each in job.conditions if each.until is not None and each.until >= end and each.since <= end]
    return min(stood, key=lambda each: _ORDER[each.type], default=None)


def metric(job: Job, canonical: str) -> float | None:
    """The newest value of a canonical metric, under its own name or an alias."""
    name = metric_name(job, canonical)
    return None if name is None else job.metrics[name]


def metric_name(job: Job, canonical: str) -> str | None:
    """The name that a job gives to a canonical metric."""
    if canonical in job.metrics:
        return canonical
    return next((name for name in job.metrics if CANONICAL_METRICS.get(name) == canonical), None)


def value_text(value: float, style: str = "") -> Text:
    """A metric's value; one that is not finite stands out."""
    return Text(words.number(value), style if math.isfinite(value) else "bold red")


def percent_of(job: Job) -> float | None:
    """Progress in percent, finer than the whole number where step and total are known; None while unknown."""
    progress = job.progress
    if progress.percent is None:
        return None
    if progress.step is not None and progress.total_steps and progress.percent < 100:
        exact = 100 * progress.step / progress.total_steps
        return exact if progress.percent <= exact < progress.percent + 1 else float(progress.percent)
    return float(progress.percent)
