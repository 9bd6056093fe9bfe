"""What a command has started, and what that has: also where it left the command's process group.

torchrun gives each of its workers a session of its own, so a signal to its group reaches none of them. Known on Linux only.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from pathlib import Path

_PROC = Path("/proc")


class Descendants:
    """Those of a process that is alive, held so that each stays the one that was meant, though its number be given anew.

    Args:
        pid: the process.
    """

    def __init__(self, pid: int) -> None:
        self._held: list[int] = []
        children = _children()
        queue = [pid]
        while queue:
            below = children.get(queue.pop(), [])
            queue += below
            for each in below:
                try:
                    self._held.append(os.pidfd_open(each))
                except OSError:
                    continue  # it has ended, or this system does not know how

    def kill(self) -> None:
        """Kills them all; they are let go then."""
        held, self._held = self._held, []
        for each in held:
            try:
                signal.pidfd_send_signal(each, signal.SIGKILL)
            except OSError:
                pass  # it has ended meanwhile
            finally:
                os.close(each)


def _children() -> dict[int, list[int]]:
    """By process, those that it has started."""
    children: dict[int, list[int]] = defaultdict(list)
    if not hasattr(os, "pidfd_open"):
        return children
    for stat in _PROC.glob("[0-9]*/stat"):
        try:
            text = stat.read_text(errors="replace")
        except OSError:
            continue  # it has ended
        children[int(text.rpartition(")")[2].split()[1])].append(int(stat.parent.name))
    return children
