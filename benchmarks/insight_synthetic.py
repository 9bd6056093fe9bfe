"""Verdicts on synthetic runs whose troubles, with their exact onsets, are known: what ``insight.py --synthetic`` prints.

Each seed draws a healthy run (shape, schedule of the learning rate, noise of 1 to 30 %, number of points), and everything that
`headway.testing.troubles` can do to it is tried. A plateau that is called where less than 2 % was still to come
is no false alarm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median

from headway.insight.replay import replay
from headway.protocol.verdict import ConditionType
from headway.testing.curves import Curve, decimated, healthy, with_plateau
from headway.testing.troubles import (
    doubled,
    late,
    with_divergence,
    with_evaluations,
    with_nan,
    with_restart,
    with_spike,
)

KIND = {
    ConditionType.PLATEAUED: "plateau",
    ConditionType.DIVERGING: "diverge",
    ConditionType.NON_FINITE: "nan",
    ConditionType.OVERFITTING: "overfit",
}
LATEST = 0.95
LEARNT_ON = 0.15
"""Improvement of the training loss from the onset on, without which it is not overfitting."""


def thinned(curve: Curve, factor: int) -> Curve | None:
    """None where fewer than two dozen points would be left."""
    return decimated(curve, factor) if len(curve.points) >= 24 * factor else None


QUIET: dict[str, Callable[[Curve, int], Curve | None]] = {
    "healthy": lambda curve, _: curve,
    "a quarter of the points": lambda curve, _: thinned(curve, 4),
    "a sixteenth of the points": lambda curve, _: thinned(curve, 16),
    "a spike that recovers": lambda curve, _: with_spike(curve, 0.5),
    "a restart": lambda curve, _: with_restart(curve, 0.5),
    "late reports": late,
    "doubled reports": doubled,
    "with evaluations": lambda curve, seed: with_evaluations(curve, 40, seed),
}
"""Runs with nothing wrong."""
WRONG: dict[str, tuple[str, Callable[[Curve, int], Curve | None]]] = {
    "stands still from 40 %": ("plateau", lambda curve, _: with_plateau(curve, 0.4)),
    "the same, a quarter of it": ("plateau", lambda curve, _: thinned(with_plateau(curve, 0.4), 4)),
    "the same, a sixteenth": ("plateau", lambda curve, _: thinned(with_plateau(curve, 0.4), 16)),
    "diverges at 50 %": ("diverge", lambda curve, _: with_divergence(curve, 0.5)),
    "the same, late and doubled": (
        "diverge",
        lambda curve, seed: doubled(late(with_divergence(curve, 0.5), seed), seed),
    ),
    "not a number from 50 %": ("nan", lambda curve, _: with_nan(curve, 0.5)),
    "overfits from 40 %": ("overfit", lambda curve, seed: with_evaluations(curve, 40, seed, overfit_from=0.4)),
}
"""Runs with something wrong, and the kind of alarm that says so."""


def alarms(curve: Curve) -> list[tuple[str, float, float | None]]:
    """Kind, share of the run where it was seen and, of a plateau, the improvement that was still to come."""
    found = replay(curve.points, total_steps=curve.total_steps).conditions
    seen = [
        (KIND[each.type], each.detected_step, each.since_step)
        for each in found
        if each.type in KIND and each.detected_step < LATEST * curve.total_steps
    ]
    return [
        (kind, at / curve.total_steps, curve.still_to_come(at) if kind == "plateau" else None) for kind, at, _ in seen
    ]


def false_ones(seed: int, only: str | None = None) -> dict[str, bool]:
    """Whether each run with nothing wrong was called so."""
    curve = healthy(seed)
    result = {}
    for name, change in QUIET.items():
        if only is not None and name != only:
            continue
        changed = change(curve, seed)
        if changed is None:
            continue
        result[name] = any(still is None or still >= 0.02 for _, _, still in alarms(changed))
    return result


def outcomes(seed: int) -> dict[str, tuple[str, float | None, bool]]:
    """Of each run with something wrong: its noise, how long after the onset it was seen (None: not), whether before."""
    curve = healthy(seed)
    noise = curve.name.split("-")[2]
    result = {}
    for name, (kind, change) in WRONG.items():
        changed = change(curve, seed)
        if changed is None or changed.onset_step is None:
            continue
        if kind == "overfit" and curve.still_to_come(changed.onset_step) < LEARNT_ON:
            continue
        onset = changed.onset_step / changed.total_steps
        seen = alarms(changed)
        at = [share for alarm, share, _ in seen if alarm == kind and share >= onset - 0.02]
        early = any(share < onset - 0.02 and (still is None or still >= 0.02) for _, share, still in seen)
        result[name] = (noise, at[0] - onset if at else None, early)
    return result


def synthetic_table(count: int, first: int) -> None:
    """False alarms on ``count`` healthy runs; on a quarter of them, everything that can befall a run."""
    seeds = range(first, first + count)
    some = seeds[::4]
    with ProcessPoolExecutor(2) as pool:
        plain = list(pool.map(partial(false_ones, only="healthy"), seeds, chunksize=20))
        quiet = list(pool.map(false_ones, some, chunksize=5))
        wrong = list(pool.map(outcomes, some, chunksize=5))
    bad = [seed for seed, result in zip(seeds, plain, strict=True) if result["healthy"]]
    print(f"\n{count} synthetic healthy runs: {len(bad)} false alarms (2 % or more still to come) {bad[:5] or ''}")
    print(f"\n{'nothing wrong':28}{'runs':>6}{'false alarms':>14}")
    for name in QUIET:
        runs = [result[name] for result in quiet if name in result]
        print(f"{name:28}{len(runs):>6}{sum(runs):>14}")
    noises = ("0.01", "0.03", "0.1", "0.3")
    print(f"\n{'something wrong':28}{'runs':>6}{'early':>7}{'delay':>7}  caught at noise of "
          + "".join(f"{float(noise):>9.0%}" for noise in noises))  # fmt: skip
    for name in WRONG:
        of_noise: dict[str, list[tuple[float | None, bool]]] = defaultdict(list)
        for result in wrong:
            if name in result:
                noise, delay, early = result[name]
                of_noise[noise].append((delay, early))
        every = [each for runs in of_noise.values() for each in runs]
        delays = [delay for delay, _ in every if delay is not None]
        caught = "".join(
            f"{f'{sum(delay is not None for delay, _ in of_noise[noise])} of {len(of_noise[noise])}':>9}"
            for noise in noises
        )
        print(f"{name:28}{len(every):>6}{sum(early for _, early in every):>7}"
              f"{f'{median(delays):.0%}' if delays else '-':>7}  {'':18} {caught}")  # fmt: skip
