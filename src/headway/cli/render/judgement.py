"""Draws the judgement of a log: what stands at its end, what was withdrawn, and what a watcher would have shown meanwhile."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from headway.insight import wording

if TYPE_CHECKING:
    from headway.insight.replay import Replay, ReplayedCondition
    from headway.readers.log import Log

_MOST_SHOWN: Final = 12
"""Changes of the verdict that are named; of more, the first and the last."""


def judgement(log: Log, found: Replay, width: int | None) -> list[str]:
    """Lines that are at most ``width`` wide; None: as wide as they come."""
    first, last = log.points[0].step, log.points[-1].step
    of = f" of {wording.step(found.total_steps)}" if found.total_steps else ""
    points = "point" if found.points == 1 else "points"
    lines = [
        f"{log.path} ({log.format}): {wording.step(found.points)} {points}, steps {wording.step(first)} to "
        f"{wording.step(last)}{of}"
    ]
    standing = [_standing(found, finding.type, finding.metric) for finding in found.final.findings]
    if not standing or standing[0].type.value != found.final.verdict.value:
        lines += _wrapped(f"{found.final.verdict.value}: {found.final.text}", width, "", "  ")
    if found.eta is not None and found.eta.seconds > 0:
        eta = found.eta
        lines.append(
            f"ends in {wording.duration(eta.seconds)} ({wording.duration(eta.low)} to {wording.duration(eta.high)}, 80 %)"
        )
    for condition in standing:
        lines += _condition(condition, width)
    over = [condition for condition in found.conditions if condition.until_step is not None]
    if over:
        lines += ["", "Withdrawn since:"]
    for condition in over:
        lines += _condition(condition, width)
    if len(found.timeline) > 1:
        lines += ["", *_wrapped(f"An online watcher would have shown {_timeline(found)}.", width, "", "  ")]
    for note in found.final.notes:
        lines += _wrapped(f"Note: {note}.", width, "")
    if found.total_steps is None:
        lines += _wrapped(
            "The file does not say how long the run was to be; --total-steps makes the judgement sharper.", width, ""
        )
    return lines


def named(log: Log) -> str:
    """Names of a log's metrics, as far as they fit into a sentence."""
    names = sorted({name for point in log.points for name in point.metrics})
    return ", ".join(names[:_MOST_SHOWN]) + (
        f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    )


def _standing(found: Replay, kind: object, metric: str | None) -> ReplayedCondition:
    return next(one for one in found.conditions if one.until_step is None and (one.type, one.metric) == (kind, metric))


def _condition(condition: ReplayedCondition, width: int | None) -> list[str]:
    of = "" if condition.metric is None else f" of {condition.metric}"
    head = f"{condition.type.value}{of} since step {wording.step(condition.since_step)}"
    head += f", seen at step {wording.step(condition.detected_step)}"
    if condition.until_step is not None:
        head += f", withdrawn at step {wording.step(condition.until_step)}"
    return [*_wrapped(head, width, ""), *_wrapped(condition.text, width, "  ")]


def _timeline(found: Replay) -> str:
    shown = [f"{entry.kind.value} from step {wording.step(entry.step)}" for entry in found.timeline]
    if len(shown) > _MOST_SHOWN:
        half = _MOST_SHOWN // 2
        shown = [*shown[:half], f"{len(shown) - 2 * half} more changes", *shown[-half:]]
    return ", ".join(shown)


def _wrapped(text: str, width: int | None, indent: str, hanging: str | None = None) -> list[str]:
    if width is None:
        return [indent + text]
    return textwrap.wrap(
        text,
        max(20, width),
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
