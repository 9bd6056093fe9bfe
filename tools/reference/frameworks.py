"""docs/reference/frameworks.md: what each adapter reports, as its ABOUT says and as the table of hooks has it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import headway.adapters
from headway.adapters.auto import HOOKS
from headway.adapters.base import About
from headway.reporter.slots import Layer
from reference.prose import cell, code

_INTRODUCTION = """<!-- Written by tools/generate_docs.py from the adapters in src/headway/adapters; change those. -->

# Frameworks

`headway run -- python train.py` finds these by itself, in every process that the command starts, and so does
`python -m headway.auto train.py` without a runner. Nothing is imported that the script does not import, and a run begins with the
first step, or with the trainer's own beginning: a script that only evaluates reports nothing, and neither do the workers of a
`DataLoader`. `headway run --no-auto`, or `HEADWAY_AUTO=0`, leaves all alone. Each can also be said by hand, in one line.

One step may be seen by several: a trainer, the library that it uses, the engine below, the optimizer's own hook. **The outermost
is heard**, in this order, and each step is counted once:

"""
_LAYERS = {
    Layer.SCRIPT: "the script's own `run.step()`",
    Layer.TRAINER: "a trainer that owns the loop",
    Layer.LIBRARY: "a library within the script's loop",
    Layer.ENGINE: "an engine that owns the optimizer",
    Layer.OPTIMIZER: "the optimizer's own steps; not where the script called `headway.track()` itself",
    Layer.BAR: "a progress bar, which counts nothing and only knows the whole",
}
_EXAMPLES = Path(__file__).parents[2] / "examples"
_ROWS = ("steps", "total", "epochs", "metrics", "config", "checkpoints", "directives")


def frameworks_page() -> str:
    """The page on frameworks."""
    return _INTRODUCTION + "\n".join([*_order(), *_sections()]).rstrip() + "\n"


def adapters() -> dict[str, About]:
    """What each adapter says of itself, by its module's name; from the outermost layer to the innermost."""
    found: dict[str, About] = {}
    for module in pkgutil.iter_modules(headway.adapters.__path__):
        about = getattr(importlib.import_module(f"headway.adapters.{module.name}"), "ABOUT", None)
        if isinstance(about, About):
            found[module.name] = about
    return dict(sorted(found.items(), key=lambda item: (item[1].layer, item[1].title)))


def _order() -> Iterator[str]:
    known = adapters()
    yield from ("| | layer | of |", "|---|---|---|")
    for layer, says in _LAYERS.items():
        of = ", ".join(_link(about.title) for about in known.values() if about.layer is layer)
        yield f"| {layer + 1} | {says} | {of} |"
    yield ""


def _sections() -> Iterator[str]:
    for name, about in adapters().items():
        yield from (f"## {about.title}", "")
        if about.framework is not None:
            yield from (f"A job's description names it {code(about.framework)}.", "")
        yield from ("| | |", "|---|---|")
        for row in _ROWS:
            yield f"| {row} | {cell(getattr(about, row))} |"
        home = about.through or name
        origin = "" if about.framework is None else f", from {code(f'headway.adapters.{home}')}"
        yield f"| by hand | {code(about.by_hand)}{origin} |"
        awaited = sorted(
            module
            for module, hook in HOOKS.items()
            if hook.startswith((f"headway.adapters.{home}:", f"headway.adapters.{home}."))
        )
        yield f"| found when the script imports | {', '.join(map(code, awaited))} |"
        for example in sorted(_EXAMPLES.glob(f"[0-9][0-9]-{name}")):
            yield f"| example | [{example.name}](../../examples/{example.name}) |"
        yield ""


def _link(title: str) -> str:
    anchor = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -").replace(" ", "-")
    return f"[{title}](#{anchor})"
