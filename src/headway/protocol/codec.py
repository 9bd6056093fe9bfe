"""Turns the protocol's dataclasses into JSON values and back, by their own type hints.

Field names travel in camelCase; a field that is None is left out (but see :func:`encode`); numbers that JSON has no word
for travel as ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``. Unknown fields are ignored, so that either end may be newer.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar

from headway.errors import InvalidError

T = TypeVar("T")

NON_FINITE: Final[dict[str, float]] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The spellings that stand for numbers which JSON has no word for."""


LARGEST_WHOLE: Final = 2**53
"""The largest whole number that travels: every peer's doubles hold it exactly."""


def camel(name: str) -> str:
    """``total_steps`` as ``totalSteps``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def encode_number(value: float) -> float | str:
    """The number itself, or its spelling when it is not finite."""
    if math.isfinite(value):
        return value
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")  # noqa: PLR0124


def decode_number(value: object, path: str) -> float:
    """A number, or one of the three spellings of :data:`NON_FINITE`.

    Raises:
        InvalidError: it is neither; booleans are not numbers.
    """
    kind = type(value)
    if kind is float or kind is int:
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:
            raise InvalidError("the number is too large for a double", field=path) from None
    if kind is str and value in NON_FINITE:
        return NON_FINITE[value]
    raise InvalidError(f"expected a number, got {describe(value)}", field=path)


def describe(value: object) -> str:
    """The JSON word for the type of a value, for error messages."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if value is None:
        return "null"
    return f"the string {value[:40]!r}" if isinstance(value, str) else f"the number {value!r}"


def dumps(value: object) -> bytes:
    """Strict, compact JSON of a JSON value."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def loads(text: str | bytes) -> Any:
    """Strict JSON: the bare words NaN and Infinity are refused.

    Raises:
        InvalidError: it is not JSON; says where.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"not valid JSON: {error}") from error


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON; write it as the string {word!r}")


