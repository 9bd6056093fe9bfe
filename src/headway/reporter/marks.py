"""How many steps a run may complete in a time to come, told from when its newest ones were complete.

Not by a mean: where a device is waited for only now and then, steps come in bursts, and many may be complete in no time at all.
"""

from __future__ import annotations

import math
from typing import TypeAlias

Marks: TypeAlias = tuple[tuple[int, float], ...]
"""(steps complete, when), oldest first."""


def most_steps(marks: Marks, seconds: float) -> int | None:
    """The most steps that lay between two marks at most so many seconds apart; None: there are no two marks.

    Where the marks tell of a shorter time, their mean pace is taken to go on.
    """
    if len(marks) < 2 or marks[-1][0] <= marks[0][0]:
        return None
    first, last = marks[0], marks[-1]
    if (span := last[1] - first[1]) < seconds:
        return math.ceil((last[0] - first[0]) * seconds / max(span, 1e-3))
    most = since = 0
    for step, at in marks:
        while at - marks[since][1] > seconds:
            since += 1
        most = max(most, step - marks[since][0])
    return most


def steps_ahead(marks: Marks, seconds: float, age: float) -> int | None:
    """The most steps that may be complete within so many seconds from now.

    Args:
        marks: of the newest steps.
        seconds: how far ahead.
        age: seconds since the last step was complete.
    """
    at_any_time = most_steps(marks, seconds)
    since_the_last = most_steps(marks, seconds + age)
    if at_any_time is None or since_the_last is None:
        return None
    return min(at_any_time + 1, since_the_last)
