"""Installs the hooks of the adapters, in a Python that may not have Headway installed: then it takes the runner's."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Lender:
    """The last of the finders: knows one package, where no other finder does."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """The spec of Headway itself, from beside this file."""
        if name != "headway":
            return None
        import importlib.util

        init = os.path.join(_HOME, "__init__.py")
        return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[_HOME])


def install() -> None:
    """Installs the hooks; see :mod:`headway.adapters.auto`."""
    if not any(type(finder).__name__ == "Lender" for finder in sys.meta_path):
        sys.meta_path.append(Lender())
    from headway.adapters import auto

    if auto.wanted():
        auto.install()
