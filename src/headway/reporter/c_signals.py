"""Signal handlers that were installed from C, which Python's own table does not show: JAX's, which notes a preemption.

They are called from ours, so that whoever installed them still hears. The interpreter's own functions reach them, by way of
ctypes; a Python that was built without it knows Python's handlers only.
"""

from __future__ import annotations

import functools
import signal
from types import FrameType
from typing import Any, Final

_DEFAULT_OR_IGNORED: Final = (None, 0, 1)


class CHandler:
    """A handler by its address; called as one of Python's."""

    def __init__(self, address: int) -> None:
        self.address = address
        ctypes = _ctypes()
        self._function: Any = ctypes.CFUNCTYPE(None, ctypes.c_int)(address)

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a handler
        """Passes the signal on."""
        self._function(number)


def address_of(number: int) -> int | None:
    """Where the operating system goes on a signal; None for its default, and where that cannot be asked."""
    ctypes = _ctypes()
    if ctypes is None:
        return None
    ask = ctypes.pythonapi.PyOS_getsig
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.c_int]
    address: int | None = ask(number)
    return address


def previous_handler(number: int) -> Any:
    """As :func:`signal.getsignal`, but for a handler installed from C, which that takes for the default."""
    known = signal.getsignal(number)
    address = address_of(number)
    if known is signal.SIG_DFL and address not in _DEFAULT_OR_IGNORED and address is not None:
        return CHandler(address)
    return known


def put(number: int, address: int | None) -> bool:
    """Has the operating system go there on a signal, from any thread; None: its default. Returns whether that could be done."""
    ctypes = _ctypes()
    if ctypes is None:
        return False
    change = ctypes.pythonapi.PyOS_setsig
    change.restype, change.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]
    change(number, address)
    return True


@functools.cache
def _ctypes() -> Any:
    try:
        import ctypes
    except ImportError:
        return None
    return ctypes
