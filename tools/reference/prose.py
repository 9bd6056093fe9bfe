"""Docstrings as Markdown, and the docstrings under fields, which Python itself does not keep."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

_ROLE = re.compile(r":(?:class|func|meth|attr|mod|data):`[~!]?([^`]+)`")
_SECTION = re.compile(r"(Args|Returns|Raises|Yields):$")
_TITLES = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises", "Yields": "Yields"}
_ITEM = re.compile(r"(\*{0,2}[\w.]+(?:, [\w.]+)*): (.*)")


class Field(NamedTuple):
    """One field of a class, as its source says."""

    name: str
    type: str
    default: str | None
    doc: str


def inline(text: str) -> str:
    """Running text: roles and double backquotes become code."""
    text = _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def cell(text: str) -> str:
    """Running text for a table."""
    return " ".join(inline(text).split()).replace("|", "\\|")


def code(text: str) -> str:
    """Code for a table."""
    return f"`{text}`".replace("|", "\\|")


def markdown(doc: str | None) -> list[str]:
    """A docstring's lines as Markdown: sections as lists, indented examples as code."""
    lines = inspect.cleandoc(doc or "").splitlines()
    return list(_blocks(lines))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if found := _SECTION.match(line):
            end = next((i for i in range(at + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")), len(lines))
            yield f"**{_TITLES[found[1]]}**"
            yield ""
            yield from _items(textwrap.dedent("\n".join(lines[at + 1 : end])).strip().splitlines())
            yield ""
            at = end
        elif line.startswith("    "):
            end = next((i for i in range(at, len(lines)) if lines[i] and not lines[i].startswith("    ")), len(lines))
            block = textwrap.dedent("\n".join(lines[at:end])).strip()
            yield from ("```python", *block.splitlines(), "```", "")
            at = end
        else:
            if line != "::":
                yield inline(line)
            at += 1


def _items(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if found := _ITEM.match(line):
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            yield f"- {names}: {inline(found[2])}"
        elif line.startswith(" "):
            yield f"  {inline(line.strip())}"
        else:
            yield inline(line)


def fields_of(module: ModuleType, name: str) -> list[Field]:
    """The annotated fields of a class that its callers may give or read, in order."""
    tree = ast.parse(inspect.getsource(module))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        kind = ast.unparse(node.annotation)
        if kind.startswith("ClassVar"):
            continue
        doc = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            doc = inspect.cleandoc(after.value.value)
        found.append(Field(node.target.id, kind, _default(node.value, module), doc))
    return found


def _default(node: ast.expr | None, module: ModuleType) -> str | None:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
        given = {word.arg: word.value for word in node.keywords}
        factory = given.get("default_factory")
        if isinstance(factory, ast.Lambda):
            return ast.unparse(factory.body)
        return _default(given.get("default"), module) if factory is None else f"{ast.unparse(factory)}()"
    if isinstance(node, ast.Name) and not callable(value := getattr(module, node.id)):  # a constant of its module
        return repr(value)
    return None if node is None else ast.unparse(node)
