"""One metric under watch: its series and the judges that its role calls for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from headway.insight.axis import Axis
from headway.insight.divergence import DivergenceJudge
from headway.insight.frozen import FrozenJudge
from headway.insight.metrics import Role
from headway.insight.nonfinite import NonFiniteJudge
from headway.insight.overfit import OverfitJudge
from headway.insight.plateau import PlateauJudge
from headway.insight.series import MetricSeries

QUALITY: Final = (Role.TRAIN_LOSS, Role.EVAL_LOSS, Role.REWARD, Role.ACCURACY, Role.GRAD_NORM)
"""Roles whose movement shows that a report is new, and whose values must be finite."""
_STALE_IN_A_ROW: Final = 24
_RUNS: Final = 4
_LEAST_RUN: Final = 8
_GRACE: Final = 50
_GRACE_SHARE: Final = 0.02


class MetricWatch:
    """Series and judges of one metric."""

    __slots__ = (
        "_longest",
        "_runs",
        "divergence",
        "finite",
        "frozen",
        "overfit",
        "plateau",
        "repeats",
        "series",
        "stale",
    )

    def __init__(self, name: str, declared: Mapping[str, str]) -> None:
        self.series = MetricSeries(name, declared)
        role = self.series.role
        loss = role in (Role.TRAIN_LOSS, Role.EVAL_LOSS)
        self.finite = NonFiniteJudge(gradient=role is Role.GRAD_NORM)
        self.frozen = FrozenJudge()
        self.divergence = DivergenceJudge() if loss else None
        self.plateau = PlateauJudge() if self.series.sign is not None else None
        self.overfit = OverfitJudge() if role is Role.EVAL_LOSS else None
        self.repeats = False
        """Whether the newest value repeats the one before to the last digit."""
        self.stale = 0
        """How many times in a row it did so while another metric moved."""
        self._longest = 0
        """Most times in a row that it was stale until it changed."""
        self._runs = 0

    @property
    def is_frozen(self) -> bool:
        """Whether it repeats for long, and is not merely an evaluation that is sent along until the next one.

        What is known to measure learning may be dead from the start. Of anything else that has only ever had one value nobody can
        say that it should move: many a trainer logs limits and shares that are constant by nature.
        """
        if self.frozen.standing is None or (self.series.role is Role.OTHER and not self.frozen.moved):
            return False
        if not self.stale:
            return True
        return self.series.role is not Role.EVAL_LOSS and self.stale >= _STALE_IN_A_ROW

    def value(self, step: float, mean: float, *, hidden: bool) -> bool:
        """Look at the newest value; returns whether it is finite."""
        finite = self.finite.consider(step, mean, hidden=hidden)
        self.repeats = finite and self.frozen.consider(step, mean)
        return finite

    def is_stale(self, *, moved: bool) -> bool:
        """Whether the newest value is an old one sent along; ``moved``: another metric of the report is new.

        One that used to change and has repeated for much longer than ever before is no longer stale but constant.
        """
        if self.repeats and moved:
            self.stale += 1
            return self._runs < _RUNS or self.stale <= max(_LEAST_RUN, 3 * self._longest)
        if not self.repeats:
            self._longest, self._runs = max(self._longest, self.stale), self._runs + 1
            self.stale = 0
        return False

    def accept(self, step: float, value: float, train: MetricSeries | None, *, early: bool) -> None:
        """Take a finite, fresh value into the series, and let the judges of levels see it."""
        series = self.series
        series.add(step, value)
        if self.divergence is not None:
            self.divergence.consider(series, step, value, early=early)
        if self.overfit is not None and math.isfinite(value):
            self.overfit.consider(series, train, step, value)

    def cut(self, step: float) -> None:
        """The run went back to ``step``: forget what it will pass again."""
        self.series.history.cut(step)
        if self.overfit is not None:
            self.overfit.cut(step)
        if self.plateau is not None and (self.plateau.since or 0.0) >= step:
            self.plateau.forget()

    def begin_again(self, axis: Axis, total: float | None) -> None:
        """A new attempt: its level may stand higher for a while."""
        if self.plateau is not None and self.series.count:
            self.plateau.begin_again(axis, total)
        if self.divergence is not None and self.series.count:
            self.divergence.begin_again(max(_GRACE, round(_GRACE_SHARE * self.series.count)))
