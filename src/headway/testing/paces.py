"""Runs as one who watches their pace hears of them, from a seed, with what is true of them: for tests and benchmarks.

A :class:`Plan` says how a run behaves, :func:`play` lets it run, and :func:`draw` does both with everything drawn from a seed.
What comes out is a :class:`Course`: what is heard and when, when the run ends, and where what was done to it begins. On top
come what happens on the way to the listener: late and doubled reports, clocks that jump, machines that sleep.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final, NamedTuple

NOISES: Final = (0.005, 0.02, 0.05, 0.1, 0.3)
"""Relative standard deviations of the time of one step."""
_HINTED: Final = 512


class Heard(NamedTuple):
    """One report."""

    step: int
    t: float
    """Seconds on the attempt's clock, when the step was complete."""
    phase: str | None = None
    step_seconds: float | None = None
    """Median seconds per step since the last report."""


class Mark(NamedTuple):
    """A place in a run: the last step before it, and the time."""

    step: int
    t: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One attempt of a run, from ``first`` (the step it resumes from) to ``total`` steps at ``end``."""

    kind: str
    first: int
    total: int
    heard: tuple[Heard, ...]
    end: float
    usual: float
    """Seconds per step of training proper, at first and without noise."""
    onset: Mark | None = None
    """Where what was done to it begins; None: nothing was, or it has no single place."""
    until: Mark | None = None
    """Where it ends; None: never."""

    @property
    def name(self) -> str:
        """Kind and first figures, for tables."""
        return f"{self.kind} ({self.total - self.first} steps of {self.usual:.3g} s)"


def _even(_: int) -> float:
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a run behaves."""

    kind: str
    total: int = 1000
    first: int = 0
    start: float = 0.0
    """Seconds before its first step begins: start-up, compilation, reading a checkpoint."""
    seconds: float = 1.0
    """Mean seconds per step of training proper."""
    pace: Callable[[int], float] = _even
    """By how much each step takes longer than that."""
    noise: float = 0.02
    """Relative standard deviation of the time of a step (log-normal)."""
    pauses: tuple[tuple[int, float], ...] = ()
    """Evaluations and checkpoints: (every so many steps, seconds)."""
    once: Mapping[int, float] = field(default_factory=dict)
    """Pauses that come once: after which step, seconds."""
    declared: bool = False
    """Whether the run says that it pauses."""
    cadence: float = 0.0
    """Seconds between reports; 0: one per step."""
    onset: int | None = None
    """Last step before what was done to it."""
    until: int | None = None


def play(plan: Plan, seed: int) -> Course:
    """Let a run behave as planned; noise is drawn from ``seed``."""
    rng = random.Random(f"{plan.kind}/{seed}")  # noqa: S311 - noise, not a secret
    t = plan.start
    heard: list[Heard] = []
    took: list[float] = []
    marks: dict[int, float] = {plan.first: t}
    last = Mark(plan.first, t)
    ticks = 0

    def report() -> None:
        heard.append(Heard(*last, None, median(took[-_HINTED:]) if plan.cadence else None))
        took.clear()

    for step in range(plan.first + 1, plan.total + 1):
        seconds = plan.seconds * plan.pace(step) * rng.lognormvariate(-(plan.noise**2) / 2, plan.noise)
        t += seconds
        if plan.cadence and took and t // plan.cadence > ticks:
            report()
            ticks = math.floor(t / plan.cadence)
        last = Mark(step, t)
        took.append(seconds)
        if not plan.cadence:
            report()
        pause = sum(s * rng.lognormvariate(0, 0.03) for every, s in plan.pauses if step % every == 0)
        pause += plan.once.get(step, 0.0)
        if pause and plan.declared:
            if took:
                report()
            heard.append(Heard(step, t, "eval"))
        t += pause
        if step in (plan.onset, plan.until):
            marks[step] = t
    if took:
        report()
    return Course(
        kind=plan.kind,
        first=plan.first,
        total=plan.total,
        heard=tuple(heard),
        end=t,
        usual=plan.seconds,
        onset=None if plan.onset is None else Mark(plan.onset, marks[plan.onset]),
        until=None if plan.until is None else Mark(plan.until, marks[plan.until]),
    )


