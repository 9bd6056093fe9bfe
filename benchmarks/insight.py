"""How often Headway's verdicts are right, beside the stopping rules in use today, on curves with known labels.

    python benchmarks/insight.py --curves DIR [--synthetic 1000 [--first-seed 0]] [--details] [--json FILE]

DIR holds NAME.csv (step, epoch, loss, eval_loss, learning_rate, grad_norm) and LABELS.csv. Each curve is replayed point by
point. A rule's alarm is its first one (Headway's: the first Plateaued, Diverging, NonFinite or Overfitting) before 95 % of
the run. On a healthy run it is *needless*, and *forbidden* where the label says so of its kind; on a bad one it is *early*
(more than 2 % of the run before the onset), *caught* (before 90 %) or *missed*. "Stop at the alarm" saves what comes after
the onset of a bad run and loses what comes before it, or the rest of a healthy one; shares are of all runs' steps.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from insight_peers import RULES
from insight_synthetic import KIND, synthetic_table

from headway.insight.assess import RunInsight
from headway.insight.replay import Watcher
from headway.protocol.report import Cell, Point
from headway.tracking.conditions.judge import Judge

BAD = {"plateau", "unlearnable", "diverge", "nan", "overfit", "eval_plateau"}
FITTING = {
    "plateau": {"plateau"},
    "unlearnable": {"plateau"},
    "diverge": {"diverge"},
    "nan": {"nan"},
    "overfit": {"overfit"},
    "eval_plateau": {"plateau", "overfit"},
}


@dataclass
class Labelled:
    name: str
    label: str
    onset: float
    total: int
    forbidden: set[str]
    points: list[Point]
    begin: int = 0
    """Where step numbers begin."""
    told: bool = True
    """Whether a watcher is told the total."""

    def share(self, step: float) -> float:
        """How much of the run is done at ``step``."""
        return (step - self.begin) / (self.total - self.begin)


@dataclass
class Tally:
    """What one rule did on all curves."""

    forbidden: int = 0
    needless: int = 0
    early: int = 0
    caught: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    delays: list[float] = field(default_factory=list)
    saved: float = 0.0
    lost: float = 0.0
    flips: list[int] = field(default_factory=list)
    seconds: float = 0.0
    points: int = 0


def read(folder: Path) -> Iterator[Labelled]:
    with (folder / "LABELS.csv").open(encoding="utf-8") as labels:
        for row in csv.DictReader(labels):
            with (folder / f"{row['name']}.csv").open(encoding="utf-8") as curve:
                points = [
                    Point(int(float(line["step"])), math.nan, cells)
                    for line in csv.DictReader(curve)
                    if (cells := {name: Cell(float(text)) for name, text in line.items() if text and name != "step"})
                ]
            onset = float(row["onset_step"]) if row["label"] in BAD and row["onset_step"] else math.inf
            yield Labelled(
                name=row["name"],
                label=row["label"],
                onset=onset,
                total=int(row["total_steps"]),
                forbidden=set(row["not_these_verdicts"].split("|")) - {""},
                points=points,
            )


def score(tally: Tally, curve: Labelled, alarm: float | None, kinds: set[str]) -> str:
    """Count one curve; ``kinds`` are all kinds alarmed on it (a patience rule's alarm counts as a plateau)."""
    tally.forbidden += bool(kinds & curve.forbidden)
    end = min(1.0, curve.share(curve.points[-1].step))
    useful = min(curve.share(curve.onset), end)
    at = curve.share(alarm) if alarm is not None else None
    if at is not None:
        tally.lost += max(0.0, useful - at)
        tally.saved += end - max(useful, at)
    if curve.label not in BAD:
        tally.needless += at is not None
        return "needless" if at is not None else ""
    if at is not None and at < useful - 0.02:
        tally.early += 1
        return "early"
    if at is not None and at < 0.9 and (kinds & FITTING[curve.label]):
        tally.caught[curve.label] += 1
        tally.delays.append(at - useful)
        return "caught"
    tally.missed[curve.label] += 1
    return "missed"


def of_headway(tally: Tally, curve: Labelled) -> str:
    watcher = Watcher(RunInsight(), curve.total if curve.told else None)
    started = time.process_time()
    for point in curve.points:
        watcher.see(point)
    tally.seconds += time.process_time() - started
    tally.points += len(curve.points)
    tally.flips.append(len(watcher.timeline) - 1)
    alarms = [
        (condition.detected_step, KIND[condition.type])
        for condition in [*watcher.ended, *watcher.standing.values()]
        if condition.type in KIND and curve.share(condition.detected_step) < 0.95
    ]
    return score(tally, curve, min(alarms)[0] if alarms else None, {kind for _, kind in alarms})


def of_rule(tally: Tally, curve: Labelled, name: str) -> str:
    rule = RULES[name]()
    order = ("eval_loss", "loss") if rule.monitors == "eval" else ("loss", "eval_loss")
    counts = {metric: sum(metric in point.metrics for point in curve.points) for metric in order}
    metric = order[0] if counts[order[0]] >= 5 else max(order, key=counts.__getitem__)
    alarm, fired = None, 0
    started = time.process_time()
    for point in curve.points:
        if metric in point.metrics:
            tally.points += 1
            if rule.update(point.metrics[metric].mean):
                fired += 1
                if alarm is None and point.step < 0.95 * curve.total:
                    alarm = point.step
    tally.seconds += time.process_time() - started
    tally.flips.append(fired)
    spike_rule = name in ("Page-Hinkley", "LLM Foundry KillLossSpike")
    kinds = {"diverge"} if spike_rule else {"plateau", "diverge", "nan", "overfit"}
    if alarm is not None and spike_rule and curve.label in ("plateau", "unlearnable"):
        kinds = {"diverge", "plateau"}
    return score(tally, curve, alarm, kinds if alarm is not None else set())


def deep_size(thing: object, seen: set[int] | None = None) -> int:
    """Bytes of an object and all that it holds."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type):
        return 0
    seen.add(id(thing))
    size = sys.getsizeof(thing)
    if isinstance(thing, dict):
        return size + sum(deep_size(part, seen) for pair in thing.items() for part in pair)
    if isinstance(thing, (list, tuple, set)):
        return size + sum(deep_size(part, seen) for part in thing)
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = [getattr(thing, name) for name in slots if hasattr(thing, name)]
    return size + deep_size(getattr(thing, "__dict__", {}), seen) + sum(deep_size(part, seen) for part in parts)


def bytes_per_metric(points: int) -> int:
    """Memory of insight for one metric of a run with so many points."""
    insight = RunInsight()
    for index in range(1, points + 1):
        level = 2 + 8 * (index + 10) ** -0.4
        insight.observe(Point(index, float(index), {"loss": Cell(level * (1 + 0.01 * ((index * 7919) % 13 - 6)))}))
    return deep_size(insight)


def bytes_per_job(points: int, count: int = 100) -> float:
    """Resident memory that each of so many running jobs takes to be watched: pace, standstill and three metrics."""

    def watched() -> Judge:
        judge = Judge()
        judge.insight = RunInsight()
        for index in range(1, points + 1):
            level = 2 + 8 * (index + 10) ** -0.4
            wave = 1 + 0.01 * ((index * 7919) % 13 - 6)
            metrics = {"loss": Cell(level * wave), "grad_norm": Cell(wave), "throughput": Cell(1e4 * wave)}
            judge.observe("a", start=0.0, step=index, began=0, t=float(index), sent=float(index), usual_gap=1.0)
            judge.read([Point(index, float(index), metrics)], total=4 * points)
        judge.assess(float(points), judge.estimate(float(points), 4 * points))
        return judge

    watched()
    before = resident()
    kept = [watched() for _ in range(count)]
    return (resident() - before) / len(kept)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def table(curves: list[Labelled], tallies: dict[str, Tally]) -> None:
    groups = {
        "plateau": ("plateau", "unlearnable"),
        "diverge": ("diverge",),
        "nan": ("nan",),
        "overfit": ("overfit",),
        "eval": ("eval_plateau",),
    }
    sizes = {group: sum(curve.label in labels for curve in curves) for group, labels in groups.items()}
    healthy_runs = sum(curve.label not in BAD for curve in curves)
    print(f"{len(curves)} curves, {healthy_runs} of them with nothing wrong at the end\n")
    caught = " ".join(f"{group:>9}" for group in groups)
    print(f"{'rule':28} {'forbid':>6} {'needless':>8} {'early':>5} {caught} {'delay':>6} {'saved':>6} {'lost':>6} "
          f"{'net':>6} {'flips':>5} {'us/pt':>6}")  # fmt: skip
    for name, tally in tallies.items():
        hits = " ".join(
            f"{sum(tally.caught[label] for label in labels):>4} of {sizes[group]:>2}"
            for group, labels in groups.items()
        )
        delay = f"{median(tally.delays):6.0%}" if tally.delays else "     -"
        share = [value / len(curves) for value in (tally.saved, tally.lost, tally.saved - tally.lost)]
        print(
            f"{name:28} {tally.forbidden:>6} {tally.needless:>8} {tally.early:>5} {hits} {delay} "
            f"{share[0]:6.1%} {share[1]:6.1%} {share[2]:+6.1%} {median(tally.flips):>5.0f} "
            f"{1e6 * tally.seconds / max(1, tally.points):>6.1f}"
        )


def figures(rule: str, tally: Tally, curves: int) -> dict[str, Any]:
    """What a rule did, as shares of the steps of all curves where it is steps."""
    counts = {"forbidden": tally.forbidden, "needless": tally.needless, "early": tally.early}
    return {"rule": rule, "saved": tally.saved / curves, "lost": tally.lost / curves, **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=Path, help="folder of labelled curves")
    parser.add_argument("--synthetic", type=int, default=0, metavar="N", help="also N synthetic runs")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--details", action="store_true", help="what became of each curve")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--points", type=int, default=100_000, help="points for the measurement of memory")
    options = parser.parse_args()
    tallies: dict[str, Tally] = {}
    if options.curves:
        curves = list(read(options.curves))
        for name in ("Headway", *RULES):
            tally = tallies[name] = Tally()
            for curve in curves:
                outcome = of_headway(tally, curve) if name == "Headway" else of_rule(tally, curve, name)
                if options.details and name == "Headway":
                    print(f"{curve.name:32} {curve.label:20} {outcome}")
        table(curves, tallies)
    print(
        f"\nmemory: {bytes_per_metric(options.points):,} bytes for one metric and its run at {options.points:,} points; "
        f"{bytes_per_job(1000) / 1e3:,.0f} kB for a running job with 1,000 points of three metrics"
    )
    if options.synthetic:
        synthetic_table(options.synthetic, options.first_seed)
    if options.json:
        options.json.write_text(
            json.dumps({"rules": [figures(name, tally, len(curves)) for name, tally in tallies.items()]})
        )


if __name__ == "__main__":
    main()
