"""The processes of a job's current attempt, as ``headway show`` lists them: those that stand out first, of many only some."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from headway.cli.render import words
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import Seen
from headway.protocol.job import RankInfo
from headway.protocol.report import Phase

_MOST: Final = 16
"""Ranks that are listed; of more, the ones furthest behind and longest unheard."""
_GIB: Final = 1 << 30
_TITLES: Final = ("RANK", "HOST", "STEP", "STEP TIME", "DEVICE", "MEMORY", "HEARD")


def ranks_section(sheet: Sheet, seen: Seen) -> None:
    """A table of the ranks, where there are several."""
    job, away = seen.job, max(0.0, sheet.view.now - seen.at)
    if len(job.ranks) < 2:
        return
    sheet.heading("Ranks")
    shown = sorted(job.ranks, key=_standing_out)[:_MOST] if len(job.ranks) > _MOST else job.ranks
    running = not job.state.ended
    sheet.table(_TITLES, [_row(rank, away, running=running) for rank in sorted(shown, key=lambda each: each.rank)])
    if len(shown) < len(job.ranks):
        steps = [rank.step for rank in job.ranks if rank.step is not None and not rank.auxiliary]
        span = f", at steps {words.count(min(steps))} to {words.count(max(steps))}" if steps else ""
        sheet.line("  ", (f"of {words.count(len(job.ranks))}{span}", "dim" if sheet.view.fancy else ""))


def _standing_out(rank: RankInfo) -> tuple[int, float, int]:
    return (-1 if rank.step is None else rank.step, -rank.last_contact_age, rank.rank)


def _row(rank: RankInfo, away: float, *, running: bool) -> list[str | Text]:
    phase = f" {rank.phase.value}" if rank.phase is not None and rank.phase is not Phase.TRAIN else ""
    return [
        f"{rank.rank} (auxiliary)" if rank.auxiliary else str(rank.rank),
        rank.host or words.NONE,
        (words.NONE if rank.step is None else words.count(rank.step)) + phase,
        words.NONE if rank.step_seconds is None else words.short_time(rank.step_seconds),
        rank.device_name or words.NONE,
        _memory(rank),
        words.ago(rank.last_contact_age + away) if running else words.NONE,
    ]


def _memory(rank: RankInfo) -> str:
    if rank.memory_used is None:
        return words.NONE
    used = f"{rank.memory_used / _GIB:.1f}"
    return f"{used} GiB" if not rank.memory_total else f"{used} of {rank.memory_total / _GIB:.0f} GiB"