# --- what a run may look like: everything drawn ------------------------------------------------------------------------


def _plain(kind: str, rng: random.Random) -> Plan:
    """Length, pace, noise and how often it is heard."""
    seconds = 10 ** rng.uniform(-1, 1.5)
    return Plan(
        kind=kind,
        total=round(10 ** rng.uniform(2.3, 3.5)),
        seconds=seconds,
        noise=rng.choice(NOISES),
        cadence=rng.choice((0.0, 1.0, 5.0 * seconds)),
    )


def _steady(rng: random.Random) -> Plan:
    return _plain("steady", rng)


def _resume(rng: random.Random) -> Plan:
    plan = _plain("resume", rng)
    first = round(plan.total * rng.uniform(0.1, 0.9))
    return replace(plan, total=max(plan.total, first + 100), first=first, start=plan.seconds * rng.uniform(1, 50))


def _compile(rng: random.Random) -> Plan:
    plan = _plain("compile", rng)
    return replace(plan, start=min(1500.0, plan.seconds * rng.uniform(10, 300)))


def _period(plan: Plan, rng: random.Random, least: float, most: float) -> tuple[int, float]:
    """A pause at every 2 to 15 % of the steps, of a share of the training between two of them."""
    every = max(5, round(plan.total * rng.uniform(0.02, 0.15)))
    return every, plan.seconds * every * rng.uniform(least, most)


def _evaluations(rng: random.Random) -> Plan:
    plan = _plain("evaluations", rng)
    return replace(plan, pauses=(_period(plan, rng, 0.05, 0.6),), declared=rng.random() < 0.3)


def _checkpoints(rng: random.Random) -> Plan:
    plan = _plain("checkpoints", rng)
    return replace(plan, pauses=(_period(plan, rng, 0.05, 0.5), _period(plan, rng, 0.03, 0.3)))


def _change(rng: random.Random) -> Plan:
    plan = _plain("change of speed", rng)
    at, ratio = round(plan.total * rng.uniform(0.05, 0.6)), rng.choice((0.5, 0.8, 1.25, 2.0, 3.0))
    return replace(plan, pace=lambda step: ratio if step > at else 1.0, onset=at)


def _patch(rng: random.Random) -> Plan:
    plan = _plain("slow patch", rng)
    at, ratio = round(plan.total * rng.uniform(0.05, 0.6)), rng.uniform(1.5, 4.0)
    until = at + round(plan.total * rng.uniform(0.02, 0.15))
    return replace(plan, pace=lambda step: ratio if at < step <= until else 1.0, onset=at, until=until)


def _patches(rng: random.Random) -> Plan:
    plan = _plain("slow patches", rng)
    every, share, ratio = (
        max(20, round(plan.total * rng.uniform(0.05, 0.15))),
        rng.uniform(0.1, 0.4),
        rng.uniform(1.3, 3),
    )
    return replace(plan, pace=lambda step: ratio if step % every < share * every else 1.0)


def _rare(rng: random.Random) -> Plan:
    """Pauses at random, of random lengths, that come to 5 to 50 % of the training; none in the first 2 % of the steps."""
    plan = _plain("random pauses", rng)
    count = rng.randint(5, 20)
    usual = plan.total * plan.seconds * rng.uniform(0.05, 0.5) / count
    lengths = {
        rng.randint(plan.first + 1, plan.total - 1): usual * rng.lognormvariate(-0.18, 0.6) for _ in range(count)
    }
    return replace(plan, once=lengths)


def _drift(rng: random.Random) -> Plan:
    plan = _plain("drift", rng)
    growth = rng.uniform(-0.3, 0.5)
    return replace(plan, pace=lambda step: 1 + growth * step / plan.total)


def _wander(rng: random.Random) -> Plan:
    """A pace that comes back to its mean, sooner or later."""
    plan = _plain("wander", rng)
    keep, sd, level = 1 - 10 ** rng.uniform(-2.5, -0.5), rng.choice((0.02, 0.05, 0.1)), 0.0
    levels = [1.0]
    for _ in range(plan.total):
        level = keep * level + rng.gauss(0, sd * math.sqrt(1 - keep * keep))
        levels.append(math.exp(level))
    return replace(plan, pace=lambda step: levels[step])


