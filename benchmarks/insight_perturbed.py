"""Whether verdicts hold when the labelled curves are bent in ways that change nothing of what is wrong with them.

    python benchmarks/insight_perturbed.py --curves DIR [--only WORD ...] [--details]

Every perturbation leaves each label as it is: another scale, other step numbers, fewer points, noise on top, fewer digits, no
learning rate, a total that nobody knows, several reports merged into one. A threshold that stands close to a curve of the set,
and not close to what it is for, shows as a row that differs from the first. Columns as in `insight.py`.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from insight import BAD, Labelled, Tally, of_headway, read

from headway.protocol.points import Points
from headway.protocol.report import Cell, Point
from headway.tracking.merging import merged

LOSSES: Final = ("loss", "eval_loss")
Change = Callable[[Labelled], Labelled]


def with_values(curve: Labelled, change: Callable[[str, float], float]) -> Labelled:
    """The curve with its losses changed one by one; what is not finite stays."""
    points = [
        point._replace(
            metrics={
                name: Cell(change(name, cell.mean)) if name in LOSSES and math.isfinite(cell.mean) else cell
                for name, cell in point.metrics.items()
            }
        )
        for point in curve.points
    ]
    return replace(curve, points=points)


def scaled(curve: Labelled, factor: float) -> Labelled:
    return with_values(curve, lambda _, value: factor * value)


def noisy(curve: Labelled, deviation: float, seed: int) -> Labelled:
    """Noise on top of each value, on the training loss alone twice as much as on evaluations."""
    rng = random.Random(f"{curve.name}{seed}")
    part = {"loss": deviation, "eval_loss": deviation / 2}
    return with_values(curve, lambda name, value: value * math.exp(part[name] * rng.gauss(0, 1)))


def rounded(curve: Labelled, digits: int) -> Labelled:
    return with_values(
        curve, lambda _, value: round(value, digits - 1 - math.floor(math.log10(abs(value)))) if value else value
    )


def thinned(curve: Labelled, factor: int, offset: int) -> Labelled:
    """Every ``factor``-th point; evaluations all stay, as do curves of fewer than 100 points."""
    if len(curve.points) < 100:
        return curve
    kept = [
        point
        for index, point in enumerate(curve.points)
        if index % factor == offset or "eval_loss" in point.metrics or not math.isfinite(_any(point))
    ]
    return replace(curve, points=kept)


def _any(point: Point) -> float:
    return next(iter(point.metrics.values())).mean


def moved(curve: Labelled, factor: float, shift: int) -> Labelled:
    """Other step numbers: counted in other units, or from elsewhere."""
    points = [point._replace(step=round(factor * point.step) + shift) for point in curve.points]
    onset, total = factor * curve.onset + shift, round(factor * curve.total) + shift
    return replace(curve, points=points, onset=onset, total=total, begin=shift)


def without(curve: Labelled, *names: str) -> Labelled:
    points = [
        point._replace(metrics={name: cell for name, cell in point.metrics.items() if name not in names})
        for point in curve.points
    ]
    return replace(curve, points=[point for point in points if point.metrics])


def renamed(curve: Labelled) -> Labelled:
    names = {"loss": "train/loss", "eval_loss": "val_loss", "learning_rate": "lr-AdamW"}
    points = [
        point._replace(metrics={names.get(name, name): cell for name, cell in point.metrics.items()})
        for point in curve.points
    ]
    return replace(curve, points=points)


def late_start(curve: Labelled, share: float) -> Labelled:
    """The log begins only after a share of the run, as that of a resumed run does."""
    if share > 0.5 * curve.onset / curve.total:
        return curve
    return replace(curve, points=[point for point in curve.points if point.step >= share * curve.total])


def doubled(curve: Labelled) -> Labelled:
    """Each point is said twice, as a client does that sends a report again under another id."""
    return replace(curve, points=[point for point in curve.points for _ in range(2)])


def pooled(curve: Labelled, size: int) -> Labelled:
    """Neighbours merged, as the server does with dense reports; short curves stay."""
    if len(curve.points) < 200:
        return curve
    return replace(curve, points=merged([Points.of(curve.points)], len(curve.points) // size))


def unknown_total(curve: Labelled) -> Labelled:
    return replace(curve, told=False)


CHANGES: Final[dict[str, Change]] = {
    "as they are": lambda curve: curve,
    "scaled by 1000": partial(scaled, factor=1000.0),
    "scaled by 1/10": partial(scaled, factor=0.1),
    "steps times 512": partial(moved, factor=512, shift=0),
    "steps from 1,000,000": partial(moved, factor=1, shift=1_000_000),
    "every 2nd point": partial(thinned, factor=2, offset=0),
    "every other 2nd point": partial(thinned, factor=2, offset=1),
    "every 4th point": partial(thinned, factor=4, offset=0),
    "every 4th point, by two": partial(thinned, factor=4, offset=2),
    "2 merged": partial(pooled, size=2),
    "5 merged": partial(pooled, size=5),
    "1 % of noise": partial(noisy, deviation=0.01, seed=1),
    "2 % of noise": partial(noisy, deviation=0.02, seed=2),
    "2 % of noise, again": partial(noisy, deviation=0.02, seed=3),
    "5 % of noise": partial(noisy, deviation=0.05, seed=4),
    "3 digits": partial(rounded, digits=3),
    "2 digits": partial(rounded, digits=2),
    "no learning rate": lambda curve: without(curve, "learning_rate"),
    "no gradient norm": lambda curve: without(curve, "grad_norm"),
    "no epochs": lambda curve: without(curve, "epoch"),
    "other names": renamed,
    "first 2 % missing": partial(late_start, share=0.02),
    "first 10 % missing": partial(late_start, share=0.10),
    "said twice": doubled,
    "total unknown": unknown_total,
}


def outcomes(curves: list[Labelled], name: str) -> tuple[str, Tally, dict[str, str]]:
    tally, found = Tally(), {}
    for curve in curves:
        before = tally.forbidden
        outcome = of_headway(tally, CHANGES[name](curve))
        found[curve.name] = outcome + (" forbidden" if tally.forbidden > before else "")
    return name, tally, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=Path, required=True, help="folder of labelled curves")
    parser.add_argument("--only", nargs="+", default=[""], help="perturbations whose names hold one of these words")
    parser.add_argument("--details", action="store_true", help="what became otherwise of which curve")
    options = parser.parse_args()
    curves = list(read(options.curves))
    chosen = [name for name in CHANGES if name == "as they are" or any(word in name for word in options.only)]
    sums = {label: sum(curve.label == label for curve in curves) for label in sorted(BAD)}
    print(f"{'':26}{'forbid':>7}{'needless':>9}{'early':>6}  "
          + "".join(f"{label[:12]:>13}" for label in sums) + f"{'saved':>7}{'lost':>7}")  # fmt: skip
    known: dict[str, str] = {}
    with ProcessPoolExecutor(2) as pool:
        for name, tally, found in pool.map(partial(outcomes, curves), chosen):
            hits = "".join(f"{f'{tally.caught[label]} of {size}':>13}" for label, size in sums.items())
            print(f"{name:26}{tally.forbidden:>7}{tally.needless:>9}{tally.early:>6}  {hits}"
                  f"{tally.saved / len(curves):>7.1%}{tally.lost / len(curves):>7.1%}")  # fmt: skip
            known = known or found
            if options.details:
                for curve, outcome in found.items():
                    if outcome != known[curve]:
                        print(f"    {curve}: {known[curve] or 'quiet'} -> {outcome or 'quiet'}")


if __name__ == "__main__":
    main()
