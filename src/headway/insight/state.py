"""What insight keeps of a run, and how a point is taken in.

Flow: each point is sorted: what is not finite and what is stale is noted and held back, the rest goes to the judges of its
metric. A look at a trend is taken only when the number of points has grown by 8 %, so that a million points cost a few
hundred looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from headway.insight.axis import Axis
from headway.insight.metrics import EPOCH_NAMES, Role, role_of
from headway.insight.overfit import falling
from headway.insight.plateau import Course, PlateauJudge
from headway.insight.series import MetricSeries
from headway.insight.watch import QUALITY, MetricWatch
from headway.protocol.report import Cell, Point

_ENOUGH_EVALUATIONS: Final = 12
_SEVERAL_EPOCHS: Final = 1.5
_FEW: Final = 24
_EARLY_SHARE: Final = 0.1
_MOST_METRICS: Final = 256
_FALLING_TRAIN: Final = 0.02


class RunState:
    """Axis, metrics and judges of one run. ``parts`` names the series for each role, ``primary`` the one it is judged by."""

    def __init__(self, directions: Mapping[str, str], metric: str | None) -> None:
        self.axis = Axis()
        self.watches: dict[str, MetricWatch] = {}
        self.parts: dict[Role, MetricSeries] = {}
        self.primary: MetricWatch | None = None
        self.total: int | None = None
        self.points = 0
        self.falling_train: str | None = None
        """The training loss that still falls while evaluation has plateaued."""
        self._declared = dict(directions)
        self._names: set[str] = set()
        self._rates: list[str] = []
        self._witnesses: list[str] = []
        """Gradient norms and evaluations: where one is not finite, a loss of 0.0 stands for one that is not either."""
        self._epoch_name: str | None = None
        self._chosen = metric
        self._start = 0.0
        self._newest: Mapping[str, Cell] = {}
        """What the newest point said: the same again at the same step is a report that came twice."""
        self._grown: dict[MetricWatch, PlateauJudge] = {}
        """What has taken in values since trends were looked at last."""
        self._epochs: tuple[float, float, float, float] | None = None
        """Step and epoch where epochs were first and last known."""

    def declare(self, directions: Mapping[str, str]) -> None:
        """Learn which way metrics are better (``min`` or ``max``), before their first point."""
        self._declared.update(directions)

    def begin_attempt(self, start: float, *, step: int | None = None) -> None:
        """The next attempt begins at time ``start``, resumed from ``step`` where that is known."""
        self._start = start
        if step is not None and step < self.axis.last_step:
            self._back_to(step + 1)
        for watch in self.watches.values():
            watch.begin_again(self.axis, self.total)

    def observe(
        self, point: Point, *, total_steps: int | None = None, epoch: float | None = None, more: bool = False
    ) -> None:
        """Take in one point. Points come in order; one from before the last in time is late, and changes nothing."""
        step, t = float(point.step), self._start + point.t
        axis = self.axis
        if step == axis.last_step and point.metrics == self._newest:
            return
        self._newest = point.metrics
        if step < axis.last_step:
            if t < axis.last_t:
                return
            self._back_to(step)
            for watch in self.watches.values():
                watch.begin_again(self.axis, self.total)
        if total_steps is not None:
            self.total = total_steps if total_steps > 0 else None
        metrics = point.metrics
        if not metrics.keys() <= self._names:
            self._learn(metrics)
        rate = next((metrics[name].mean for name in self._rates if name in metrics), None)
        axis.add(step, t, rate)
        if epoch is None and self._epoch_name is not None and self._epoch_name in metrics:
            epoch = metrics[self._epoch_name].mean
        if epoch is not None and math.isfinite(epoch):
            first = self._epochs[:2] if self._epochs else (step, epoch)
            self._epochs = (*first, step, epoch)
        self._take(step, point, more=more)

    def _learn(self, metrics: Mapping[str, Cell]) -> None:
        """Sort names that were not seen before; what comes beyond a few hundred is left aside."""
        if len(self._names) >= _MOST_METRICS:
            return
        for name in metrics:
            if name in self._names:
                continue
            self._names.add(name)
            role = role_of(name)
            if name in EPOCH_NAMES:
                self._epoch_name = self._epoch_name or name
            elif role is Role.LEARNING_RATE:
                self._rates.append(name)
            else:
                self.watches[name] = MetricWatch(name, self._declared)
                if role in (Role.GRAD_NORM, Role.EVAL_LOSS):
                    self._witnesses.append(name)
        self._cast()

    def _back_to(self, step: float) -> None:
        self.axis.cut(step)
        for watch in self.watches.values():
            watch.cut(step)

    def _take(self, step: float, point: Point, *, more: bool) -> None:
        fresh: list[tuple[MetricWatch, float]] = []
        metrics, watches = point.metrics, self.watches
        hidden = any(name in metrics and not math.isfinite(_reading(metrics[name])) for name in self._witnesses)
        moved = False
        for name, cell in metrics.items():
            watch = watches.get(name)
            if watch is None:
                continue
            mean = cell.mean if not cell.bad else _reading(cell)
            unmasked = hidden and mean == 0.0 and watch.series.role is Role.TRAIN_LOSS
            if watch.value(step, mean, hidden=unmasked):
                fresh.append((watch, mean))
                moved = moved or (not watch.repeats and watch.series.role in QUALITY)
        self.points += 1
        if self.points & (self.points - 1) == 0:
            self._cast()
        train = self.parts.get(Role.TRAIN_LOSS)
        early = self.axis.warming(self.total) or self._barely_begun(step)
        for watch, mean in fresh:
            if watch.is_stale(moved=moved):
                continue
            watch.accept(step, mean, train, early=early)
            if watch.plateau is not None:
                self._grown[watch] = watch.plateau
        if not more:
            self._look()

    def _look(self) -> None:
        """Look at the trend of what has grown, where the run is or may be judged by it."""
        for watch, plateau in self._grown.items():
            if watch is self.primary or self._is_next(watch):
                looked = plateau.consider(watch.series, self.axis, self.total, self._epoch_steps())
                if looked and watch.series.role is Role.EVAL_LOSS:
                    self._compare_with_train(plateau)
                    self._cast()
        self._grown.clear()

    def _compare_with_train(self, judge: PlateauJudge) -> None:
        """See whether the training loss still falls where evaluation stands still; it takes more to change one's mind."""
        train = self.parts.get(Role.TRAIN_LOSS)
        if train is None or judge.look is None or judge.standing is not Course.PLATEAU:
            self.falling_train = None
            return
        change = falling(train, judge.look.forecast.trend.first_step)
        least = _FALLING_TRAIN if self.falling_train is None else _FALLING_TRAIN / 2
        self.falling_train = train.name if change is not None and change < -least else None

    def _barely_begun(self, step: float) -> bool:
        """Whether there are few points of a run that will have many."""
        return self.total is not None and self.points < _FEW and step < _EARLY_SHARE * self.total

    def _is_next(self, watch: MetricWatch) -> bool:
        """Whether evaluations have become enough to judge by, once they have been looked at."""
        return (
            self._chosen is None
            and watch.series is self.parts.get(Role.EVAL_LOSS)
            and watch.series.count >= _ENOUGH_EVALUATIONS
        )

    def _epoch_steps(self) -> float | None:
        if self._epochs is None:
            return None
        step0, epoch0, step1, epoch1 = self._epochs
        if epoch1 <= epoch0 or step1 <= step0:
            return None
        length = (step1 - step0) / (epoch1 - epoch0)
        planned = (self.total or step1) / length
        return length if planned > _SEVERAL_EPOCHS else None

    def _cast(self) -> None:
        """Give the parts: the series for each role (the one with most values), and the one that the run is judged by."""
        self.parts = {}
        for watch in self.watches.values():
            known = self.parts.get(watch.series.role)
            if known is None or watch.series.count > known.count:
                self.parts[watch.series.role] = watch.series
        self.primary = self.watches.get(self._chosen) if self._chosen is not None else self._by_role()

    def _by_role(self) -> MetricWatch | None:
        reward, evaluation = self.parts.get(Role.REWARD), self.parts.get(Role.EVAL_LOSS)
        train, accuracy = self.parts.get(Role.TRAIN_LOSS), self.parts.get(Role.ACCURACY)
        if reward is not None and reward.count:
            return self.watches[reward.name]
        if evaluation is not None:
            judge = self.watches[evaluation.name].plateau
            if train is None or (judge is not None and judge.look is not None):
                return self.watches[evaluation.name]
        if train is not None or accuracy is not None:
            return self.watches[(train or accuracy or evaluation).name]  # type: ignore[union-attr]
        return next((watch for watch in self.watches.values() if watch.series.sign is not None), None)


def _reading(cell: Cell) -> float:
    """The value of a cell; NaN where half of its samples or more were not finite."""
    return cell.mean if 2 * cell.bad < cell.n or not math.isfinite(cell.mean) else math.nan
