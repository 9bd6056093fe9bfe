"""For tests of Headway, and of what is built on it: a real server, contract suites, clocks that can be set.

``live_server`` is imported when it is first asked for, since it needs the ``server`` extra; the other modules do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.testing.live import LiveServer, live_server

__all__ = ["LiveServer", "live_server"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from headway.testing import live

        return getattr(live, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
