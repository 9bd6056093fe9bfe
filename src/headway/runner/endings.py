"""How a command's end is told, and what the runner's own exit code is."""

from __future__ import annotations

import signal

from headway.protocol.report import Ending, EndingKind


def exit_code(code: int) -> int:
    """What a shell would give: the exit code, or 128 and the signal's number."""
    return 128 - code if code < 0 else code


def signal_name(code: int) -> str | None:
    """Name of the signal that ended a process, from its negative number."""
    if code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def ending_of(code: int, tail: tuple[str, ...], *, asked: bool) -> Ending:
    """The ending of an attempt.

    Args:
        code: exit code, or negative number of a signal.
        tail: last lines of the log.
        asked: somebody asked for the end, by command or signal.
    """
    plain = EndingKind.COMPLETED if code == 0 else EndingKind.FAILED
    kind = EndingKind.CANCELLED if asked else plain
    return Ending(kind=kind, exit_code=exit_code(code), signal=signal_name(code), log_tail=tail)
