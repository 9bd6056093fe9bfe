"""How well the time to the end is told: Headway's estimator beside those that people use today.

    python benchmarks/eta.py [--curves DIR] [--seeds N] [--drawn N] [--out FILE]

Replays the timings of real runs (``DIR/times/*.csv``, columns step and seconds; totals from ``DIR/LABELS.csv``) and synthetic
runs with known ends (:mod:`headway.testing.paces`), point by point. Prints the error at 10, 25, 50, 75 and 90 % of each run's
steps as a share of the time truly left, the coverage of the 80 % interval, and microseconds of processor time per observation
with an estimate at every hundredth of the run; then, of runs of which everything is drawn, errors and coverage at each share.
``--out`` writes the same as JSON.

Peers: tqdm's bar (exponential moving average 0.3 of steps and seconds per refresh; ``initial`` known), the elapsed time per
step of Transformers' KubeflowCallback (which counts the steps before a resume), and the mean over the attempt (Red Hat's).
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headway.insight.eta import EtaEstimator
from headway.testing.paces import DRAWN, Course, Heard, Plan, draw, play

SHARES = (0.10, 0.25, 0.50, 0.75, 0.90)
NAMES = ("headway", "tqdm", "transformers", "mean")
MOST = 3.0
"""Relative error from which on all are alike."""
SHOWN = 20
"""Reports after the onset of what was done to a run from which on it can be seen."""


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


def epoch_starts(slow: float, length: int, epoch: int) -> Callable[[int], float]:
    return lambda step: slow if step % epoch < length else 1.0


PLANS = (
    Plan(kind="steady 2 %"),
    Plan(kind="steady 10 %", noise=0.1),
    Plan(kind="steady 30 %", noise=0.3),
    Plan(kind="steady 60 %, heavy tail", noise=0.6),
    Plan(kind="steady, 5 s reports", cadence=5.0),
    Plan(kind="10k steps a second, 1 s reports", total=3_000_000, seconds=1e-4, noise=0.2, cadence=1.0),
    Plan(kind="a step an hour", total=200, seconds=3600.0, noise=0.1),
    Plan(kind="drift +50 %", pace=lambda s: 1.0 + s / 2000),
    Plan(kind="resumed at 40 %, compile 100 s", first=400, start=100.0),
    Plan(kind="resumed at 90 %", first=900, seconds=10.0, start=30.0),
    Plan(kind="compile 300 s", start=299.0),
    Plan(kind="compile 300 s, 5 s reports", start=299.0, cadence=5.0),
    Plan(kind="first 20 steps 4 x slower", pace=lambda s: 4.0 if s <= 20 else 1.0),
    Plan(kind="evaluation 60 s / 100 steps", pauses=((100, 60.0),)),
    Plan(kind="evaluation 60 s / 100, declared", pauses=((100, 60.0),), declared=True),
    Plan(kind="evaluation 60 s / 100, 5 s reports", pauses=((100, 60.0),), cadence=5.0),
    Plan(kind="evaluation 60 s / 100, 10 % noise", pauses=((100, 60.0),), noise=0.1),
    Plan(kind="evaluation 120 s / 200 steps", pauses=((200, 120.0),)),
    Plan(kind="evaluation 8 s / 157, checkpoint 25 s / 250", pauses=((157, 8.0), (250, 25.0)), noise=0.05),
    Plan(kind="evaluation 10 s / 5 steps", pauses=((5, 10.0),), noise=0.05),
    Plan(kind="speed halves at 50 %", pace=lambda s: 1.0 if s <= 500 else 2.0),
    Plan(kind="speed halves at 40 %, 10 % noise", pace=lambda s: 1.0 if s <= 400 else 2.0, noise=0.1),
    Plan(kind="speed halves at 40 %, 5 s reports", pace=lambda s: 1.0 if s <= 400 else 2.0, cadence=5.0),
    Plan(kind="speed halves at 40 %, evaluations", pace=lambda s: 1.0 if s <= 400 else 2.0, pauses=((100, 60.0),)),
    Plan(kind="speed x 0.8 at 20 %", pace=lambda s: 1.0 if s <= 200 else 1.25, noise=0.05),
    Plan(kind="speed doubles at 20 %", pace=lambda s: 1.0 if s <= 200 else 0.5),
    Plan(kind="speed / 5 at 45 %", pace=lambda s: 1.0 if s <= 450 else 5.0),
    Plan(kind="one hang of 1 h at 20 %", once={200: 3600.0}),
    Plan(kind="slow for 50 steps at 20 %", pace=lambda s: 3.0 if 200 <= s < 250 else 1.0),
    Plan(kind="30 slow steps every 157", pace=epoch_starts(3.0, 30, 157)),
)


# --- replay -----------------------------------------------------------------------------------------------------------


def real(folder: Path) -> Iterator[Course]:
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
        heard = tuple(Heard(round(step), t) for step, t in rows)
        yield Course(kind=path.stem, first=0, total=round(last[0]), heard=heard, end=last[1], usual=last[1] / last[0])


@dataclass
class Result:
    """One run replayed: at each share of its steps the time truly left, and each estimate."""

    run: Course
    at: dict[float, dict[str, float | None]] = field(default_factory=dict)
    inside: list[tuple[float, bool]] = field(default_factory=list)
    """(share of the steps, whether the 80 % interval held the truth), at 19 places."""
    width: list[float] = field(default_factory=list)
    hits: dict[float, bool] = field(default_factory=dict)
    """At each share: whether the interval held the truth."""
    shown: set[float] = field(default_factory=set)
    """Shares at which what was done to the run had had time to show."""
    micros: float = 0.0


def replay(run: Course) -> Result:
    """Feed a run to every estimator."""
    result = Result(run)
    headway = EtaEstimator()
    headway.begin_attempt(run.first, 0.0)
    tqdm, whole, transformers = Tqdm(run.first), Mean(run.first), Mean(0.0)
    marks = sorted({*SHARES, *(k / 20 for k in range(1, 20))}, reverse=True)
    since = 0
    for step, t, phase, step_seconds in run.heard:
        since += run.onset is not None and step > run.onset.step
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
                if mine is not None and left > 0:
                    result.hits[mark] = mine.low <= left <= mine.high
                if since >= SHOWN:
                    result.shown.add(mark)
            if mine is not None and left > 0 and abs(mark * 20 - round(mark * 20)) < 1e-9:
                result.inside.append((mark, mine.low <= left <= mine.high))
                result.width.append((mine.high - mine.low) / left)
    result.micros = cost(run)
    return result


def cost(run: Course) -> float:
    """Return microseconds of processor time per observation, with an estimate at every hundredth of the run."""
    eta = EtaEstimator()
    eta.begin_attempt(run.first, 0.0)
    every = max(1, len(run.heard) // 100)
    begin = time.process_time()
    for index, (step, t, phase, step_seconds) in enumerate(run.heard):
        eta.observe(step, t, phase=phase, step_seconds=step_seconds)
        if index % every == 0:
            eta.estimate(t, run.total)
    return (time.process_time() - begin) / len(run.heard) * 1e6


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


def drawn(seeds: range) -> dict[str, object]:
    """Runs of which everything is drawn: errors, and how often the interval holds the truth, at each share."""
    shares = SHARES[:4]
    print("\nDrawn runs: median and mean |error| in % over 10, 25, 50, 75 % of the steps: " + ", ".join(NAMES))
    print(
        "and how many of 100 intervals held the truth, at each share and in all; and once what was done to the run shows"
    )
    out: dict[str, object] = {}
    pooled: dict[float, list[bool]] = {share: [] for share in shares}
    for kind in DRAWN:
        results = [replay(draw(kind, seed)) for seed in seeds]
        errors = {
            name: statistics.median(abs(e) for r in results for s in shares if (e := error(r, s, name)) is not None)
            for name in NAMES
        }
        means = {
            name: statistics.fmean(
                min(abs(e), MOST) for r in results for s in shares if (e := error(r, s, name)) is not None
            )
            for name in NAMES
        }
        cover = {share: [r.hits[share] for r in results if share in r.hits] for share in shares}
        for share, hits in cover.items():
            pooled[share] += hits
        shown = [r.hits[share] for r in results for share in shares if share in r.hits and share in r.shown]
        later = {
            name: statistics.median(abs(e) for r in results for s in r.shown if (e := error(r, s, name)) is not None)
            for name in NAMES
            if shown
        }
        whole = [hit for hits in cover.values() for hit in hits]
        width = statistics.median(w for r in results for w in r.width)
        out[kind] = {
            "errors": {name: round(value, 4) for name, value in errors.items()},
            "mean errors": {name: round(value, 4) for name, value in means.items()},
            "coverage": {f"{share:.0%}": round(statistics.fmean(hits), 3) for share, hits in cover.items()},
            "coverage in all": round(statistics.fmean(whole), 3),
            "coverage once it shows": round(statistics.fmean(shown), 3) if shown else None,
            "errors once it shows": {name: round(value, 4) for name, value in later.items()},
            "width": round(width, 3),
        }
        print(
            f"{kind:18} | "
            + " ".join(f"{100 * errors[name]:6.2f}" for name in NAMES)
            + " | "
            + " ".join(f"{100 * means[name]:5.1f}" for name in NAMES)
            + " | "
            + " ".join(f"{100 * statistics.fmean(hits):3.0f}" for hits in cover.values())
            + f" | {100 * statistics.fmean(whole):3.0f}"
            + (f" | {100 * statistics.fmean(shown):3.0f}; " if shown else "")
            + " ".join(f"{100 * value:.2f}" for value in later.values())
        )
    overall = {f"{share:.0%}": round(statistics.fmean(hits), 3) for share, hits in pooled.items()}
    out["all"] = {
        "coverage": overall,
        "coverage in all": round(statistics.fmean(h for hits in pooled.values() for h in hits), 3),
    }
    print(f"{'all':18} | {'':27} | {'':23} | " + " ".join(f"{100 * value:3.0f}" for value in overall.values()))
    return out


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=Path, help="folder with times/*.csv and LABELS.csv")
    parser.add_argument("--seeds", type=int, default=5, help="synthetic runs of each kind (default 5)")
    parser.add_argument("--drawn", type=int, default=60, help="runs of each drawn kind (default 60)")
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
            document[run.kind] = summarise([result])
            show(run.kind, summarise([result]))
    for plan in PLANS:
        results = [replay(play(plan, seed)) for seed in range(1 if plan.total > 100_000 else args.seeds)]
        every.extend(results)
        document[plan.kind] = summarise(results)
        show(plan.kind, summarise(results))
    document["all"] = summarise(every)
    show("all", summarise(every))
    document["drawn"] = drawn(range(100_000, 100_000 + args.drawn))
    if args.out:
        args.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
