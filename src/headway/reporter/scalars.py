"""What becomes of the values that users hand to ``step`` and ``log``.

Plain numbers (and numbers of numpy, ``decimal``, ``fractions``; a bool is 0 or 1) stay where they are: every one counts in
its tick's mean. A tensor on the CPU is read at once, for it may be changed in place and reading it waits for nothing. A
value on a device is *sampled*: a detached copy is queued behind the work that makes it, and read by the reporter's thread
once it is there; the training thread never waits. Any other object with ``__float__`` is kept until the next tick, when only
the newest is asked. Text, None, containers and tensors of more than one element are left out.

No framework is imported from here: a tensor cannot exist before its framework is in ``sys.modules``.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from decimal import Decimal
from enum import Enum, auto
from fractions import Fraction
from typing import Any, Final, NamedTuple

_SAMPLE_EVERY: Final = 0.1
"""Seconds between two copies of one metric on a device: several a tick, so that one that is complete is fresh."""
_FLIGHTS: Final = 4
"""Copies of one metric kept at a time."""


class Kind(Enum):
    """How values of a type are treated."""

    PLAIN = auto()
    TENSOR = auto()
    """``torch.Tensor`` and its subclasses."""
    ARRAY = auto()
    """``numpy.ndarray``: changed in place, on the CPU."""
    HELD = auto()
    """Cannot change or cannot be copied: kept as it is, asked for its number later."""
    OUT = auto()


class Sample(NamedTuple):
    """A value that is read later, by the reporter's thread."""

    step: int
    at: float
    value: Any
    event: Any = None
    """A CUDA event behind the copy; None where there is nothing to wait for."""

    def ready(self) -> bool:
        """Whether reading it now waits for no device."""
        if self.event is not None:
            return bool(self.event.query())
        is_ready = getattr(self.value, "is_ready", None)  # jax.Array
        return bool(is_ready()) if callable(is_ready) else True

    def read(self) -> float:
        """The number. Raises whatever the object raises."""
        if self.event is None:
            return float(self.value)
        cuda = sys.modules["torch"].cuda
        with cuda.stream(_side_stream(cuda, self.value.device)):  # not behind the training's own queue
            return float(self.value)


_side_streams: dict[Any, Any] = {}


def _side_stream(cuda: Any, device: Any) -> Any:
    if device not in _side_streams:
        _side_streams[device] = cuda.Stream(device)
    return _side_streams[device]


class Samples:
    """Samples by metric, between the training threads and the reporter's, and the names of what was left out."""

    __slots__ = ("_kinds", "_next", "flying", "left_out", "wanted")

    def __init__(self) -> None:
        self.flying: dict[str, deque[Sample]] = {}
        self.left_out: dict[str, str] = {}
        """Metric to type name, of what cannot be a number."""
        self.wanted = True
        """False in a process that only beats: nothing is copied there."""
        self._next: dict[str, float] = {}
        self._kinds: dict[type, Kind] = {int: Kind.PLAIN, bool: Kind.PLAIN, float: Kind.PLAIN}

    def sort_out(self, metrics: dict[str, Any], step: int, now: float, *, log: bool = False) -> None:
        """Leaves in ``metrics`` plain numbers only (in a log: samples too, for each of these is sent)."""
        kinds = self._kinds
        for name, value in list(metrics.items()):
            cls = type(value)
            kind = kinds.get(cls) or self._learn(cls)
            if kind is Kind.PLAIN:
                continue
            if not self.wanted:
                del metrics[name]
                continue
            try:
                if kind is Kind.TENSOR:
                    number = self._tensor(name, value, step, now, log=log)
                elif kind is Kind.ARRAY:
                    number = value.item() if value.size == 1 else None
                elif kind is Kind.HELD and getattr(value, "size", 1) in (0, 1):
                    number = Sample(step, now, value)
                else:
                    number = None
            except Exception:  # noqa: BLE001 - a tensor that cannot be read must not end the training
                number = None
            if number is None:
                self.left_out.setdefault(name, cls.__name__)
                del metrics[name]
            elif log or not isinstance(number, Sample):
                metrics[name] = number
            else:
                del metrics[name]
                self._fly(name, number, 1 if number.event is None and kind is Kind.HELD else _FLIGHTS)

    def take(self, name: str) -> Sample | None:
        """The newest sample of a metric that can be read without waiting; older ones are dropped, newer ones stay."""
        flying = self.flying.get(name)
        newest: Sample | None = None
        while flying:
            if not flying[0].ready():
                break
            newest = flying.popleft()
        return newest

    def _fly(self, name: str, sample: Sample, most: int) -> None:
        flying = self.flying.get(name)
        if flying is None:
            flying = self.flying[name] = deque(maxlen=most)
        if sample is not _SKIPPED:
            flying.append(sample)

    def _tensor(self, name: str, tensor: Any, step: int, now: float, *, log: bool) -> Any:
        if type(tensor).__name__ == "DTensor":  # reading one that is not whole everywhere would be a collective call
            if not all(placement.is_replicate() for placement in tensor.placements):
                return None
            tensor = tensor.to_local()
        if tensor.numel() != 1:
            return None
        if tensor.is_cpu:
            number = tensor.item()
            return None if isinstance(number, complex) else number
        if not log and now < self._next.get(name, -math.inf):
            return _SKIPPED
        if not tensor.is_cuda:
            # A lazy tensor (xla) would be computed on the wrong thread; a meta tensor has no value.
            return None if tensor.device.type in {"xla", "lazy", "meta"} else Sample(step, now, tensor.detach().clone())
        cuda = sys.modules["torch"].cuda
        if cuda.is_current_stream_capturing():
            return _SKIPPED
        self._next[name] = now + _SAMPLE_EVERY
        copy = tensor.detach().clone()
        event = cuda.Event()
        event.record(cuda.current_stream(tensor.device))
        return Sample(step, now, copy, event)

    def _learn(self, cls: type) -> Kind:
        kind = self._kinds[cls] = kind_of(cls)
        return kind


_SKIPPED: Final = Sample(-1, 0.0, None)
"""Stands for a device value of which no copy was taken this time."""


def kind_of(cls: type) -> Kind:
    """How values of this type are treated; decided once per type, by the class's own names."""
    if issubclass(cls, (str, bytes)):
        return Kind.OUT
    if issubclass(cls, (int, float, Decimal, Fraction)):
        return Kind.PLAIN
    names = {f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__}
    if "numpy.generic" in names:
        return Kind.PLAIN if {"numpy.number", "numpy.bool", "numpy.bool_"} & names else Kind.OUT
    if "numpy.ndarray" in names:
        return Kind.ARRAY
    if "torch.Tensor" in names:
        return Kind.TENSOR
    return Kind.HELD if hasattr(cls, "__float__") and "jax.core.Tracer" not in names else Kind.OUT


def number_of(value: Any) -> float | None:
    """The float that a plain value stands for; None where it stands for none (a complex number, an int beyond all floats)."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
