"""JSON Schema (draft 2020-12) of the protocol's dataclasses, by their type hints, as :mod:`headway.protocol.codec` writes."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
import typing
from collections.abc import Sequence
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any

from headway.protocol.codec import camel

Schema = dict[str, Any]

NUMBER: Schema = {
    "description": "A number; those that JSON has no word for travel as strings.",
    "anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}],
}


class Components:
    """Schemas by name, collected while types are looked at; ``prefix`` is where they will lie in the document."""

    def __init__(self, prefix: str = "#/components/schemas/") -> None:
        self.prefix = prefix
        self.schemas: dict[str, Schema] = {}

    def of(self, hint: Any) -> Schema:
        """The schema of a type; dataclasses, named tuples and enums become references to a component."""
        if hint is Any or hint is object:
            return {}
        if hint is float:
            return self._component("Number", lambda: NUMBER)
        if hint in (int, str, bool, types.NoneType):
            return {"type": {int: "integer", str: "string", bool: "boolean", types.NoneType: "null"}[hint]}
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is types.UnionType or origin is typing.Union:
            return {"anyOf": [self.of(option) for option in arguments]}
        if origin in (tuple, list, set, frozenset, Sequence):
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self._component(hint.__name__, lambda: _of_enum(hint))
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self._component(hint.__name__, lambda: self._of_dataclass(hint))
        if isinstance(hint, type) and issubclass(hint, tuple):
            return self._component(hint.__name__, lambda: self._of_named_tuple(hint))
        raise TypeError(f"no schema for {hint!r}")

    def add(self, name: str, schema: Schema) -> Schema:
        """Adds a component written by hand, and returns a reference to it."""
        return self._component(name, lambda: schema)

    def _component(self, name: str, make: typing.Callable[[], Schema]) -> Schema:
        if name not in self.schemas:
            self.schemas[name] = {}
            self.schemas[name] = make()
        return {"$ref": self.prefix + name}

    def _of_dataclass(self, cls: type) -> Schema:
        hints = typing.get_type_hints(cls)
        described = field_docs(cls)
        complete = getattr(cls, "ALWAYS_COMPLETE", False)
        properties: dict[str, Schema] = {}
        required: list[str] = []
        for field in dataclasses.fields(cls):
            hint = hints[field.name]
            needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            schema = self.of(hint if complete or needed else without_none(hint))
            if field.name in described:
                schema = {**schema, "description": described[field.name]}
            properties[camel(field.name)] = schema
            if complete or needed:
                required.append(camel(field.name))
        result: Schema = {"type": "object", "description": first_paragraph(cls), "properties": properties}
        return result | ({"required": required} if required else {})

    def _of_named_tuple(self, cls: type) -> Schema:
        hints = typing.get_type_hints(cls)
        return {
            "type": "array",
            "description": f"{first_paragraph(cls)} In order: {', '.join(camel(name) for name in hints)}.",
            "prefixItems": [self.of(hint) for hint in hints.values()],
            "minItems": len(hints),
            "maxItems": len(hints),
        }


def _of_enum(cls: type[Enum]) -> Schema:
    return {"type": "string", "description": first_paragraph(cls), "enum": [member.value for member in cls]}


def without_none(hint: Any) -> Any:
    """A type without None: a field that is None is left out, not null."""
    options = [option for option in typing.get_args(hint) if option is not types.NoneType]
    if typing.get_origin(hint) is types.UnionType and len(options) < len(typing.get_args(hint)):
        return typing.Union[tuple(options)]  # noqa: UP007 - built at run time
    return hint


def first_paragraph(cls: type) -> str:
    """The first paragraph of a class's docstring, on one line."""
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


@cache
def field_docs(cls: type) -> dict[str, str]:
    """The strings that stand under the fields of a dataclass, by field."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    docs: dict[str, str] = {}
    statements = typing.cast("ast.ClassDef", body).body
    for statement, after in pairwise(statements):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            docs[statement.target.id] = " ".join(after.value.value.split())
    return docs
