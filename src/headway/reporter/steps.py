"""``headway.steps()``: tracks a loop over a loader with one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from headway.reporter.start import track

T = TypeVar("T")


def steps(loader: Iterable[T], *, epochs: int = 1, start_epoch: int = 0, **options: Any) -> Iterator[T]:
    """The items of a loader, ``epochs`` times over; each time the body is done, a step is complete.

    A body that calls ``run.step(loss=…)`` itself (``run = headway.current_run()``) has said so, and is not counted twice.

    Args:
        loader: anything that can be iterated ``epochs`` times. With a length, the total is known; without, it is not.
        epochs: how many times, from the very beginning of the training.
        start_epoch: epochs already complete, when resuming.
        **options: as for :func:`headway.track`.
    """
    length = _length(loader)
    if length is not None:
        options.setdefault("total_steps", length * epochs)
        options.setdefault("start_step", length * start_epoch)
    options.setdefault("total_epochs", epochs)
    run = track(**options)
    for epoch in range(start_epoch, epochs):
        run.set_epoch(epoch)
        for index, item in enumerate(loader, start=1):
            before = run.last_step
            yield item
            if run.last_step == before:
                run.step()
            if length:
                run.set_epoch(epoch + min(1.0, index / length))
        run.set_epoch(epoch + 1)


def _length(loader: Any) -> int | None:
    try:
        length = len(loader)
    except Exception:  # noqa: BLE001 - a loader over a stream raises what it likes
        return None
    return length if length > 0 else None
