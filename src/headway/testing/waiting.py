"""Waits in a test for what nothing tells of: polls, up to a deadline that a loaded machine meets as well."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T], what: str = "what was waited for", *, timeout: float = 30.0, pause: float = 0.05
) -> T:
    """What ``condition`` gives, once that is true; it is asked once more when the time is over.

    Args:
        condition: is asked again and again.
        what: is waited for, for the message.
        timeout: seconds to wait at most.
        pause: seconds between two questions.

    Raises:
        AssertionError: it never came.
    """
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what} did not come within {timeout:g} s")
        time.sleep(pause)
    return found
