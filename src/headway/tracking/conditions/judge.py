"""What learns from the current attempt of a job: its pace (for ETA, Stalled and Slow) and its course (for the other conditions).

Fed with the newest report of the writing run, in order. What it learns of the pace is stored with the job; its view of the
metrics is rebuilt from the stored history when it is next needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from headway.insight.assess import RunInsight
from headway.insight.eta import EtaEstimate, EtaEstimator
from headway.insight.findings import Assessment, Finding
from headway.insight.stall import StallWatch
from headway.insight.throughput import SlowWatch
from headway.protocol.report import Phase, Point
from headway.protocol.verdict import ConditionType

_HOLD: Final = 0.01
_LONGEST_HOLD: Final = 10.0

INSIGHT_TYPES: Final = frozenset(
    {
        ConditionType.NON_FINITE,
        ConditionType.DIVERGING,
        ConditionType.OVERFITTING,
        ConditionType.PLATEAUED,
        ConditionType.EVAL_PLATEAUED,
        ConditionType.FROZEN,
        ConditionType.SLOW,
    }
)
"""The conditions that are read from metrics and step times: they change with reports only, not with the clock."""

_SOON: Final = 0.5
"""Seconds within which another report tells nothing of the pace that the next one will not."""
_VERSION: Final = 4
"""Of what is stored."""
_JUMP: Final = 10.0
"""Seconds by which the attempt's clock may be off from the server's before it is taken to have jumped."""
_DEAF: Final = 20.0
_DEAF_FACTOR: Final = 5.0
"""A run that is heard after so many seconds, and so many of its usual gaps, was not listened to meanwhile."""


class Judge:
    """Pace and course of one job, attempt by attempt."""

    __slots__ = (
        "_ahead", "_made", "_offset", "_phase", "_world", "attempt", "eta", "fragment", "fragment_at", "insight", "slow",
        "spoke_at", "stall", "t",
    )  # fmt: skip

    def __init__(self) -> None:
        self.eta = EtaEstimator()
        self.stall = StallWatch()
        """By the server's clock."""
        self.slow = SlowWatch()
        """By the attempt's clock, shifted onto the server's."""
        self._offset = 0.0
        self._ahead = 0.0
        """Seconds by which the attempt's clock has jumped ahead: they have not passed."""
        self._world = 1
        self._phase: Phase | None = None
        self.insight: RunInsight | None = None
        """None until the stored history was read into it."""
        self.attempt: str | None = None
        self.t = 0.0
        """The attempt's clock at the newest report."""
        self.spoke_at = 0.0
        """The server's clock at the newest report."""
        self.fragment: bytes | None = None
        self.fragment_at = 0.0
        self._made: tuple[float, str | None, int | None, EtaEstimate] | None = None
        """The newest estimate: when, for which attempt and total, what."""

    def heard_just_now(self, attempt: str, sent: float, phase: Phase | None) -> bool:
        """Whether a report sent at ``sent`` can be passed over, as one of the same phase was taken in just before."""
        return 0.0 <= sent - self.spoke_at < _SOON and phase is self._phase and attempt == self.attempt

    def observe(
        self,
        attempt: str,
        *,
        start: float,
        step: int | None,
        began: int | None,
        t: float,
        sent: float,
        last_step_age: float = 0.0,
        phase: Phase | None = None,
        step_seconds: float | None = None,
        work: float | None = None,
        world: int = 1,
        usual_gap: float | None = None,
    ) -> None:
        """Takes in the newest report of the current attempt's writing run; its points go to :meth:`read`.

        Args:
            attempt: its id; a new one begins the pace anew.
            start: when the attempt began, by the server's clock.
            step: where it stands.
            began: the step at which it began.
            t: the attempt's clock when the report was sent.
            sent: the server's clock when the report was sent.
            last_step_age: seconds since the step was reached.
            phase: what it is doing.
            step_seconds: its median seconds per step.
            work: tokens or samples so far, where they are known: what steps of unequal size are measured by.
            world: number of its processes.
            usual_gap: usual seconds between its reports.
        """
        silence = sent - self.spoke_at
        if attempt != self.attempt:
            self.eta.begin_attempt(None, t)
            self.stall.begin_attempt(began, max(start, sent - t))
            self.slow.begin_attempt(began, sent - last_step_age, same_size=world == self._world)
            self._world, self._offset, self._ahead, silence = world, sent - t, 0.0, 0.0
            if self.insight is not None:
                self.insight.begin_attempt(start, step=began if self.attempt is not None else None)
            self.attempt = attempt
        elif t < self.t or abs(sent - t - self._offset) > _JUMP:
            # Another run goes on with the attempt and its clock began anew, or one of the two slept or was set.
            self._ahead += max(0.0, self._offset - (sent - t))
            self._offset = sent - t
        self.t, self.spoke_at, self._phase = t, sent, phase
        blind = silence > max(_DEAF, _DEAF_FACTOR * (usual_gap or 0.0))
        moved = step is not None and step != self.stall.step
        self.stall.observe(step, sent - last_step_age if moved else sent, phase=phase, blind=blind)
        if step is not None:
            self.eta.observe(step, t - self._ahead - last_step_age, phase=phase, step_seconds=step_seconds)
            self.slow.observe(step, self._offset + t - last_step_age, phase=phase, work=work)

    def read(self, points: Sequence[Point], *, total: int | None = None, epoch: float | None = None) -> None:
        """Reads points of the current attempt, in order. ``epoch`` is how many were done at the last of them."""
        if self.insight is not None:
            for left, point in zip(range(len(points) - 1, -1, -1), points, strict=True):
                self.insight.observe(point, total_steps=total, epoch=None if left else epoch, more=left > 0)

    def estimate(self, now: float, total: int | None) -> EtaEstimate | None:
        """When the job will end, seen from ``now``.

        An estimate is counted down for up to 1 % of what is left (at most 10 s) before it is made anew.
        """
        if self._made is not None:
            at, attempt, for_total, made = self._made
            elapsed = now - at
            if (attempt, for_total) == (self.attempt, total) and 0 <= elapsed < min(
                _LONGEST_HOLD, _HOLD * made.seconds
            ):
                return replace(
                    made, seconds=made.seconds - elapsed, low=max(0.0, made.low - elapsed), high=made.high - elapsed
                )
        made_now = self.eta.estimate(self.t - self._ahead + max(0.0, now - self.spoke_at), total)
        self._made = None if made_now is None else (now, self.attempt, total, made_now)
        return made_now

    def assess(self, now: float, eta: EtaEstimate | None) -> Assessment | None:
        """What the metrics and step times say; None before the history was read."""
        if self.insight is None:
            return None
        slow: Finding | None = self.slow.finding(now)
        return self.insight.assess(
            now, eta_seconds=None if eta is None else eta.seconds, others=() if slow is None else (slow,)
        )

    def dump(self) -> dict[str, Any]:
        """What it has learnt of the pace, as JSON values."""
        return {
            "v": _VERSION,
            "attempt": self.attempt,
            "t": self.t,
            "spokeAt": self.spoke_at,
            "eta": self.eta.dump(),
            "stall": self.stall.dump(),
            "slow": self.slow.dump(),
            "world": self._world,
            "offset": self._offset,
            "ahead": self._ahead,
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Judge:
        """The judge that :meth:`dump` described; one that knows nothing, if another version of Headway did."""
        self = cls()
        if state.get("v") != _VERSION:
            return self
        self.attempt, self.t, self.spoke_at = state["attempt"], state["t"], state["spokeAt"]
        self.eta = EtaEstimator.load(state["eta"])
        self.stall, self.slow = StallWatch.load(state["stall"]), SlowWatch.load(state["slow"])
        self._world, self._offset, self._ahead = state["world"], state["offset"], state["ahead"]
        return self
