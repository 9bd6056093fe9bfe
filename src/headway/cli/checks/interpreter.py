"""The Python that Headway runs in: its version, what is installed beside the core, and which frameworks are there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from typing import Final

from headway.adapters import auto
from headway.cli.checks.check import Check, Level

_EXTRAS: Final = {
    "client": ("httpx2",),
    "server": ("litestar", "uvicorn", "msgspec", "jwt"),
    "demo": ("numpy",),
}
_TWO_LINES: Final = "two lines: headway.track() and run.step()"
_FRAMEWORKS: Final = {
    **{
        name.partition(".")[0]: "found by itself under headway run" for name in auto.HOOKS if not name.startswith("jax")
    },
    "trl": "found by itself under headway run",
    "jax": "one line: headway.adapters.jax.watch(step)",
    "keras": _TWO_LINES,
    "kubeflow": "update_trainjob_status() reports to Headway under headway run",
}
"""Modules, and how a training with them is tracked."""


def python() -> Check:
    """The interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Check(Level.OK, "python", f"{version}, {sys.executable}; headway {importlib.metadata.version('headway')}")


def extras() -> Iterator[Check]:
    """What is installed beside the core."""
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if missing:
            todo = f"pip install 'headway[{extra}]', if you want {_wanted_for(extra)}"
            yield Check(Level.WARN, f"extra {extra}", f"{', '.join(missing)} not installed", todo)
        else:
            yield Check(Level.OK, f"extra {extra}", "installed")


def _wanted_for(extra: str) -> str:
    return {"client": "to look at jobs", "server": "a server on this machine", "demo": "headway demo"}[extra]


def frameworks() -> Iterator[Check]:
    """Training frameworks in this Python, and how each is tracked."""
    for name, how in _FRAMEWORKS.items():
        if importlib.util.find_spec(name) is None:
            continue
        try:
            version = importlib.metadata.version(name.replace("_", "-"))
        except importlib.metadata.PackageNotFoundError:
            continue
        yield Check(Level.OK, name, f"{version}; {how}")
