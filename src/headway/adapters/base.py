"""What adapters share: how each tells what it reports, and the guard around whatever a framework calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from headway.reporter.notices import log
from headway.reporter.slots import Layer

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What one adapter reports, in words. Each adapter has one, named ABOUT; docs/reference/frameworks.md is made of them."""

    title: str
    """The framework's name, as people write it."""
    framework: str | None
    """Its name in a job's description; None where it only adds to what another layer says."""
    layer: Layer
    """Where it stands; of several that see the same step, the outermost is heard."""
    steps: str
    """What a step is, and where its number comes from."""
    total: str
    """Where the number of all steps comes from."""
    epochs: str
    metrics: str
    config: str
    checkpoints: str
    directives: str
    """How it obeys a request to save or to stop."""
    by_hand: str
    """The line that does it without ``headway run`` or ``headway.auto``."""


def harmless(method: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result | None]:
    """What a framework calls never fails: an error is logged, and None returned."""

    @functools.wraps(method)
    def guarded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result | None:
        try:
            return method(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - never into training
            log.debug("%s failed: %r", method.__qualname__, error, exc_info=error)
            return None

    return guarded