@cache
def _fields(cls: type) -> tuple[tuple[str, str, Any, bool], ...]:
    hints = typing.get_type_hints(cls)
    return tuple(
        (
            field.name,
            camel(field.name),
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(cls)
    )


def encode(value: object) -> Any:
    """A JSON value of a dataclass (or of anything made of them). None fields and empty containers are left out.

    Of a class that says ``ALWAYS_COMPLETE`` (a :class:`~headway.protocol.job.Job`) every field is written.
    """
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    return (_ENCODERS.get(kind) or _encoder(kind))(value)


_AS_IT_IS: Final = frozenset({types.NoneType, bool, int, str})
_MAY_BE_EMPTY: Final = frozenset({types.NoneType, tuple, dict})
_ENCODERS: Final[dict[type, Callable[[Any], Any]]] = {}
"""How the types met so far are encoded: a list of jobs has the same few types a thousand times."""


def _encoder(kind: type) -> Callable[[Any], Any]:
    encoder = _make_encoder(kind)
    _ENCODERS[kind] = encoder
    return encoder


def _make_encoder(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, (bool, int, str)):
        return lambda value: value
    if issubclass(kind, float):
        return encode_number
    if dataclasses.is_dataclass(kind):
        return _dataclass_encoder(kind)
    if issubclass(kind, (tuple, list)):
        return lambda value: [encode(item) for item in value]
    if issubclass(kind, (set, frozenset)):
        return lambda value: sorted(encode(item) for item in value)
    if issubclass(kind, dict):
        return lambda value: {str(key): encode(item) for key, item in value.items()}
    raise TypeError(f"{kind.__name__} cannot cross the wire")


def _dataclass_encoder(cls: type) -> Callable[[Any], dict[str, Any]]:
    full = getattr(cls, "ALWAYS_COMPLETE", False)
    plan = tuple((name, wire_name, full or required) for name, wire_name, _, required in _fields(cls))

    def encoded(value: Any) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, wire_name, always in plan:
            item = getattr(value, name)
            kind = type(item)
            if always or kind not in _MAY_BE_EMPTY or item:
                result[wire_name] = item if kind in _AS_IT_IS else (_ENCODERS.get(kind) or _encoder(kind))(item)
        return result

    return encoded


def decode(cls: type[T], value: object, path: str = "") -> T:
    """A dataclass of the protocol from a JSON value.

    Raises:
        InvalidError: a field is missing or has the wrong type; names it.
    """
    return typing.cast("T", _decode(cls, value, path))


def _decode(hint: Any, value: Any, path: str) -> Any:
    if hint is Any or hint is object:
        return value
    if hint is float:
        return decode_number(value, path)
    if hint is int:
        return decode_integer(value, path)
    if hint in (str, bool):
        if type(value) is not hint:
            raise InvalidError(
                f"expected {'a string' if hint is str else 'a boolean'}, got {describe(value)}", field=path
            )
        return value
    origin = typing.get_origin(hint)
    if origin is types.UnionType or origin is typing.Union:
        return _decode_union(typing.get_args(hint), value, path)
    if origin in (tuple, list, set, frozenset):
        if not isinstance(value, list):
            raise InvalidError(f"expected an array, got {describe(value)}", field=path)
        (item, *_) = typing.get_args(hint)
        return origin(_decode(item, each, f"{path}[{index}]") for index, each in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise InvalidError(f"expected an object, got {describe(value)}", field=path)
        item = typing.get_args(hint)[1]
        return {key: _decode(item, each, f"{path}.{key}") for key, each in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        try:
            return hint(value)
        except ValueError:
            words = ", ".join(str(member.value) for member in hint)
            raise InvalidError(f"expected one of {words}; got {describe(value)}", field=path) from None
    if dataclasses.is_dataclass(hint):
        return _decode_object(typing.cast("type", hint), value, path)
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _decode_named_tuple(hint, value, path)
    raise TypeError(f"{path}: the codec does not know {hint!r}")


def decode_integer(value: object, path: str) -> int:
    """A whole number that a double holds exactly, so at most 2**53 (RFC 7493); 3.0 is one.

    Raises:
        InvalidError: it is not.
    """
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int:
        raise InvalidError(f"expected a whole number, got {describe(value)}", field=path)
    if not -LARGEST_WHOLE <= value <= LARGEST_WHOLE:
        raise InvalidError(
            f"the number {str(value)[:20]} is beyond 2**53, the largest whole number of JSON", field=path
        )
    return value


def _decode_union(options: tuple[Any, ...], value: Any, path: str) -> Any:
    if value is None and types.NoneType in options:
        return None
    candidates = [option for option in options if option is not types.NoneType]
    if len(candidates) > 1 and type(value) in candidates:
        return value
    problem: InvalidError | None = None
    for option in candidates:
        try:
            return _decode(option, value, path)
        except InvalidError as error:
            problem = problem or error
    raise problem or InvalidError("null is not allowed here", field=path)


def _decode_object(cls: type, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise InvalidError(f"expected an object, got {describe(value)}", field=path or "body")
    given: dict[str, Any] = {}
    for name, wire_name, hint, required in _fields(cls):
        where = f"{path}.{wire_name}" if path else wire_name
        item = value.get(wire_name)
        if item is not None:
            given[name] = _decode(hint, item, where)
        elif required:
            if wire_name in value and types.NoneType in typing.get_args(hint):
                given[name] = None
            else:
                raise InvalidError("the field is missing", field=where)
    return cls(**given)


def _decode_named_tuple(cls: type, value: Any, path: str) -> Any:
    hints = list(typing.get_type_hints(cls).values())
    if not isinstance(value, list) or len(value) != len(hints):
        raise InvalidError(f"expected an array of {len(hints)}, got {describe(value)}", field=path)
    return cls(*(_decode(hint, item, f"{path}[{i}]") for i, (hint, item) in enumerate(zip(hints, value, strict=True))))
