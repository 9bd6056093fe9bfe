"""The demo's jobs: what each is called, how it is trained, and what becomes of it. A new fate is a new entry here."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PREFIX: Final = "demo-"
"""What the names of all demo jobs begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One job of the demo."""

    name: str
    story: str
    """What happens, in a line."""
    share: float
    """Length as a part of the demo's; above 1 the job is still running when the demo ends."""
    options: tuple[str, ...] = ()
    """Options of :mod:`headway.demo.train`."""
    restarts: int = 0
    endless: bool = False
    """It never ends by itself: the demo ends it when all others have."""
    stall_floor: float | None = None
    """Seconds without a step that are never a stall; None: as usual (60)."""

    @property
    def job(self) -> str:
        """Name of the job."""
        return PREFIX + self.name

    def command(self, folder: Path, seconds: float) -> tuple[str, ...]:
        """The training command, for a demo of ``seconds`` that keeps its files in ``folder``."""
        place = ("--folder", str(folder / self.name), "--seconds", f"{self.share * seconds:g}")
        return (sys.executable, "-u", "-m", "headway.demo.train", *place, *self.options)


SCENARIOS: Final = (
    Scenario(name="healthy", story="learns from the first step to the last", share=0.5),
    Scenario(
        name="crash-resume",
        story="crashes half way, is started again, and resumes from its checkpoint",
        share=0.55,
        options=("--crash-at", "0.45", "--seed", "1"),
        restarts=1,
    ),
    Scenario(
        name="lr-too-high",
        story="its learning rate rises far too high: the loss leaps up, and soon is no number",
        share=1.5,
        options=("--optimizer", "momentum", "--learning-rate", "10", "--warmup", "2000", "--no-clip", "--seed", "2"),
    ),
    Scenario(
        name="lr-decayed",
        story="its learning rate has come to nothing early, and so it learns nothing more",
        share=0.78,
        options=("--batch", "300", "--decay-by", "0.07", "--warmup", "0.02", "--seed", "7"),
    ),
    Scenario(
        name="lost-rank",
        story="a rank of its group no longer answers, and it waits for ever (a stall after 10 s here, after 60 s by default)",
        share=1.5,
        options=("--hang-at", "0.2", "--seed", "4"),
        endless=True,
        stall_floor=10.0,
    ),
)
"""All of them, in the order in which they start."""
