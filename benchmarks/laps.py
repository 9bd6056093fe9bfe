"""What reporting adds to a training step, told finer than a machine's noise: steps with and without it, in turns, in one process.

Two processes that do the same differ by a per cent or two, by where their memory happens to lie. So here one process trains, and
each step is drawn to be one of three: reported, not reported, or not reported again. Neighbours are compared, thousands of
times; the median of their ratios is what the call costs, and the ratio of the two that are alike is what this can tell at all.
What reporting does beside the training thread is no part of any step. So in the last third of a turn every step is reported,
and the processor time of all other threads there is added: the most that they can take away.

A workload is a function that trains until :meth:`Laps.lap` is False, and reports the step when :attr:`Laps.reported` is true::

    def workload(laps, reporter):
        run = headway.track()
        while laps.lap():
            loss = train_step()
            if laps.reported:
                run.step(loss=loss)
        run.finish()

Where a framework owns the loop, its hooks call ``lap()`` at the end of each step, and pass on to the adapter what is reported.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

PLAIN, AGAIN, REPORTED = range(3)
_WARM_SECONDS: Final = 1.0


class Laps:
    """Counts out one turn of a workload.

    Args:
        seconds: how long it is to train.
        seed: of the draw.
        block: steps in a row that are of one kind, for work that lags behind its step.
    """

    def __init__(self, seconds: float, *, seed: int = 0, block: int = 1) -> None:
        self.reported = False
        """Whether the step that has begun is to be reported."""
        self.found = Found()
        """What came of it, once it is over."""
        self._seconds, self._block = seconds, block
        self._rng = random.Random(seed)
        self._laps = self._turn()

    def lap(self) -> bool:
        """The step before, if any, has ended; whether another is to begin."""
        return next(self._laps)

    def _turn(self) -> Generator[bool, None, None]:
        clock, own = time.perf_counter, time.thread_time
        until = clock() + _WARM_SECONDS
        while clock() < until:
            yield True
        until = clock() + self._seconds * 2 / 3
        kinds = [PLAIN, AGAIN, REPORTED]
        while clock() < until:
            self._rng.shuffle(kinds)
            took = [(0.0, 0.0)] * 3
            for kind in kinds:
                self.reported = kind == REPORTED
                began, used = clock(), own()
                for _ in range(self._block):
                    yield True
                ended, cpu = clock(), own()
                took[kind] = (ended - began, cpu - used)
            self.found.rounds.append((took[PLAIN], took[AGAIN], took[REPORTED]))
        self.reported = True
        began, used, whole = clock(), own(), time.process_time()
        while clock() < began + self._seconds / 3:
            yield True
        self.found.seconds = clock() - began
        self.found.beside = max(0.0, (time.process_time() - whole) - (own() - used))
        self.reported = False
        while True:
            yield False


Round = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
"""(wall, processor) seconds of a step without, one without again, and one with."""


@dataclass
class Found:
    """What the turns of one workload came to."""

    rounds: list[Round] = field(default_factory=list)
    seconds: float = 0.0
    """How long every step was reported."""
    beside: float = 0.0
    """Processor seconds of all threads but the training one meanwhile."""

    def add(self, other: Found) -> None:
        """Takes in another turn."""
        self.rounds += other.rounds
        self.seconds += other.seconds
        self.beside += other.beside

    def figures(self) -> dict[str, float]:
        """The figures: ratios less 1, each with the bounds of its 95 % interval, and what the threads beside add."""
        if not self.rounds:
            return {}
        result: dict[str, float] = {"rounds": float(len(self.rounds)), "step_ms": 1e3 * self._usual(PLAIN)}
        for name, kind, clock in (
            ("wall", REPORTED, 0),
            ("cpu", REPORTED, 1),
            ("alike_wall", AGAIN, 0),
            ("alike_cpu", AGAIN, 1),
        ):
            ratios = [each[kind][clock] / each[PLAIN][clock] for each in self.rounds if each[PLAIN][clock] > 0]
            middle, low, high = median_interval(ratios)
            result |= {name: middle - 1, f"{name}_low": low - 1, f"{name}_high": high - 1}
        result["beside"] = self.beside / self.seconds
        for clock in ("wall", "cpu"):
            for bound in ("", "_low", "_high"):
                result[f"total_{clock}{bound}"] = result[f"{clock}{bound}"] + result["beside"]
        return result

    def _usual(self, kind: int) -> float:
        steps = sorted(each[kind][0] for each in self.rounds)
        return steps[len(steps) // 2]


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Median, and the order statistics that hold it 95 times in 100 (binomial, by its normal approximation)."""
    ordered = sorted(values)
    count = len(ordered)
    reach = 0.98 * math.sqrt(count)
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return ordered[count // 2], ordered[low], ordered[high]
