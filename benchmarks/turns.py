"""Contenders in processes of their own that take turns, so that what disturbs the machine disturbs each of them alike.

A contender's threads never hold up another's calls, and all that it starts counts against itself. ``make`` is a context manager
that sets one up and yields ``turn(request) -> result``; it must be importable by name, for it runs in the new process.
Results go to ``benchmarks/results/NAME.json``, with what is needed to judge them: machine, versions, load, settings.
"""

from __future__ import annotations

import importlib.metadata
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Turn = Callable[[Any], Any]
Make = Callable[..., AbstractContextManager[Turn]]

QUIET = {
    "OMP_NUM_THREADS": "1",
    "DO_NOT_TRACK": "1",
    "GIT_PYTHON_REFRESH": "quiet",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "TRACKIO_AUTO_LOG_CPU": "0",
    "TRANSFORMERS_VERBOSITY": "error",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
}
"""Nothing of the peers goes to the network, and no telemetry runs."""

_START_SECONDS = 120.0
_TURN_SECONDS = 120.0


class MissingError(Exception):
    """A contender's packages are not installed."""


class Contender:
    """One of them. ``folder`` is its working folder, and where all that it prints goes."""

    def __init__(self, name: str, make: Make, *args: Any, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._log = folder / "output.txt"
        folder.mkdir(parents=True)
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, args, folder, {**QUIET, **(env or {})}))
        self._process.start()
        theirs.close()

    def ready(self) -> None:
        """Waits until it is set up.

        Raises:
            MissingError: its packages are not installed.
            RuntimeError: it failed; says how.
        """
        self._receive(_START_SECONDS)

    def turn(self, request: Any = None) -> Any:
        """Has it do its work once."""
        self._pipe.send((True, request))
        return self._receive(_TURN_SECONDS)

    def close(self) -> float:
        """Ends it; answers the processor time in seconds that its process used in all, with what it did to end."""
        self._pipe.send((False, None))
        used: float = self._receive(_TURN_SECONDS)
        self._process.join(10)
        return used

    def kill(self) -> None:
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self, seconds: float) -> Any:
        if not self._pipe.poll(seconds):
            raise RuntimeError(f"{self.name}: no answer within {seconds:.0f} s; {self._printed()}")
        try:
            kind, value = self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"{self.name}: its process ended; {self._printed()}") from None
        if kind == "missing":
            raise MissingError(value)
        if kind == "failed":
            raise RuntimeError(f"{self.name}: {value}")
        return value

    def _printed(self) -> str:
        return "it printed: " + self._log.read_text(encoding="utf-8", errors="replace")[-2000:]


def _serve(pipe: Any, make: Make, args: tuple[Any, ...], folder: Path, env: Mapping[str, str]) -> None:
    """The process of a contender."""
    os.environ.update(env)
    os.chdir(folder)
    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        with make(*args) as turn:
            pipe.send(("ready", None))
            while True:
                again, request = pipe.recv()
                if not again:
                    break
                pipe.send(("done", turn(request)))
        pipe.send(("done", time.process_time()))
    except ImportError as error:
        pipe.send(("missing", str(error)))
    except Exception:
        pipe.send(("failed", traceback.format_exc()))


@contextmanager
def contenders(
    makes: Iterable[tuple[str, Make, Sequence[Any], Mapping[str, str]]],
) -> Generator[dict[str, Contender], None, None]:
    """All that are installed, set up, by name; those that are not are left out with a word."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder, ExitStack() as stack:
        found: dict[str, Contender] = {}
        for number, (name, make, args, env) in enumerate(makes):
            found[name] = Contender(name, make, *args, folder=Path(folder) / str(number), env=env)
            stack.callback(found[name].kill)
        for name, contender in list(found.items()):
            try:
                contender.ready()
            except MissingError as error:
                print(f"left out: {name} ({error})", file=sys.stderr)
                del found[name]
        yield found


def versions(*names: str) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def keep(name: str, figures: Mapping[str, Any], settings: Mapping[str, Any], packages: Sequence[str] = ()) -> Path:
    """Writes ``results/NAME.json``; answers its path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = {
        "benchmark": name,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {
            "cores": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "load_average": os.getloadavg(),
        },
        "versions": versions("headway", *packages),
        "settings": dict(settings),
        "figures": dict(figures),
    }
    path.write_text(json.dumps(document, indent=2, default=str) + "\n", encoding="utf-8")
    return path


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, its columns aligned."""
    rows = [list(heads), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in rows
    ]
    rule = (
        "|" + "|".join("-" * (width + 1) + ("-" if column == 0 else ":") for column, width in enumerate(widths)) + "|"
    )
    return "\n".join([lines[0], rule, *lines[1:]])
