"""Query parameters and names in paths: declared once, read by the routes and shown by the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

from headway.errors import InvalidError
from headway.protocol.codec import decode_integer, decode_number
from headway.protocol.job import JobKey

_MAX_PARTS: Final = 200
_MAX_NAME: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One query parameter. ``many`` ones may be given again and again, and match any of their values."""

    name: str
    kind: type = str
    """str, int, float or bool."""
    many: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: Sequence[str] = ()
    says: str = ""


def read_params(declared: Sequence[Param], query: bytes) -> dict[str, Any]:
    """The declared parameters of a query string, those missing by their defaults. Unknown ones are ignored.

    Raises:
        InvalidError: a value cannot be read, or is outside its limits; names the parameter.
    """
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARTS)
    except ValueError as error:
        raise InvalidError(f"not a query string of UTF-8 text: {error}", field="query") from None
    by_name = {param.name: param for param in declared}
    values: dict[str, Any] = {param.name: [] if param.many else param.default for param in declared}
    for name, text in pairs:
        if (param := by_name.get(name)) is None:
            continue
        if param.many:
            values[name].append(_read(param, text))
        else:
            values[name] = _read(param, text)
    return values


def _read(param: Param, text: str) -> Any:
    if param.kind is str:
        if param.choices and text not in param.choices:
            raise InvalidError(f"expected one of {', '.join(param.choices)}; got {text[:40]!r}", field=param.name)
        return text
    if param.kind is bool:
        if text.lower() in ("true", "1", ""):
            return True
        if text.lower() in ("false", "0"):
            return False
        raise InvalidError(f"expected true or false, got {text[:40]!r}", field=param.name)
    try:
        number = (
            decode_integer(int(text[:20]), param.name) if param.kind is int else decode_number(float(text), param.name)
        )
    except ValueError:
        word = "a whole number" if param.kind is int else "a number"
        raise InvalidError(f"expected {word}, got {text[:40]!r}", field=param.name) from None
    if (param.least is not None and number < param.least) or (param.most is not None and number > param.most):
        raise InvalidError(f"expected {param.least} to {param.most}, got {text[:40]}", field=param.name)
    return number


def read_key(namespace: str, name: str) -> JobKey:
    """A job's key from the two parts of a path, still percent-encoded as they were sent.

    Raises:
        InvalidError: they are not percent-encoded UTF-8, hold NUL, or are too long.
    """
    return JobKey(_read_name(namespace, "namespace"), _read_name(name, "name"))


def read_job(text: str) -> JobKey:
    """A job's key from a query parameter: ``namespace/name``, each percent-encoded.

    Raises:
        InvalidError: as :func:`read_key`, or there is no slash.
    """
    namespace, slash, name = text.partition("/")
    if not slash:
        raise InvalidError(f"expected `namespace/name`, got {text[:40]!r}", field="job")
    return read_key(namespace, name)


def _read_name(text: str, field: str) -> str:
    try:
        name = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidError("expected percent-encoded UTF-8", field=field) from None
    if not name or "\0" in name or len(name) > _MAX_NAME:
        raise InvalidError(f"expected 1 to {_MAX_NAME} characters, none of them NUL", field=field)
    return name
