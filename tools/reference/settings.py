"""docs/reference/settings.md: environment variables, and every settings class with the docstrings under its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

import headway.app.settings
import headway.hub.settings
import headway.insight.stall
import headway.insight.throughput
import headway.reporter.folders
import headway.reporter.settings
import headway.runner.logs
import headway.runner.request
import headway.server.settings
import headway.store.sqlite.settings
from reference.prose import Field, cell, code, fields_of, inline

_INTRODUCTION = """<!-- Written by tools/generate_docs.py from the settings classes; change those. -->

# Settings

Nothing has to be set. What people change is an environment variable; the rest are fields of settings classes, read once and
passed in, for programs that build a server or a runner of their own.

## Environment variables

"""
_SECTIONS: tuple[tuple[str, str, ModuleType, str], ...] = (
    ("Reporter", "In the training process, read by `headway.track()`.", headway.reporter.settings, "Settings"),
    ("Folders", "Where everything lies on a machine.", headway.reporter.folders, "Folders"),
    ("Server", "The server process, `headway server run`.", headway.app.settings, "Settings"),
    ("HTTP", "The server's HTTP face.", headway.server.settings, "ServerSettings"),
    ("Hub", "What takes reports in, folds and judges them.", headway.hub.settings, "HubSettings"),
    ("SQLite store", "Where jobs and history are kept.", headway.store.sqlite.settings, "SqliteSettings"),
    ("Runner", "`headway run`: what its options become.", headway.runner.request, "RunRequest"),
    ("Logs", "What is kept of what commands print, by `headway run`.", headway.runner.logs, "LogSettings"),
    ("Stalls", "When a run counts as stalled.", headway.insight.stall, "StallSettings"),
    ("Slow-downs", "When a run counts as slow.", headway.insight.throughput, "SlowSettings"),
)
_ELSEWHERE = {
    "HEADWAY_HOME": "Folder for everything that Headway writes: `state/` and `run/<host>/` in it. Unset: "
    "`$XDG_STATE_HOME/headway` (else `~/.local/state/headway`) for what is kept, and `$XDG_RUNTIME_DIR/headway` (else "
    "`run/<host>` in the former) for the address and token of the server.",
    "HEADWAY_ATTEMPT": "Id of the attempt that the process belongs to, the same for all its ranks. Set by `headway run`; "
    "unset: from what torchrun, Slurm, MPI or JobSet say, else a new one.",
    "HEADWAY_AUTO": "`0`: find no framework by itself; processes of `headway run` and `python -m headway.auto` are left alone.",
    "HEADWAY_RUNNER": "Set by `headway run`: a `headway run` within it sees that the job is tracked already.",
    "HEADWAY_TRAINING_PID": "Set by a process that trains, for the processes that it starts: an evaluation that trains something "
    "of its own is no part of the job, unless it calls `headway.track()`.",
    "HEADWAY_SKIP_DASHBOARD": "`1` while a wheel is built: leave the dashboard out.",
}
"""Variables that no field of a settings class describes."""
_NAME = re.compile(r"\b(?:HEADWAY|KUBEFLOW_TRAINER)_[A-Z_]*[A-Z]\b")


def settings_page() -> str:
    """The page on settings."""
    return _INTRODUCTION + "\n".join([*_variables(), "", *_sections()]).rstrip() + "\n"


def variables() -> dict[str, str]:
    """Every variable that Headway reads, with what it does."""
    found = dict(_ELSEWHERE)
    for _, _, module, name in _SECTIONS:
        for each in fields_of(module, name):
            if module is headway.runner.request:
                continue
            for variable in _NAME.findall(each.doc):
                found.setdefault(variable, _says(each))
    return found


def _says(field: Field) -> str:
    text = re.sub(r"\s*Env: ``\w+``\.?", "", field.doc)
    text = re.sub(r"^``\w+(?:=1)?``(?:, or ``\w+``)?: ", "", text)
    text = re.sub(r"^.*?\bby env ``\w+``", "What `Host` may name besides the loopback interface", text)
    return text[0].upper() + text[1:]


def _variables() -> Iterator[str]:
    yield from ("| variable | |", "|---|---|")
    for name, says in sorted(variables().items()):
        yield f"| `{name}` | {cell(says)} |"


def _sections() -> Iterator[str]:
    for title, says, module, name in _SECTIONS:
        doc = inline(getattr(module, name).__doc__.partition("\n")[0])
        yield from (f"## {title}", "", f"{inline(says)} `{module.__name__}.{name}`: {doc}", "")
        yield from ("| field | type | default | |", "|---|---|---|---|")
        for each in fields_of(module, name):
            default = "" if each.default is None else code(each.default)
            yield f"| `{each.name}` | {code(each.type)} | {default} | {cell(each.doc)} |"
        yield ""