DRAWN: Final[Mapping[str, Callable[[random.Random], Plan]]] = {
    "steady": _steady,
    "resume": _resume,
    "compile": _compile,
    "evaluations": _evaluations,
    "checkpoints": _checkpoints,
    "change of speed": _change,
    "slow patch": _patch,
    "slow patches": _patches,
    "random pauses": _rare,
    "drift": _drift,
    "wander": _wander,
}
"""Kinds of healthy runs; none of them is Stalled."""


def draw(kind: str, seed: int) -> Course:
    """A run of one of the kinds in :data:`DRAWN`; all else about it is drawn from ``seed``."""
    return play(DRAWN[kind](random.Random(f"{kind}/plan/{seed}")), seed)  # noqa: S311


def slowed(
    ratio: float,
    *,
    seconds: float = 1.0,
    noise: float = 0.05,
    healthy: float = 1800.0,
    after: float = 1800.0,
    seed: int = 0,
) -> Course:
    """A run with evaluations whose steps take ``ratio`` times as long after ``healthy`` seconds, for ``after`` more."""
    onset = max(60, round(healthy / seconds))
    plan = Plan(
        kind=f"slowed {ratio:g} x",
        total=onset + max(20, round(after / seconds / ratio)),
        seconds=seconds,
        noise=noise,
        pace=lambda step: ratio if step > onset else 1.0,
        pauses=((97, 20.0),),
        onset=onset,
    )
    return play(plan, seed)


def stalled(course: Course, share: float, seconds: float, *, beats: float = 5.0) -> Course:
    """The same run, standing still for ``seconds`` after ``share`` (0 to 1) of what is heard, with signs of life."""
    at = max(1, min(len(course.heard) - 1, round(share * len(course.heard))))
    last = course.heard[at - 1]
    signs = [Heard(last.step, last.t + k * beats) for k in range(1, math.ceil(seconds / beats))]
    later = [one._replace(t=one.t + seconds) for one in course.heard[at:]]
    return replace(
        course,
        kind=f"stalled, {course.kind}",
        heard=(*course.heard[:at], *signs, *later),
        end=course.end + seconds,
        onset=Mark(last.step, last.t),
        until=Mark(last.step, last.t + seconds),
    )


# --- what happens on the way ------------------------------------------------------------------------------------------


def late(course: Course, seed: int, *, share: float = 0.1, most: int = 3) -> Course:
    """The same run, some of whose reports are overtaken by up to ``most`` later ones."""
    rng = random.Random(seed)  # noqa: S311
    order = [index + (rng.uniform(1, most) if rng.random() < share else 0.0) for index in range(len(course.heard))]
    heard = [course.heard[index] for index in sorted(range(len(order)), key=lambda index: (order[index], index))]
    return replace(course, kind=f"late, {course.kind}", heard=tuple(heard))


def doubled(course: Course, seed: int, *, share: float = 0.1) -> Course:
    """The same run, some of whose reports come twice."""
    rng = random.Random(seed)  # noqa: S311
    heard = [one for each in course.heard for one in ([each, each] if rng.random() < share else [each])]
    return replace(course, kind=f"doubled, {course.kind}", heard=tuple(heard))


def jumped(course: Course, share: float, seconds: float) -> Course:
    """The same run, its clock set forward (or back, if negative) once ``share`` (0 to 1) of it is heard."""
    at = max(1, round(share * len(course.heard)))
    later = [one._replace(t=one.t + seconds) for one in course.heard[at:]]
    last = course.heard[at - 1]
    return replace(
        course,
        kind=f"clock {seconds:+g} s, {course.kind}",
        heard=(*course.heard[:at], *later),
        end=course.end + seconds,
        onset=Mark(last.step, last.t),
    )


def asleep(course: Course, share: float, seconds: float) -> Course:
    """The same run on a machine that sleeps for ``seconds``: nothing is heard, nothing goes on, and the clock does."""
    return replace(jumped(course, share, seconds), kind=f"asleep {seconds:g} s, {course.kind}")
