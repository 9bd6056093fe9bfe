"""``python -m headway.auto train.py``: runs a script, or ``-m`` a module, and finds the frameworks that it trains with.

The script sees what it would see without: ``sys.argv``, ``__main__``, its folder on ``sys.path``, its exit code, its tracebacks.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType
from typing import Final

from headway.adapters import auto

_USAGE: Final = (
    "usage: python -m headway.auto SCRIPT [ARGUMENT ...]\n       python -m headway.auto -m MODULE [ARGUMENT ...]"
)
_OURS: Final = frozenset({__file__, runpy.__file__, "<frozen runpy>"})


def main() -> None:
    """Runs what the command line names, in this process."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["-m"]:
        arguments, module = arguments[1:], True
    else:
        module = False
    if not arguments or arguments[0].startswith("-"):
        sys.exit(_USAGE)
    if auto.wanted():
        auto.inject(os.environ)
        auto.install()
    sys.argv = arguments
    _hide_our_frames()
    if module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif os.path.isfile(arguments[0]):
        _run_file(arguments[0])
    elif os.path.exists(arguments[0]):
        runpy.run_path(arguments[0], run_name="__main__")  # a folder or an archive with a __main__.py
    else:
        sys.stderr.write(f"{sys.executable}: can't open file {os.path.abspath(arguments[0])!r}: no such file\n")
        sys.exit(2)


def _run_file(path: str) -> None:
    path = os.path.abspath(path)
    loader = SourceFileLoader("__main__", path)
    script = ModuleType("__main__")
    script.__file__, script.__loader__ = path, loader
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    sys.modules["__main__"] = script
    exec(compile(loader.get_data(path), path, "exec", dont_inherit=True), script.__dict__)  # noqa: S102 - that is the task


def _hide_our_frames() -> None:
    previous = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
            trace = trace.tb_next
        previous(kind, error.with_traceback(trace), trace)

    sys.excepthook = show


if __name__ == "__main__":
    main()
