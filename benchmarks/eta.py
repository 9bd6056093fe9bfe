"""How well the time to the end is told: Headway's estimator beside those that people use today.

    python benchmarks/eta.py [--curves DIR] [--seeds N] [--out FILE]

Replays the timings of real runs (``DIR/times/*.csv``, columns step and seconds; totals from ``DIR/LABELS.csv``) and synthetic
runs with known ends, point by point. Prints the error at 10, 25, 50, 75 and 90 % of each run's steps as a share of the time
truly left, the coverage of the 80 % interval, and microseconds of processor time per observation with an estimate after
each; ``--out`` writes the same as JSON.

Peers: tqdm's bar (exponential moving average 0.3 of steps and seconds per refresh; ``initial`` known), the elapsed time per
step of Transformers' KubeflowCallback (which counts the steps before a resume), and the mean over the attempt (Red Hat's).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headway.insight.eta import EtaEstimator

SHARES = (0.10, 0.25, 0.50, 0.75, 0.90)
NAMES = ("headway", "tqdm", "transformers", "mean")


Seen = tuple[float, float, str | None, float | None]
"""(step, seconds since the attempt began, phase, median seconds per step since the last)"""


@dataclass
class Run:
    """What an estimator sees of a run, and when the run ended."""

    name: str
    kind: str
    first: float
    total: float
    seen: list[Seen]
    end: float


class Tqdm:
    """tqdm 4.67: rate = EMA(steps) / EMA(seconds), bias-corrected; a refresh at most every 0.1 s."""

    def __init__(self, first: float) -> None:
        self.first = self.step = first
        self.last = 0.0
        self.n = self.dt = 0.0
        self.calls = 0

    def observe(self, step: float, t: float) -> None:
        if t - self.last < 0.1 or step <= self.step:
            return
        self.n = 0.3 * (step - self.step) + 0.7 * self.n
        self.dt = 0.3 * (t - self.last) + 0.7 * self.dt
        self.calls += 1
        self.step, self.last = step, t

    def estimate(self, total: float) -> float | None:
        return (total - self.step) * self.dt / self.n if self.n else None


class Mean:
    """Elapsed time per step, over the attempt; with ``first`` = 0 also the steps before it are counted."""

    def __init__(self, first: float) -> None:
        self.first = self.step = first
        self.t = 0.0

    def observe(self, step: float, t: float) -> None:
        self.step, self.t = step, t

    def estimate(self, total: float) -> float | None:
        done = self.step - self.first
        return self.t / done * (total - self.step) if done > 0 else None


# --- synthetic runs ---------------------------------------------------------------------------------------------------


@dataclass
class Plan:
    """How a synthetic run behaves; ``pace(step)`` is its mean seconds per step."""

    name: str
    total: int = 1000
    first: int = 0
    start: float = 0.0
    pace: Callable[[int], float] = lambda _: 1.0
    noise: float = 0.02
    pauses: tuple[tuple[int, float], ...] = ()
    """(every so many steps, seconds)"""
    once: dict[int, float] = field(default_factory=dict)
    declared: bool = False
    cadence: float = 0.0
    """Seconds between reports; 0: one per step."""


def play(plan: Plan, seed: int) -> Run:
    """Return what such a run looks like."""
    rng = random.Random(f"{plan.name}/{seed}")
    t = plan.start
    seen: list[Seen] = []
    reported = 0.0
    durations: list[float] = []
    last: tuple[int, float] | None = None

    def report() -> None:
        assert last is not None
        hint = statistics.median(durations[-512:]) if plan.cadence else None
        seen.append((*last, None, hint))
        durations.clear()

    for step in range(plan.first + 1, plan.total + 1):
        took = plan.pace(step) * rng.lognormvariate(-(plan.noise**2) / 2, plan.noise)
        t += took
        if plan.cadence and last and math.floor(t / plan.cadence) > reported:
            report()
            reported = math.floor(t / plan.cadence)
        last = (step, t)
        durations.append(took)
        if not plan.cadence:
            report()
        pause = sum(s * rng.lognormvariate(0, 0.03) for every, s in plan.pauses if step % every == 0)
        pause += plan.once.get(step, 0.0)
        if pause and plan.declared:
            seen.append((step, t, "eval", None))
        t += pause
    if durations:
        report()
    return Run(f"{plan.name}#{seed}", plan.name, plan.first, plan.total, seen, t)


def epoch_starts(slow: float, length: int, epoch: int) -> Callable[[int], float]:
    return lambda step: slow if step % epoch < length else 1.0


PLANS = (
    Plan("steady 2 %"),
    Plan("steady 10 %", noise=0.1),
    Plan("steady 30 %", noise=0.3),
    Plan("steady 60 %, heavy tail", noise=0.6),
    Plan("steady, 5 s reports", cadence=5.0),
    Plan("10k steps a second, 1 s reports", total=3_000_000, pace=lambda _: 1e-4, noise=0.2, cadence=1.0),
    Plan("a step an hour", total=200, pace=lambda _: 3600.0, noise=0.1),
    Plan("drift +50 %", pace=lambda s: 1.0 + s / 2000),
    Plan("resumed at 40 %, compile 100 s", first=400, start=100.0),
    Plan("resumed at 90 %", first=900, pace=lambda _: 10.0, start=30.0),
    Plan("compile 300 s", start=299.0),
    Plan("compile 300 s, 5 s reports", start=299.0, cadence=5.0),
    Plan("first 20 steps 4 x slower", pace=lambda s: 4.0 if s <= 20 else 1.0),
    Plan("evaluation 60 s / 100 steps", pauses=((100, 60.0),)),
    Plan("evaluation 60 s / 100, declared", pauses=((100, 60.0),), declared=True),
    Plan("evaluation 60 s / 100, 5 s reports", pauses=((100, 60.0),), cadence=5.0),
    Plan("evaluation 60 s / 100, 10 % noise", pauses=((100, 60.0),), noise=0.1),
    Plan("evaluation 120 s / 200 steps", pauses=((200, 120.0),)),
    Plan("evaluation 8 s / 157, checkpoint 25 s / 250", pauses=((157, 8.0), (250, 25.0)), noise=0.05),
    Plan("evaluation 10 s / 5 steps", pauses=((5, 10.0),), noise=0.05),
    Plan("speed halves at 50 %", pace=lambda s: 1.0 if s <= 500 else 2.0),
    Plan("speed halves at 40 %, 10 % noise", pace=lambda s: 1.0 if s <= 400 else 2.0, noise=0.1),
    Plan("speed halves at 40 %, 5 s reports", pace=lambda s: 1.0 if s <= 400 else 2.0, cadence=5.0),
    Plan("speed halves at 40 %, evaluations", pace=lambda s: 1.0 if s <= 400 else 2.0, pauses=((100, 60.0),)),
    Plan("speed x 0.8 at 20 %", pace=lambda s: 1.0 if s <= 200 else 1.25, noise=0.05),
    Plan("speed doubles at 20 %", pace=lambda s: 1.0 if s <= 200 else 0.5),
    Plan("speed / 5 at 45 %", pace=lambda s: 1.0 if s <= 450 else 5.0),
    Plan("one hang of 1 h at 20 %", once={200: 3600.0}),
    Plan("slow for 50 steps at 20 %", pace=lambda s: 3.0 if 200 <= s < 250 else 1.0),
    Plan("30 slow steps every 157", pace=epoch_starts(3.0, 30, 157)),
)


# --- replay -----------------------------------------------------------------------------------------------------------


def real(folder: Path) -> Iterator[Run]:
    """Read the timings of real runs."""
    with (folder / "LABELS.csv").open(encoding="utf-8") as file:
        totals = {row["name"]: row["total_steps"] for row in csv.DictReader(file)}
    for path in sorted((folder / "times").glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            rows = [
                (float(row["step"]), float(next(v for k, v in row.items() if k != "step")))
                for row in csv.DictReader(file)
            ]
        total = float(totals.get(path.stem) or rows[-1][0])
        if rows[-1][0] < 0.95 * total:
            continue
        last = rows[-1]
        yield Run(path.stem, "real", 0.0, last[0], [(s, t, None, None) for s, t in rows], last[1])


@dataclass
class Result:
    """One run replayed: at each share of its steps the time truly left, and each estimate."""

    run: Run
    at: dict[float, dict[str, float | None]] = field(default_factory=dict)
    inside: list[tuple[float, bool]] = field(default_factory=list)
    """(share of the steps, whether the 80 % interval held the truth), at 19 places."""
    width: list[float] = field(default_factory=list)
    micros: float = 0.0


def replay(run: Run) -> Result:
    """Feed a run to every estimator."""
    result = Result(run)
    headway = EtaEstimator()
    headway.begin_attempt(run.first, 0.0)
    tqdm, whole, transformers = Tqdm(run.first), Mean(run.first), Mean(0.0)
    marks = sorted({*SHARES, *(k / 20 for k in range(1, 20))}, reverse=True)
    for step, t, phase, step_seconds in run.seen:
        headway.observe(step, t, phase=phase, step_seconds=step_seconds)
        for peer in (tqdm, whole, transformers):
            peer.observe(step, t)
        share = (step - run.first) / (run.total - run.first)
        while marks and share >= marks[-1]:
            mark = marks.pop()
            left = run.end - t
            mine = headway.estimate(t, run.total)
            if mark in SHARES:
                result.at[mark] = {
                    "left": left,
                    "headway": mine.seconds if mine else None,
                    "tqdm": tqdm.estimate(run.total),
                    "transformers": transformers.estimate(run.total),
                    "mean": whole.estimate(run.total),
                }
            if mine is not None and left > 0 and abs(mark * 20 - round(mark * 20)) < 1e-9:
                result.inside.append((mark, mine.low <= left <= mine.high))
                result.width.append((mine.high - mine.low) / left)
    result.micros = cost(run)
    return result


def cost(run: Run) -> float:
    """Return microseconds of processor time per observation, with an estimate after each."""
    eta = EtaEstimator()
    eta.begin_attempt(run.first, 0.0)
    begin = time.process_time()
    for step, t, phase, step_seconds in run.seen:
        eta.observe(step, t, phase=phase, step_seconds=step_seconds)
        eta.estimate(t, run.total)
    return (time.process_time() - begin) / len(run.seen) * 1e6


def error(result: Result, share: float, name: str) -> float | None:
    """Return the relative error at a share of the run, NaN-free; None where the estimator said nothing."""
    at = result.at.get(share)
    if at is None or at[name] is None or not at["left"]:
        return None
    estimate, left = at[name], at["left"]
    assert estimate is not None
    return estimate / left - 1.0


def summarise(results: Iterable[Result]) -> dict[str, object]:
    """Return median absolute errors per share and estimator, coverage, relative width and cost of one kind of runs."""
    results = list(results)
    errors: dict[str, dict[str, float | None]] = {}
    for name in NAMES:
        row: dict[str, float | None] = {}
        for share in SHARES:
            known = [abs(e) for r in results if (e := error(r, share, name)) is not None]
            row[f"{share:.0%}"] = round(statistics.median(known), 4) if known else None
        errors[name] = row
    inside = [hit for r in results for _, hit in r.inside]
    return {
        "runs": len(results),
        "errors": errors,
        "coverage": round(sum(inside) / len(inside), 3) if inside else None,
        "width": round(statistics.median([w for r in results for w in r.width]), 3) if inside else None,
        "micros": round(statistics.median(r.micros for r in results), 2),
    }


def show(title: str, summary: dict[str, object]) -> None:
    """Print one block of the table."""
    errors = summary["errors"]
    assert isinstance(errors, dict)
    coverage = summary["coverage"]
    cells = []
    for share in (f"{s:.0%}" for s in SHARES):
        values = [errors[name][share] for name in NAMES]
        cells.append(" ".join("   -" if v is None else f"{min(v, 9.99) * 100:4.0f}" for v in values))
    print(
        f"{title[:44]:44} | "
        + " | ".join(cells)
        + f" | {coverage!s:>5} {summary['width']!s:>5} {summary['micros']!s:>5}"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=Path, help="folder with times/*.csv and LABELS.csv")
    parser.add_argument("--seeds", type=int, default=5, help="synthetic runs of each kind (default 5)")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    document: dict[str, object] = {}
    every: list[Result] = []
    print("median |error| in % of the time truly left, at each share of the steps: " + ", ".join(NAMES))
    print(f"{'':44} | " + " | ".join(f"{s:^19.0%}" for s in SHARES) + " | cover width   us")
    if args.curves:
        for run in real(args.curves):
            result = replay(run)
            every.append(result)
            document[run.name] = summarise([result])
            show(run.name, summarise([result]))
    for plan in PLANS:
        results = [replay(play(plan, seed)) for seed in range(1 if plan.total > 100_000 else args.seeds)]
        every.extend(results)
        document[plan.name] = summarise(results)
        show(plan.name, summarise(results))
    document["all"] = summarise(every)
    show("all", summarise(every))
    if args.out:
        args.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
