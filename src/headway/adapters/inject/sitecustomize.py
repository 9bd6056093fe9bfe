"""Imported by every Python process that ``headway run`` starts, before the script: installs the hooks of the adapters.

Any Python may come by here, old ones too, so nothing is written that one of them could not read.
"""

import os
import sys

if sys.version_info >= (3, 11) and os.environ.get("HEADWAY_AUTO", "") != "0":
    try:
        import _headway_auto  # type: ignore[import-not-found]

        _headway_auto.install()
    except Exception as _error:  # noqa: BLE001 - the script must start, whatever it is
        if sys.flags.verbose:
            sys.stderr.write("headway: this process finds no framework by itself: %r\n" % (_error,))  # noqa: UP031
if sys.version_info >= (3, 4):  # noqa: UP036
    # The sitecustomize that this one hides, if there is one: it is the module of that name from here on.
    from importlib.machinery import PathFinder as _PathFinder

    _here = os.path.dirname(os.path.abspath(__file__))
    _spec = _PathFinder.find_spec("sitecustomize", [each for each in sys.path if os.path.abspath(each) != _here])
    if _spec is not None and _spec.loader is not None:
        from importlib.util import module_from_spec as _module_from_spec

        sys.modules["sitecustomize"] = _hidden = _module_from_spec(_spec)
        _spec.loader.exec_module(_hidden)
