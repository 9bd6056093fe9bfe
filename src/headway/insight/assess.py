"""The judgement of a run, kept up to date point by point.

Flow: :meth:`RunInsight.observe` takes each point in, sorts out what is not finite and what is stale, and hands the rest to
the judges of its metric; :meth:`RunInsight.assess` says what stands. A look at a trend is taken only when the number of
points has grown by 8 %, so that a million points cost a few hundred looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from headway.insight import texts, wording
from headway.insight.axis import Axis
from headway.insight.course import describe
from headway.insight.findings import Assessment, Finding, gravest_first
from headway.insight.hints import uniform_guess
from headway.insight.metrics import Role, role_of
from headway.insight.overfit import falling
from headway.insight.plateau import Course, PlateauJudge
from headway.insight.series import MetricSeries
from headway.insight.watch import QUALITY, MetricWatch
from headway.protocol.report import Point
from headway.protocol.verdict import Severity, Verdict

_ENOUGH_EVALUATIONS: Final = 12
_FINISHING_SHARE: Final = 0.05
_FINISHING_SECONDS: Final = 600.0
_SEVERAL_EPOCHS: Final = 1.5
_EPOCH_NAMES: Final = ("epoch", "train/epoch")
_EARLY_SHARE: Final = 0.1
_MOST_METRICS: Final = 256
_FALLING_TRAIN: Final = 0.02


class RunInsight:
    """Everything insight knows of one run. Pure: time comes in with the points and with :meth:`assess`.

    Times are ``start + point.t``, where ``start`` is when the attempt began on the caller's clock.
    """

    def __init__(self, *, directions: Mapping[str, str] | None = None, metric: str | None = None) -> None:
        self._declared: dict[str, str] = dict(directions or {})
        self._chosen = metric
        self._axis = Axis()
        self._watches: dict[str, MetricWatch] = {}
        self._start = 0.0
        self._total: int | None = None
        self._points = 0
        self._parts: dict[Role, MetricSeries] = {}
        self._primary: MetricWatch | None = None
        self._said: tuple[Verdict, str] = (Verdict.STARTING, "")
        self._said_for: tuple[object, ...] = ()
        self._falling_train: str | None = None
        """The training loss that still falls while evaluation has plateaued."""
        self._epochs: tuple[float, float, float, float] | None = None
        """Step and epoch where epochs were first and last known."""

    # --- taking in -------------------------------------------------------------------------------------------------

    def declare(self, directions: Mapping[str, str]) -> None:
        """Learn which way metrics are better (``min`` or ``max``), before their first point."""
        self._declared.update(directions)

    def begin_attempt(self, start: float, *, step: int | None = None) -> None:
        """The next attempt begins at time ``start``, resumed from ``step`` where that is known."""
        self._start = start
        if step is not None and step < self._axis.last_step:
            self._back_to(step + 1)
        for watch in self._watches.values():
            watch.begin_again(self._axis, self._total)

    def observe(self, point: Point, *, total_steps: int | None = None, epoch: float | None = None) -> None:
        """Take in one point. Points come in order; one from before the last in time is late, and changes nothing."""
        step, t = float(point.step), self._start + point.t
        axis = self._axis
        if step < axis.last_step:
            if t < axis.last_t:
                return
            self._back_to(step)
            for watch in self._watches.values():
                watch.begin_again(self._axis, self._total)
        if total_steps is not None:
            self._total = total_steps if total_steps > 0 else None
        rate = next((cell.mean for name, cell in point.metrics.items() if role_of(name) is Role.LEARNING_RATE), None)
        axis.add(step, t, rate)
        if epoch is None:
            epoch = next((point.metrics[name].mean for name in _EPOCH_NAMES if name in point.metrics), None)
        if epoch is not None and math.isfinite(epoch):
            first = self._epochs[:2] if self._epochs else (step, epoch)
            self._epochs = (*first, step, epoch)
        self._take(step, point)

    def _back_to(self, step: float) -> None:
        self._axis.cut(step)
        for watch in self._watches.values():
            watch.cut(step)

    def _take(self, step: float, point: Point) -> None:
        fresh: list[tuple[MetricWatch, float]] = []
        hidden = self._hides_nan(point)
        before = len(self._watches)
        for name, cell in point.metrics.items():
            watch = self._watches.get(name)
            if watch is None:
                if role_of(name) is Role.LEARNING_RATE or name in _EPOCH_NAMES or len(self._watches) >= _MOST_METRICS:
                    continue
                watch = self._watches[name] = MetricWatch(name, self._declared)
            mean = cell.mean if 2 * cell.bad < cell.n or not math.isfinite(cell.mean) else math.nan
            unmasked = hidden and mean == 0.0 and watch.series.role is Role.TRAIN_LOSS
            if watch.value(step, mean, hidden=unmasked):
                fresh.append((watch, mean))
        self._points += 1
        if len(self._watches) != before or self._points & (self._points - 1) == 0:
            self._cast()
        moved = any(not watch.repeats for watch, _ in fresh if watch.series.role in QUALITY)
        train = self._parts.get(Role.TRAIN_LOSS)
        early = self._total is not None and step < _EARLY_SHARE * self._total
        for watch, mean in fresh:
            if watch.is_stale(moved=moved):
                continue
            watch.accept(step, mean, train, early=early)
            if watch.plateau is not None and (watch is self._primary or self._is_next(watch)):
                looked = watch.plateau.consider(watch.series, self._axis, self._total, self._epoch_steps())
                if looked and watch.series.role is Role.EVAL_LOSS:
                    self._compare_with_train(watch.plateau)
                    self._cast()

    def _compare_with_train(self, judge: PlateauJudge) -> None:
        """See whether the training loss still falls where evaluation stands still; it takes more to change one's mind."""
        train = self._parts.get(Role.TRAIN_LOSS)
        if train is None or judge.look is None or judge.standing is not Course.PLATEAU:
            self._falling_train = None
            return
        change = falling(train, judge.look.forecast.trend.first_step)
        least = _FALLING_TRAIN if self._falling_train is None else _FALLING_TRAIN / 2
        self._falling_train = train.name if change is not None and change < -least else None

    def _is_next(self, watch: MetricWatch) -> bool:
        """Whether evaluations have become enough to judge by, once they have been looked at."""
        return (
            self._chosen is None
            and watch.series is self._parts.get(Role.EVAL_LOSS)
            and watch.series.count >= _ENOUGH_EVALUATIONS
        )

    def _hides_nan(self, point: Point) -> bool:
        return any(
            not math.isfinite(cell.mean) and role_of(name) in (Role.GRAD_NORM, Role.EVAL_LOSS)
            for name, cell in point.metrics.items()
        )

    def _epoch_steps(self) -> float | None:
        if self._epochs is None:
            return None
        step0, epoch0, step1, epoch1 = self._epochs
        if epoch1 <= epoch0 or step1 <= step0:
            return None
        length = (step1 - step0) / (epoch1 - epoch0)
        planned = (self._total or step1) / length
        return length if planned > _SEVERAL_EPOCHS else None

    def _cast(self) -> None:
        """Give the parts: the series for each role (the one with most values), and the one that the run is judged by."""
        self._parts = {}
        for watch in self._watches.values():
            known = self._parts.get(watch.series.role)
            if known is None or watch.series.count > known.count:
                self._parts[watch.series.role] = watch.series
        self._primary = self._watches.get(self._chosen) if self._chosen is not None else self._by_role()

    def _by_role(self) -> MetricWatch | None:
        reward, evaluation = self._parts.get(Role.REWARD), self._parts.get(Role.EVAL_LOSS)
        train, accuracy = self._parts.get(Role.TRAIN_LOSS), self._parts.get(Role.ACCURACY)
        if reward is not None and reward.count:
            return self._watches[reward.name]
        if evaluation is not None:
            judge = self._watches[evaluation.name].plateau
            if train is None or (judge is not None and judge.look is not None):
                return self._watches[evaluation.name]
        if train is not None or accuracy is not None:
            return self._watches[(train or accuracy or evaluation).name]  # type: ignore[union-attr]
        return next((watch for watch in self._watches.values() if watch.series.sign is not None), None)

    # --- saying ----------------------------------------------------------------------------------------------------

    @property
    def primary(self) -> str | None:
        """The metric that the run is judged by: the one asked for; else reward, evaluation once there are 12, loss."""
        return self._primary.series.name if self._primary is not None else None

    def assess(
        self, now: float, *, eta_seconds: float | None = None, others: Iterable[Finding] = ()
    ) -> Assessment:  # fmt: skip
        """What stands at ``now``. ``others`` are findings of other judges (Stalled, Slow …) that the verdict weighs too."""
        findings = gravest_first([*others, *self._findings(now)])
        notes = tuple(self._notes())
        gravest = findings[0] if findings else None
        verdict, text = self._course()
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
        return Assessment(verdict=verdict, text=text, findings=findings, notes=notes)

    def _course(self) -> tuple[Verdict, str]:
        """The verdict with nothing wrong; its words are renewed at each look, and as often as the run gets on by 0.5 %."""
        judge = self._primary.plateau if self._primary is not None else None
        look = judge.look if judge is not None else None
        done = self._axis.last_step / self._total if self._total else 0.0
        key = (
            look,
            judge.standing if judge is not None else None,
            round(200 * done) if look is not None else self._points,
        )
        if key != self._said_for:
            self._said_for = key
            self._said = describe(self._primary, self._axis, self._total)
        return self._said

    def _finishing(self, eta_seconds: float | None) -> bool:
        total, first = self._total, self._axis.first_step
        if total is None or first is None:
            return False
        if eta_seconds is not None and eta_seconds < _FINISHING_SECONDS:
            return True
        return total - self._axis.last_step < _FINISHING_SHARE * total

    def _findings(self, now: float) -> Iterable[Finding]:
        axis = self._axis
        for name, watch in self._watches.items():
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
        if self._parts.get(Role.REWARD) is not None:
            return
        train = self._parts.get(Role.TRAIN_LOSS)
        for watch in self._watches.values():
            judge, series = watch.divergence, watch.series
            if judge is None or judge.standing is None:
                continue
            if series.role is Role.EVAL_LOSS and train is not None and train.count >= 3:
                continue
            yield texts.diverging(series, self._axis, judge.standing, uniform_guess(series.now(3)))

    def _overfits(self) -> Iterable[Finding]:
        train = self._parts.get(Role.TRAIN_LOSS)
        for watch in self._watches.values():
            if watch.overfit is not None and watch.overfit.standing is not None and train is not None:
                yield texts.overfitting(watch.series, train, self._axis, watch.overfit.standing)

    def _plateau(self, now: float) -> Iterable[Finding]:
        watch = self._primary
        judge = watch.plateau if watch is not None else None
        if watch is None or judge is None or judge.standing is not Course.PLATEAU or judge.look is None:
            return
        loss = watch.series.role in (Role.TRAIN_LOSS, Role.EVAL_LOSS)
        yield texts.plateaued(
            watch.series,
            self._axis,
            judge.look,
            judge.since or 0.0,
            total=self._total,
            now=now,
            falling_train=self._falling_train if watch.series.role is Role.EVAL_LOSS else None,
            hint=uniform_guess(watch.series.now()) if loss else None,
        )

    def _notes(self) -> Iterable[str]:
        for name, watch in self._watches.items():
            if watch.finite.isolated is not None and watch.finite.standing is None:
                yield f"{name} was not finite at step {wording.step(watch.finite.isolated)}, and is finite again"
            if watch.divergence is not None and watch.divergence.spikes:
                last = wording.step(watch.divergence.spike_at)
                yield f"{name}: {watch.divergence.spikes} spikes that recovered, the last at step {last}"
