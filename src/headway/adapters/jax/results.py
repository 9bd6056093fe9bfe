"""What a training step takes and returns, looked through: which scalars there are, and at what step its state stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway.adapters.base import harmless


def scalars(result: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Name and place of the scalars in what a step returns: of mappings, and of what lies in a tuple."""
    if isinstance(result, Mapping):
        for name, value in result.items():
            if isinstance(name, str) and _is_scalar(value):
                yield name, (*path, name)
    elif type(result) in (tuple, list):
        for index, value in enumerate(result):
            yield from scalars(value, (*path, index))
    elif _is_scalar(result):
        yield "loss", path


def part(whole: Any, key: Any) -> Any:
    """One step on the way to a scalar's place."""
    return whole[key]


def _is_scalar(value: Any) -> bool:
    kind = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
    return getattr(value, "shape", ()) == () and kind.startswith(("float", "bfloat"))


@harmless
def _look_for_step(arguments: tuple[Any, ...]) -> int | None:
    for state in arguments:
        step: Any = state.get("step") if isinstance(state, Mapping) else getattr(state, "step", None)
        step = step.get_value() if hasattr(step, "get_value") else step  # a variable of nnx
        if step is not None and not callable(step) and getattr(step, "is_ready", _at_once)():
            return int(step)
    return None


def _at_once() -> bool:
    return True


def steps_of(arguments: tuple[Any, ...]) -> int:
    """Steps complete by the first state among the arguments of a step; 0 where none tells."""
    return _look_for_step(arguments) or 0
