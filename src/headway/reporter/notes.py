"""Values of the step in progress, said by somebody who does not count it: the loss of each micro-batch, a gradient norm.

They go with the next step of whichever layer is heard, each as the mean of what was said of it: the loss of a step that
accumulates gradients is the mean of its micro-batches'. Used on the training thread only; nothing here waits for a device or
talks to another process: a value on a device stays there, and one that lies on several is never added to another.
"""

from __future__ import annotations

from typing import Any

from headway.reporter.scalars import Kind, kind_of


class Notes(dict[str, tuple[Any, int]]):
    """Name to (sum, how many)."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[type, Kind] = {}

    def add(self, metrics: dict[str, Any]) -> None:
        """Takes in values; what is no single number is left to the step that they go with."""
        for name, value in metrics.items():
            cls = value.__class__
            kind = self._kinds.get(cls) or self._kinds.setdefault(cls, kind_of(cls))
            if kind is Kind.TENSOR:
                value = value.detach()  # noqa: PLW2901 - its graph must not live on
                if value.is_cpu and value.numel() == 1:
                    value = value.item()  # noqa: PLW2901 - it may be changed in place
            elif kind is not Kind.PLAIN:
                self[name] = (value, 1)
                continue
            if name in self:
                total, count = self[name]
                self[name] = (total + value, count + 1)
            else:
                self[name] = (value, 1)

    def take(self) -> dict[str, Any]:
        """The means, and begins anew."""
        means = {name: total if count == 1 else total / count for name, (total, count) in self.items()}
        self.clear()
        return means
