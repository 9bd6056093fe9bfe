"""Stalled and Slow: how soon after its onset each is seen, how well the onset is told, and how often nothing was the matter.

    python benchmarks/pace.py [--seeds N] [--healthy N] [--out FILE]

All runs are synthetic, from :mod:`headway.testing.paces`, so that onsets are known exactly. Signs of life come all the while:
a standstill is asked for at the last moment before each step.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from headway.insight.stall import StallWatch
from headway.insight.throughput import SlowWatch
from headway.testing.paces import DRAWN, Course, asleep, doubled, draw, jumped, late, slowed, stalled

FLOOR = 60.0
RATIOS = (1.1, 1.25, 2.0)
STEPS = (0.2, 1.0, 5.0, 20.0)
NOISES = (0.02, 0.1, 0.2, 0.3)
SLOWER = ("change of speed", "slow patch", "slow patches", "drift")
"""Kinds of runs that do become slower."""


def usual_gap(course: Course, before: float) -> float:
    """Longest gap between two steps before a time, but for the first five."""
    times = {}
    for one in course.heard:
        if one.t <= before:
            times.setdefault(one.step, one.t)
    moments = list(times.values())
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    return max(gaps[5:], default=math.inf)


@dataclass
class Found:
    """What a watch said of one run."""

    delay: float | None = None
    """Seconds from the onset of what was done to it; None: not seen."""
    off: float | None = None
    """By how many seconds the onset is told too late."""
    false: int = 0
    """Times that something was said of nothing."""
    unprecedented: int = 0
    """Times that Stalled was said of a pause that the run had not announced, longer than any before it explains."""


def stall_found(course: Course, *, beats: bool = True) -> Found:
    """Ask for Stalled just before each report; without ``beats`` nothing is heard between them."""
    watch = StallWatch()
    watch.begin_attempt(course.first, 0.0)
    since = course.onset.t if course.onset else math.inf
    until = course.until.t if course.until else since
    found = Found()
    last, step, moved, longest, gaps = 0.0, course.first, 0.0, 0.0, 0
    standing = False
    for one in course.heard:
        at = one.t - 1e-6
        finding = watch.finding(at, heard=None if beats else last)
        if finding is not None and not standing:
            if since <= finding.since_t < until:
                found.delay, found.off = watch.limit(), finding.since_t - since
            elif gaps > 5 and at - moved > max(FLOOR, 5 * longest):
                found.unprecedented += 1
            else:
                found.false += 1
        standing = finding is not None
        watch.observe(one.step, one.t, phase=one.phase, blind=not beats and one.t - last > 5 * max(4.0, longest))
        if one.step > step:
            gaps += 1
            longest = max(longest, one.t - moved) if gaps > 5 else 0.0
            step, moved = one.step, one.t
        last = one.t
    return found


def slow_found(course: Course) -> Found:
    """Ask for Slow after each report."""
    watch = SlowWatch()
    watch.begin_attempt(course.first, 0.0)
    since = course.onset.t if course.onset else math.inf
    found = Found()
    standing = False
    for one in course.heard:
        watch.observe(one.step, one.t, phase=one.phase)
        finding = watch.finding(one.t)
        if finding is not None and not standing:
            if one.t > since:
                found.delay, found.off = one.t - since, finding.since_t - since
                break
            found.false += 1
        standing = finding is not None
    return found


def figures_of(results: Sequence[Found]) -> dict[str, float | int | None]:
    """Counts, median and longest delay, and by how much the onset is off."""
    delays = [found.delay for found in results if found.delay is not None]
    offs = [abs(found.off) for found in results if found.off is not None]
    return {
        "runs": len(results),
        "found": len(delays),
        "delay": round(statistics.median(delays), 1) if delays else None,
        "worst": round(max(delays), 1) if delays else None,
        "onset": round(statistics.median(offs), 1) if offs else None,
        "false": sum(found.false for found in results),
        "unprecedented": sum(found.unprecedented for found in results),
    }


def stalls(seeds: int) -> dict[str, object]:
    """Standstills put into runs of each kind."""
    print(
        "\nStalled: seconds from the last step, at standstills put into runs; bound = max(60 s, 6 x longest usual gap)"
    )
    print(f"{'':20} found   median delay   worst delay / bound   false alarms   at a first pause")
    out: dict[str, object] = {}
    for kind in DRAWN:
        found, shares = [], []
        for seed in range(seeds):
            course = draw(kind, seed)
            hung = stalled(course, 0.3 + 0.5 * (seed % 7) / 7, 4 * 3600.0)
            result = stall_found(hung)
            found.append(result)
            assert hung.onset is not None
            if result.delay is not None:
                shares.append(result.delay / max(FLOOR, 6 * usual_gap(hung, hung.onset.t)))
        figures = {**figures_of(found), "share": round(max(shares), 3) if shares else None}
        out[kind] = figures
        print(
            f"{kind:20} {figures['found']}/{figures['runs']}  {figures['delay']!s:>12}   {figures['share']!s:>19}   "
            f"{figures['false']!s:>12}   {figures['unprecedented']!s:>16}"
        )
    return out


def slow_downs(seeds: int) -> dict[str, object]:
    """Slow-downs of each size, in steps of each length and noise."""
    print("\nSlow: found of so many, median and longest delay in seconds, onset off by seconds")
    print(f"{'':18}" + "".join(f"{f'steps of {s:g} s':>26}" for s in STEPS))
    out: dict[str, object] = {}
    for ratio in RATIOS:
        for noise in NOISES:
            cells = []
            for seconds in STEPS:
                figures = figures_of(
                    [slow_found(slowed(ratio, seconds=seconds, noise=noise, seed=seed)) for seed in range(seeds)]
                )
                out[f"{ratio:g} x, noise {noise:.0%}, {seconds:g} s"] = figures
                cells.append(
                    f"{figures['found']}/{seeds} {_whole(figures['delay'])} {_whole(figures['worst'])} {_whole(figures['onset'])}"
                )
            print(f"{f'{ratio:g} x, noise {noise:.0%}':18}" + "".join(f"{cell:>26}" for cell in cells))
    return out


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def healthy(runs: int) -> dict[str, object]:
    """False alarms in runs with which nothing is the matter, undisturbed and with what happens on the way."""
    print(
        f"\nFalse alarms in {runs} healthy runs of each kind: Slow, Stalled (at a first pause that was not announced)"
    )
    out: dict[str, object] = {}
    for kind in DRAWN:
        courses = (replace(draw(kind, seed), onset=None, until=None) for seed in range(runs))
        out[kind] = _alarms(kind, courses, slow=kind not in SLOWER)
    disturbed: dict[str, Callable[[Course, int], Course]] = {
        "late reports": late,
        "doubled reports": doubled,
        "clock set back an hour": lambda course, _: jumped(course, 0.5, -3600.0),
        "clock set ahead an hour": lambda course, _: jumped(course, 0.5, 3600.0),
        "asleep for 8 h": lambda course, _: asleep(course, 0.5, 8 * 3600.0),
    }
    for name, change in disturbed.items():
        courses = (replace(change(draw("steady", seed), seed), onset=None) for seed in range(runs))
        out[f"steady, {name}"] = _alarms(f"steady, {name}", courses, beats=name in ("late reports", "doubled reports"))
    return out


def _alarms(name: str, courses: Iterable[Course], *, slow: bool = True, beats: bool = True) -> dict[str, int | None]:
    counts = {"runs": 0, "slow": 0, "stalled": 0, "unprecedented": 0}
    for course in courses:
        counts["runs"] += 1
        stall = stall_found(course, beats=beats)
        counts["stalled"] += stall.false > 0
        counts["unprecedented"] += stall.unprecedented > 0
        counts["slow"] += slow and slow_found(course).false > 0
    print(
        f"{name:34} {counts['slow'] if slow else '-':>4} {counts['stalled']:4}"
        + (f" ({counts['unprecedented']})" if counts["unprecedented"] else "")
    )
    return counts if slow else {**counts, "slow": None}


def cost() -> dict[str, float]:
    """Microseconds of processor time a report, and bytes a run."""
    course = slowed(1.25, seconds=0.5, noise=0.1, healthy=20_000.0)
    figures: dict[str, float] = {}
    for name, make in (("stall", StallWatch), ("slow", SlowWatch)):
        tracemalloc.start()
        watches = []
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            watch = make()
            watch.begin_attempt(0, 0.0)
            for one in course.heard:
                watch.observe(one.step, one.t)
            watches.append(watch)
        figures[f"{name} bytes"] = round((tracemalloc.get_traced_memory()[0] - before) / len(watches))
        tracemalloc.stop()
        best = math.inf
        for _ in range(5):
            watch = make()
            watch.begin_attempt(0, 0.0)
            begin = time.process_time()
            for one in course.heard:
                watch.observe(one.step, one.t)
            best = min(best, time.process_time() - begin)
        figures[f"{name} us"] = round(best / len(course.heard) * 1e6, 2)
    print("\n" + ", ".join(f"{name}: {value:g}" for name, value in figures.items()))
    return figures


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="injected runs of each kind (default 20)")
    parser.add_argument("--healthy", type=int, default=100, help="healthy runs of each kind (default 100)")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    document = {
        "stalled": stalls(args.seeds),
        "slow": slow_downs(args.seeds),
        "healthy": healthy(args.healthy),
        "cost": cost(),
    }
    if args.out:
        args.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
