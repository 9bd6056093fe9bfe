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
_FLIGHTS: Final = 16
"""Copies of one metric kept at a time."""


class Kind(Enum):
    """How values of a type are treated."""

    PLAIN = auto()
    TENSOR = auto()
    """``torch.Tensor`` and its subclasses."""
    DTENSOR = auto()
    """A tensor over several devices: reading one that is not whole on each would be a collective call."""
    ARRAY = auto()
    """``numpy.ndarray``: changed in place, on the CPU."""
    HELD = auto()
    """Cannot change or cannot be copied: kept as it is, asked for its number later."""
    OUT = auto()


_PLAIN, _TENSOR, _ARRAY, _HELD = Kind.PLAIN, Kind.TENSOR, Kind.ARRAY, Kind.HELD


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
            item = getattr(self.value, "item", None)  # jax has no float of an array of one element, but this
            return float(item() if callable(item) else self.value)
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

    __slots__ = ("_kinds", "_next", "flying", "left_out", "tensor", "wanted")

    def __init__(self) -> None:
        self.flying: dict[str, deque[Sample]] = {}
        self.left_out: dict[str, str] = {}
        """Metric to type name, of what cannot be a number."""
        self.wanted = True
        """False in a process that only beats: nothing is copied there."""
        self.tensor: Any = _NoTensor
        """``torch.Tensor``, once one was seen where values are wanted: callers read those on the CPU that have no dimension by
        ``item()`` themselves, for next to a call of Python's the reading costs nothing."""
        self._next: dict[str, float] = {}
        self._kinds: dict[type, Kind] = {int: Kind.PLAIN, bool: Kind.PLAIN, float: Kind.PLAIN}

    def want(self, wanted: bool) -> None:
        """Says whether values are wanted from now on."""
        self.wanted = wanted
        if not wanted:
            self.tensor = _NoTensor

    def kind(self, cls: type) -> Kind:
        """How values of a type are treated."""
        kind = self._kinds.get(cls) or self._learn(cls)
        if kind is _TENSOR and self.wanted and cls.__name__ == "Tensor":  # and no subclass, which may read otherwise
            self.tensor = cls
        return kind

    def sort_out(self, metrics: dict[str, Any], step: int, now: float, *, log: bool = False) -> None:
        """Leaves in ``metrics`` plain numbers only (in a log: samples too, for each of these is sent)."""
        kinds = self._kinds
        dropped = None
        for name, value in metrics.items():
            cls = value.__class__
            if kinds.get(cls) is _PLAIN or (kind := self.kind(cls)) is _PLAIN:
                continue
            number: Any = None
            if self.wanted:
                try:
                    number = self._number(kind, name, value, step, now, log=log)
                except Exception:  # noqa: BLE001 - a tensor that cannot be read must not end the training
                    number = None
                if number is None:
                    self.left_out.setdefault(name, cls.__name__)
                elif number is not _SKIPPED:
                    if log or number.__class__ is not Sample:
                        metrics[name] = number
                        continue
                    self._fly(name, number)
            dropped = [name] if dropped is None else [*dropped, name]
        for name in dropped or ():
            del metrics[name]

    def take(self, name: str) -> Sample | None:
        """The newest sample of a metric that can be read without waiting; older ones are dropped, newer ones stay."""
        flying = self.flying.get(name)
        newest: Sample | None = None
        while flying:
            if not flying[0].ready():
                break
            newest = flying.popleft()
        return newest

    def _fly(self, name: str, sample: Sample) -> None:
        flying = self.flying.get(name)
        if flying is None:
            most = _FLIGHTS if sample.event is not None or hasattr(sample.value, "is_ready") else 1
            flying = self.flying[name] = deque(maxlen=most)
        flying.append(sample)

    def _due(self, name: str, now: float, *, log: bool) -> bool:
        """Whether a device value is to be looked at again: each one of a log, else a few in a second."""
        if not log and now < self._next.get(name, -math.inf):
            return False
        self._next[name] = now + _SAMPLE_EVERY
        return True

    def _number(self, kind: Kind, name: str, value: Any, step: int, now: float, *, log: bool) -> Any:
        """A number, a sample, or None for what is neither."""
        if kind is _TENSOR:
            if value.numel() != 1:
                return None
            if not value.is_cpu:
                return self._device_tensor(name, value, step, now, log=log)
            number = value.item()
            return None if number.__class__ is complex else number
        if kind is _ARRAY:
            return value.item() if value.size == 1 else None
        if kind is _HELD:
            size = getattr(value, "size", 1)
            if not callable(size) and size != 1:
                return None
            if hasattr(value, "is_ready") and not self._due(name, now, log=log):  # computed on a device, as jax does
                return _SKIPPED
            return Sample(step, now, value)
        if kind is Kind.DTENSOR and all(placement.is_replicate() for placement in value.placements):
            return self._number(_TENSOR, name, value.to_local(), step, now, log=log)
        return None

    def _device_tensor(self, name: str, tensor: Any, step: int, now: float, *, log: bool) -> Sample | None:
        if not tensor.is_cuda and tensor.device.type in {"xla", "lazy", "meta"}:
            return None  # a lazy tensor would be computed on the wrong thread; a meta tensor has no value
        cuda = sys.modules["torch"].cuda
        if tensor.is_cuda and cuda.is_current_stream_capturing():
            return _SKIPPED
        if not self._due(name, now, log=log):
            return _SKIPPED
        if not tensor.is_cuda:
            return Sample(step, now, tensor.detach().clone())
        copy = tensor.detach().clone()
        event = cuda.Event()
        event.record(cuda.current_stream(tensor.device))
        return Sample(step, now, copy, event)

    def _learn(self, cls: type) -> Kind:
        kind = self._kinds[cls] = kind_of(cls)
        return kind


class _NoTensor:
    """Stands for ``torch.Tensor`` while none was seen."""


_SKIPPED: Final = Sample(-1, 0.0, None)
"""Stands for a device value of which no copy was taken this time."""


def kind_of(cls: type) -> Kind:
    """How values of this type are treated; decided once per type, by the class's own names."""
    if issubclass(cls, (int, float, Decimal, Fraction)):
        return Kind.PLAIN
    names = {f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__}
    if "numpy.generic" in names:
        return Kind.PLAIN if {"numpy.number", "numpy.bool", "numpy.bool_"} & names else Kind.OUT
    if "numpy.ndarray" in names:
        return Kind.ARRAY
    if "torch.Tensor" in names:
        return Kind.DTENSOR if cls.__name__ == "DTensor" else Kind.TENSOR
    return (
        Kind.OUT if any(name.endswith("core.Tracer") for name in names) or not hasattr(cls, "__float__") else Kind.HELD
    )


def number_of(value: Any) -> float | None:
    """The float that a plain value stands for; None where it stands for none (a complex number, an int beyond all floats)."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
