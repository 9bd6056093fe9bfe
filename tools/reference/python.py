"""docs/reference/python.md: the public API, its signatures and docstrings, and the documents that it hands out."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import headway
import headway.client.kubeflow
import headway.errors
import headway.protocol.action
import headway.protocol.events
import headway.protocol.history
import headway.protocol.job
import headway.protocol.report
import headway.protocol.verdict
from headway.reporter.slots import Lane
from reference.prose import cell, code, fields_of, markdown

_INTRODUCTION = """<!-- Written by tools/generate_docs.py from the code's signatures and docstrings; change those. -->

# Python API

`import headway` costs a training process next to nothing and brings no other package along. `Client`, `AsyncClient` and
what is below `headway.client` need the `client` extra.

"""
_PROTOCOL = (
    (headway.protocol.job, ("Job", "JobProgress", "Eta", "Attempt", "RankInfo", "Ledger", "Cost", "Spec")),
    (headway.protocol.job, ("JobQuery", "JobPage", "Changes")),
    (headway.protocol.verdict, ("Condition",)),
    (headway.protocol.action, ("Action",)),
    (headway.protocol.report, ("Ending", "Checkpoint", "Point", "Cell")),
    (headway.protocol.history, ("Series", "SeriesQuery", "Aggregate")),
)
_FOR_ADAPTERS = frozenset({"heard", "mute", "muted", "noted", "take_back", "loop_ended"})
"""What only layers between a script and the reporter need of a run."""
_LISTS = (
    (headway.protocol.job, "State"),
    (headway.protocol.verdict, "Verdict"),
    (headway.protocol.report, "EndingKind"),
    (headway.protocol.report, "Phase"),
    (headway.protocol.report, "Unit"),
)


def python_page() -> str:
    """The page on the public API."""
    lines = [line for part in (_in_training, _client, _kubeflow, _errors, _documents) for line in part()]
    return _INTRODUCTION + "\n".join(lines).rstrip() + "\n"


def _in_training() -> Iterator[str]:
    yield from ("## In training code", "")
    for name in ("track", "steps", "current_run"):
        yield from _callable(f"headway.{name}", getattr(headway, name), "###")
    yield from _class("headway.Run", headway.Run)


def _client() -> Iterator[str]:
    yield from ("## In other programs", "")
    yield from _class("headway.Client", headway.Client)
    yield from _class("headway.AsyncClient", headway.AsyncClient)
    yield from ("### headway.until", "", *markdown(headway.until.__doc__), "")
    for name, value in vars(headway.until).items():
        if isinstance(value, FunctionType) and not name.startswith("_") and value.__module__ == headway.until.__name__:
            yield from _callable(f"until.{name}", value, "####")
    yield from _class("until.metric(…)", headway.until.MetricValue, "####")


def _kubeflow() -> Iterator[str]:
    module = headway.client.kubeflow
    yield from ("### headway.client.kubeflow", "", *markdown(module.__doc__), "")
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and not name.startswith("_") and value.__module__ == module.__name__:
            yield from _callable(f"kubeflow.{name}", value, "####")


def _errors() -> Iterator[str]:
    module = headway.errors
    yield from ("## Errors", "", "| error | is a | |", "|---|---|---|")
    for name, value in vars(module).items():
        if inspect.isclass(value) and issubclass(value, Exception):
            parents = ", ".join(code(parent.__name__) for parent in value.__bases__)
            yield f"| `{name}` | {parents} | {cell((value.__doc__ or '').partition(chr(10))[0])} |"
    yield from ("", "All but the first two live in `headway.errors`.", "")


def _documents() -> Iterator[str]:
    yield from (
        "## Documents",
        "",
        "What methods return, and what JSON of the API and of `--json` holds in camelCase.",
        "",
    )
    for module, names in _PROTOCOL:
        for name in names:
            if not hasattr(module, name):
                continue
            doc = inspect.cleandoc(getattr(module, name).__doc__ or "")
            yield from (f"### {module.__name__}.{name}", "", *markdown(doc), "", "| field | type | |", "|---|---|---|")
            for each in fields_of(module, name):
                yield f"| `{each.name}` | {code(each.type)} | {cell(each.doc)} |"
            yield ""
    for module, name in _LISTS:
        kind: Any = getattr(module, name)
        yield from (f"### {module.__name__}.{name}", "", *markdown(kind.__doc__), "")
        yield from (" · ".join(f"`{each.value}`" for each in kind), "")


def _class(title: str, kind: type, level: str = "###") -> Iterator[str]:
    init = kind.__dict__.get("__init__")
    yield from (f"{level} {title}", "", *markdown(kind.__doc__), "")
    if title.startswith("headway.") and "Args:" in (kind.__doc__ or "") and init is not None:
        yield from ("```python", _signature(title, init), "```", "")
    for name, value in _members(kind).items():
        if isinstance(value, property):
            yield from (f"{level}# .{name}", "", *markdown(value.__doc__), "")
        elif isinstance(value, FunctionType):
            yield from _callable(f".{name}", value, f"{level}#")


def _members(kind: type) -> dict[str, Any]:
    """What a class and its bases in the package offer; of each name the class's own, in the order of the bases."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("headway.") and base is not Lane:
            for name, value in vars(base).items():
                if not name.startswith("_") and not (issubclass(kind, Lane) and name in _FOR_ADAPTERS):
                    found.setdefault(name, value)
    return {**found, **({"last_step": Lane.last_step} if issubclass(kind, Lane) else {})}


def _callable(title: str, value: Any, level: str) -> Iterator[str]:
    yield from (f"{level} {title}", "", "```python", _signature(title.lstrip("."), value), "```", "")
    yield from (*markdown(value.__doc__), "")


def _signature(title: str, value: Any) -> str:
    """As the source has it, one parameter a line where it is long; without ``self``."""
    node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"{title} is not a function")
    arguments = node.args
    if arguments.args and arguments.args[0].arg == "self":
        arguments.args = arguments.args[1:]
    returns = "" if node.returns is None or title.startswith("headway.C") else f" -> {ast.unparse(node.returns)}"
    begin = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    head, inner = f"{begin}{title}", ast.unparse(arguments)
    if len(head) + len(inner) + len(returns) <= 110:
        return f"{head}({inner}){returns}"
    parts = "".join(f"    {part},\n" for part in _parts(arguments))
    return f"{head}(\n{parts}){returns}"


def _parts(arguments: ast.arguments) -> Iterator[str]:
    gaps = len(arguments.args) - len(arguments.defaults)
    for at, each in enumerate(arguments.args):
        yield _part(each, arguments.defaults[at - gaps] if at >= gaps else None)
    if arguments.vararg is not None:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _part(each, default)
    if arguments.kwarg is not None:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _part(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + ("" if default is None else f" = {ast.unparse(default)}")
