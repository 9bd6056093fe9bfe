"""docs/reference/cli.md: every command, argument and option, from the Typer app."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from headway.cli.main import app
from reference.prose import cell, inline

_INTRODUCTION = """<!-- Written by tools/generate_docs.py from the command line itself; change that. -->

# The `headway` command

Every command answers `--help`. What `--json` prints, and the exit codes, are in [cli-json.md](cli-json.md); the variables that
every command heeds are in [settings.md](settings.md).

"""


def commands(group: Any = None, before: str = "headway") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name, in the order of the help."""
    found: Any = group or typer.main.get_command(app)
    for name, command in found.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def cli_page() -> str:
    """The page on the commands."""
    found = list(commands())
    table = ["| command | |", "|---|---|"]
    table += [f"| [`{name}`](#{name.replace(' ', '-')}) | {cell(_says(command)[0])} |" for name, command in found]
    sections = [line for name, command in found for line in _section(name, command)]
    return _INTRODUCTION + "\n".join([*table, "", *sections]).rstrip() + "\n"


def _section(name: str, command: Any) -> Iterator[str]:
    arguments = [param for param in command.params if not param.opts[0].startswith("-")]
    options = [param for param in command.params if param.opts[0].startswith("-")]
    words = [name, *(["[OPTIONS]"] if options else [])]
    words += ["--"] if "--" in (command.options_metavar or "").split() else []
    for param in arguments:
        word = param.metavar or param.name.upper()
        word = f"{word}…" if param.nargs == -1 else word
        words.append(word if param.required else f"[{word}]")
    yield from (f"## {name}", "", "```", " ".join(words), "```", "")
    for paragraph in _says(command):
        yield from (inline(paragraph), "")
    if arguments or options:
        yield from ("| | default | |", "|---|---|---|")
        for param in (*arguments, *options):
            yield f"| {_names(param)} | {_default(param)} | {cell(param.help or '')}{_range(param)} |"
        yield ""


def _says(command: Any) -> list[str]:
    text = inspect.cleandoc(command.help or "")
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", text)]
    return [f"`{each}`" if each.startswith("headway ") else each for each in paragraphs]


def _names(param: Any) -> str:
    if not param.opts[0].startswith("-"):
        return f"`{param.metavar or param.name.upper()}`"
    names = sorted((*param.opts, *param.secondary_opts), key=lambda name: not name.startswith("--"))
    value = "" if param.is_flag else f" {param.metavar or 'VALUE'}"
    return ", ".join(f"`{name}{value if at == 0 else ''}`" for at, name in enumerate(names))


def _default(param: Any) -> str:
    if param.required:
        return "required"
    if param.default in (None, "", ()) or (param.is_flag and not param.default and not param.secondary_opts):
        return ""
    if param.is_flag:
        return f"`{(param.opts if param.default else param.secondary_opts)[0]}`"
    return f"`{param.default:g}`" if isinstance(param.default, float) else f"`{param.default}`"


def _range(param: Any) -> str:
    if param.min is None and param.max is None:
        return ""
    if param.max is None:
        return f" At least {param.min:g}."
    return f" {param.min:g} to {param.max:g}."
