"""Values of the step in progress, said by somebody who does not count it: the loss of each micro-batch, a gradient norm.

They go with the next step of whichever layer is heard, each as the mean of what was said of it: the loss of a step that
accumulates gradients is the mean of its micro-batches'. Used on the training thread only; nothing here waits for a device or
talks to another process: a value on a device stays there, and one that lies on several is never added to another.
"""

from __future__ import annotations

from typing import Any

from headway.reporter.scalars import Kind, Samples


class Notes(dict[str, Any]):
    """Name to value, or to the sum of several.

    Args:
        samples: knows how values are treated.
    """

    __slots__ = ("_counts", "_samples")

    def __init__(self, samples: Samples) -> None:
        super().__init__()
        self._samples = samples
        self._counts: dict[str, int] = {}
        """How many values there are, of names with more than one."""

    def add(self, name: str, value: Any) -> None:
        """Takes a value in; what is no single number is left to the step that it goes with."""
        kind = self._samples.kind(value.__class__)
        if kind is Kind.TENSOR:
            value = value.detach()  # its graph must not live on
            if value.is_cpu and value.numel() == 1:
                value = value.item()  # it may be changed in place
        if name in self and kind in (Kind.TENSOR, Kind.PLAIN):
            self._counts[name] = self._counts.get(name, 1) + 1
            self[name] = self[name] + value
        else:
            self.drop(name)
            self[name] = value

    def drop(self, name: str) -> None:
        """Forgets what was said under a name."""
        self.pop(name, None)
        self._counts.pop(name, None)

    def take(self, metrics: dict[str, Any]) -> dict[str, Any]:
        """The means, and what the step itself says; begins anew."""
        for name, count in self._counts.items():
            self[name] = self[name] / count  # not in place: a tensor of integers has no room for a mean
        taken = {**self, **metrics}
        self.forget()
        return taken

    def forget(self) -> None:
        """Begins anew."""
        self.clear()
        self._counts.clear()
