"""How long nothing may be heard, and nothing may move, before it is held against a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headway.protocol.limits import beat_interval
from headway.tracking.runs import RunState

MISSED: Final = 3
"""Signs of life that may be missed in a row."""
_SLACK: Final = 3.0
_ENOUGH_GAPS: Final = 3
"""Gaps between its reports that tell how often a rank beats."""
_STOCK_SILENCE: Final = 300.0
"""A client that does not beat is not silent before this many seconds."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long nothing may be heard."""

    report_interval: float = 1.0
    """Seconds between reports that the server asks for."""
    heartbeat: float = 2.0
    """Seconds between a runner's signs of life that the server asks for."""
    lost_after: float = 300.0
    """Seconds after which a job without a runner is given up."""
    stall_floor: float = 60.0
    """Seconds without a step that are never a stall, where the job does not name other ones."""


def silence_limit(run: RunState, patience: Patience) -> float:
    """Seconds without a word from a run after which it is silent."""
    gap = run.usual_gap
    if run.stock is not None:
        return max(_STOCK_SILENCE, 3.0 * max(run.gaps, default=0.0))
    if not run.wrote:
        beats = beat_interval(run.world_size)
        gap = beats if gap is None or len(run.gaps) < _ENOUGH_GAPS else gap
        return MISSED * max(patience.report_interval, gap) + _SLACK
    return MISSED * max(patience.report_interval, min(gap or 0.0, 60.0)) + _SLACK


def interval_of(run: RunState, asked: float, now: float) -> float:
    """Seconds that a run is to leave until its next report, where ``asked`` is what the server asks of those that write progress.

    The others only beat, each at its own place in a common period, so that a second is much like another.
    """
    if run.wrote or run.world_size == 1:
        return asked
    period = max(asked, beat_interval(run.world_size))
    wait = (run.rank / run.world_size * period - now) % period
    return round(wait if wait >= period / 2 else wait + period, 3)
