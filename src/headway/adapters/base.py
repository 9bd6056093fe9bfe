"""What adapters share: how each tells what it reports, and the guard around whatever a framework calls."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, ParamSpec, TypeVar

from headway.reporter.notices import log
from headway.reporter.slots import Layer
from headway.reporter.voice import Voice

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
    through: str | None = None
    """The adapter that does it, where it is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a library that is built on another one speaks through it."""

    framework: str
    """The library's own name."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Which way is better, for metrics that are not widely known: name to min or max."""


_DIALECTS: Final = {"trl": "headway.adapters.trl:DIALECT"}
"""Package that a Trainer's arguments come from, and what is said of it. An adapter knows no other: this is where they meet."""
_SECRET: Final = re.compile(r"token|secret|password|api_?key|credential", re.IGNORECASE)


class Earlier:
    """Steps and epochs of the trainings that this process has been through, which the next one's own numbers leave out.

    One for each adapter. A second training goes on where the first one ended, unless it resumes one.
    """

    def __init__(self) -> None:
        self._voice: Voice | None = None
        self.steps = 0
        self.epochs = 0.0

    def begin(self, voice: Voice, *, start: int, total: int | None, epoch: float = 0.0) -> tuple[int, float]:
        """A training begins.

        Args:
            voice: what its steps will be said with.
            start: steps that it counts as complete before it began.
            total: steps that it counts at its end, if known.
            epoch: epochs that it counts as complete.

        Returns:
            Steps and epochs to be added to its own numbers.
        """
        last = voice.last_step
        if voice is not self._voice:
            self.steps, self.epochs = max(0, last - start), 0.0
        elif not (0 < start <= last - self.steps and (total is None or last < self.steps + total)):
            self.steps = max(0, last - start)
            self.epochs = max(0.0, (voice.epoch or 0.0) - epoch) if self.steps else 0.0
        self._voice = (
            voice  # else it takes up what was broken off, perhaps from further back: its numbers mean the same steps
        )
        return self.steps, self.epochs


class Span:
    """A phase of the training that begins in one call of a framework, and ends in another."""

    def __init__(self) -> None:
        self._phase: AbstractContextManager[None] | None = None

    def __bool__(self) -> bool:
        return self._phase is not None

    def begin(self, voice: Voice, phase: str) -> None:
        """A phase begins; one that had not ended has."""
        self.end()
        self._phase = voice.phase(phase)
        self._phase.__enter__()

    def end(self) -> None:
        """The phase is over, if there was one."""
        phase, self._phase = self._phase, None
        if phase is not None:
            phase.__exit__(None, None, None)


def dialect_of(cls: type, framework: str) -> Dialect:
    """The dialect of the package that a class, or one of its bases, comes from; else that of ``framework``."""
    for base in cls.__mro__:
        where = _DIALECTS.get(base.__module__.partition(".")[0])
        if where is not None:
            home, _, name = where.partition(":")
            dialect: Dialect = getattr(importlib.import_module(home), name)
            return dialect
    return Dialect(framework=framework)


def telling(arguments: Any, common: Iterable[str]) -> dict[str, Any]:
    """Those fields of a dataclass that differ from their defaults, and the common ones; none that may hold a secret."""
    shown = frozenset(common)
    found: dict[str, Any] = {}
    for each in dataclasses.fields(arguments):
        value = getattr(arguments, each.name, None)
        if isinstance(value, Enum):
            value = value.value
        if _SECRET.search(each.name) or not isinstance(value, bool | int | float | str | Mapping):
            continue
        default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
        if each.name in shown or (value != default and (default is not None or value is not False)):
            found[each.name] = value
    return found


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
