"""Where the commands' words go: stdout for what was asked for, stderr for errors; plain when nobody looks at a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from functools import cache
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from headway.cli.render import words
from headway.cli.render.view import View


class PipeClosedError(Exception):
    """Who read our output went away, as ``head`` does: no error, and nothing more to say."""


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise PipeClosedError


@cache
def console() -> Console:
    """The console on stdout. NO_COLOR, FORCE_COLOR and TERM are heeded."""
    return _Console(highlight=False, emoji=False, markup=False)


@cache
def error_console() -> Console:
    """The console on stderr."""
    return _Console(stderr=True, highlight=False, emoji=False, markup=False)


def is_fancy() -> bool:
    """Whether stdout is a terminal that can move its cursor."""
    return console().is_terminal and not console().is_dumb_terminal


def can_unicode() -> bool:
    """Whether stdout takes the characters that bars and curves are made of."""
    return console().encoding.lower().replace("-", "") in {"utf8", "utf16", "utf32"}


def view(now: float | None = None) -> View:
    """How to draw on stdout now. COLUMNS sets the width, also of a pipe."""
    fancy = is_fancy()
    columns = os.environ.get("COLUMNS", "")
    width = console().width if fancy else int(columns) if columns.isdigit() and int(columns) > 0 else None
    return View(now=time.time() if now is None else now, width=width, fancy=fancy, unicode=can_unicode())


def show(lines: Iterable[Text]) -> None:
    """Prints lines as they are: never wrapped, never interpreted."""
    for line in lines:
        line.end = "\n"
        console().print(line, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """Prints one line of our own words."""
    show([Text(words.clean(text), style)])


def write(text: str) -> None:
    """Writes text as it is, for ``--json``."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise PipeClosedError from None


def complain(text: str) -> None:
    """Tells an error: what, where, what to do. Its own line breaks are kept."""
    line = Text("headway: ", "bold red")
    line.append(words.clean(text, keep="\n"), "default")
    error_console().print(line, soft_wrap=True)


def note(text: str) -> None:
    """Says something on stderr that is no error."""
    error_console().print(Text(words.clean(text), "dim"), soft_wrap=True)
