"""The judgement of a run, kept up to date point by point.

:meth:`RunInsight.observe` takes a point in (:mod:`headway.insight.state`); :meth:`RunInsight.assess` gathers what the judges
find into findings with words and figures, and chooses the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from headway.insight import texts, wording
from headway.insight.course import describe
from headway.insight.findings import Assessment, Finding, gravest_first
from headway.insight.hints import gradient_jump, rate_at_peak, uniform_guess
from headway.insight.metrics import Role
from headway.insight.plateau import Course
from headway.insight.state import RunState
from headway.insight.watch import QUALITY
from headway.protocol.message import Message
from headway.protocol.report import Point
from headway.protocol.verdict import Severity, Verdict

_FINISHING_SHARE: Final = 0.05
_FINISHING_SECONDS: Final = 600.0
_LATEST_SHARE: Final = 0.2
"""Ten minutes count as the end only of a run that has less than this share left: a run of five minutes begins, too."""


class RunInsight:
    """Everything insight knows of one run. Pure: time comes in with the points and with :meth:`assess`.

    Times are ``start + point.t``, where ``start`` is when the attempt began on the caller's clock. ``directions`` says which
    way metrics are better (``min`` or ``max``); ``metric`` is the one to judge the run by, if not the usual.
    """

    def __init__(self, *, directions: Mapping[str, str] | None = None, metric: str | None = None) -> None:
        self._run = RunState(directions or {}, metric)
        self._said: tuple[Verdict, Message] = describe(None, self._run.axis, None)
        self._said_for: tuple[object, ...] = ()
        self._kept: dict[tuple[str, str], tuple[tuple[object, ...], Finding]] = {}
        """Findings by kind and metric, with what they were made for."""

    def declare(self, directions: Mapping[str, str]) -> None:
        """Learn which way metrics are better (``min`` or ``max``), before their first point."""
        self._run.declare(directions)

    def begin_attempt(self, start: float, *, step: int | None = None) -> None:
        """The next attempt begins at time ``start``, resumed from ``step`` where that is known."""
        self._run.begin_attempt(start, step=step)

    def observe(
        self, point: Point, *, total_steps: int | None = None, epoch: float | None = None, more: bool = False
    ) -> None:
        """Take in one point. Points come in order; one from before the last in time is late, and changes nothing.

        Args:
            point: metric values at a step; ``t`` is seconds since the attempt began, NaN where no times are known.
            total_steps: steps in all, where they are known; not positive: they are not known any more.
            epoch: epochs done at this point, if no metric says so.
            more: further points follow at once: trends, which cost most, are looked at after the last of them.
        """
        self._run.observe(point, total_steps=total_steps, epoch=epoch, more=more)

    def renew(self) -> None:
        """Say all anew at the next assessment: words are kept for a while, which the end of a log has no use for."""
        self._said_for = ()
        self._kept.clear()

    @property
    def primary(self) -> str | None:
        """The metric that the run is judged by: the one asked for; else reward, evaluation once there are 12, loss."""
        primary = self._run.primary
        return primary.series.name if primary is not None else None

    def assess(
        self, now: float, *, eta_seconds: float | None = None, others: Iterable[Finding] = ()
    ) -> Assessment:  # fmt: skip
        """What stands at ``now``. ``others`` are findings of other judges (Stalled, Slow …) that the verdict weighs too."""
        found = [*others, *self._findings(now)]
        findings = gravest_first(found) if found else ()
        notes = tuple(self._notes())
        gravest = findings[0] if findings else None
        verdict, message = self._course()
        if gravest is not None and (gravest.severity is not Severity.NOTICE or verdict is not Verdict.STARTING):
            return Assessment(
                verdict=Verdict(gravest.type.value),
                text=gravest.text,
                since_t=gravest.since_t,
                since_step=gravest.since_step,
                findings=findings,
                notes=notes,
            )
        if verdict is not Verdict.STARTING and self._finishing(eta_seconds):
            verdict = Verdict.FINISHING
        return Assessment(verdict=verdict, text=message.text, message=message, findings=findings, notes=notes)

    def _course(self) -> tuple[Verdict, Message]:
        """The verdict with nothing wrong; its words are renewed at each look, and as often as the run gets on by 0.5 %."""
        judge = self._run.primary.plateau if self._run.primary is not None else None
        look = judge.look if judge is not None else None
        key = (
            look,
            judge.standing if judge is not None else None,
            self._age() if look is not None else self._run.points,
        )
        if key != self._said_for:
            self._said_for = key
            self._said = describe(self._run.primary, self._run.axis, self._run.total)
        return self._said

    def _age(self) -> int:
        """Changes as often as the run gets on by 0.5 % or, without a total, by 4 % of what it has done."""
        if self._run.total:
            return round(200 * self._run.axis.last_step / self._run.total)
        return math.floor(25 * math.log(max(1, self._run.points)))

    def _renewed(self, kind: str, metric: str, key: tuple[object, ...], make: Callable[[], Finding]) -> Finding:
        """A finding whose words are made anew when ``key`` changes, and as often as the run gets on."""
        key = (*key, self._age())
        kept = self._kept.get((kind, metric))
        if kept is None or kept[0] != key:
            kept = self._kept[kind, metric] = key, make()
        return kept[1]

    def _finishing(self, eta_seconds: float | None) -> bool:
        total, first = self._run.total, self._run.axis.first_step
        if total is None or first is None:
            return False
        left = 1.0 - self._run.axis.last_step / total
        soon = eta_seconds is not None and eta_seconds < _FINISHING_SECONDS
        return left < (_LATEST_SHARE if soon else _FINISHING_SHARE)

    def _findings(self, now: float) -> Iterable[Finding]:
        axis = self._run.axis
        for name, watch in self._run.watches.items():
            finite = watch.finite
            if finite.standing is not None and watch.series.role in QUALITY:
                yield texts.nonfinite(name, axis, finite.standing, finite.word, finite.count)
            if watch.is_frozen and watch.frozen.standing is not None and not math.isnan(watch.frozen.value):
                frozen = watch.frozen
                yield texts.frozen(
                    name, axis, frozen.standing or 0.0, frozen.value, frozen.repeats, others_move=watch.stale > 0
                )
        yield from self._departures()
        yield from self._overfits()
        yield from self._plateau(now)

    def _departures(self) -> Iterable[Finding]:
        if self._run.parts.get(Role.REWARD) is not None:
            return
        train = self._run.parts.get(Role.TRAIN_LOSS)
        for watch in self._run.watches.values():
            judge, series = watch.divergence, watch.series
            if judge is None or judge.standing is None:
                continue
            if series.role is Role.EVAL_LOSS and train is not None and train.count >= 3:
                continue
            gradients = self._run.parts.get(Role.GRAD_NORM)
            causes = (
                uniform_guess(series.now(3)),
                gradient_jump(gradients, judge.standing.since) if gradients is not None else None,
                rate_at_peak(self._run.axis),
            )
            yield texts.diverging(series, self._run.axis, judge.standing, [cause for cause in causes if cause])

    def _overfits(self) -> Iterable[Finding]:
        train = self._run.parts.get(Role.TRAIN_LOSS)
        for watch in self._run.watches.values():
            standing = watch.overfit.standing if watch.overfit is not None else None
            if standing is not None and train is not None:
                make = partial(texts.overfitting, watch.series, train, self._run.axis, standing)
                yield self._renewed("overfit", watch.series.name, (standing, train.name), make)

    def _plateau(self, now: float) -> Iterable[Finding]:
        watch = self._run.primary
        judge = watch.plateau if watch is not None else None
        look = judge.look if judge is not None else None
        if watch is None or judge is None or judge.standing is not Course.PLATEAU or look is None:
            return
        loss = watch.series.role in (Role.TRAIN_LOSS, Role.EVAL_LOSS)
        falling = self._run.falling_train if watch.series.role is Role.EVAL_LOSS else None

        def make() -> Finding:
            return texts.plateaued(
                watch.series,
                self._run.axis,
                look,
                judge.since or 0.0,
                total=self._run.total,
                now=now,
                falling_train=falling,
                hint=uniform_guess(watch.series.now()) if loss else None,
            )

        yield self._renewed("plateau", watch.series.name, (look, judge.since, falling, self._run.total), make)

    def _notes(self) -> Iterable[str]:
        for name, watch in self._run.watches.items():
            if watch.finite.isolated is not None and watch.finite.standing is None:
                yield f"{name} was not finite at step {wording.step(watch.finite.isolated)}, and is finite again"
            if watch.divergence is not None and watch.divergence.spikes:
                judge = watch.divergence
                spikes = (
                    "a spike that recovered" if judge.spikes == 1 else f"{judge.spikes} spikes that recovered, the last"
                )
                yield f"{name}: {spikes} at step {wording.step(judge.spike_at)}"
