"""What ``headway run`` was asked to do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.protocol.limits import LOCAL_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A command to run and track."""

    command: tuple[str, ...]
    """The program and its arguments."""
    name: str | None = None
    """Name of the job; None: derived from the command, a new one each time."""
    namespace: str = LOCAL_NAMESPACE
    devices: int | None = None
    """Devices of the whole job."""
    nodes: int | None = None
    """Nodes that take part; None: what Slurm says, else one."""
    device_type: str | None = None
    price_per_hour: float | None = None
    """Price of the whole job per hour."""
    tags: tuple[str, ...] = ()
    restarts: int = 0
    """How often a command that fails is started again, as a further attempt."""
    restart_delay: float = 1.0
    """Seconds before the first restart; doubles with each, up to a minute."""
    stall_floor: float | None = None
    """Seconds without a step below which the job is never Stalled; None: as ``HEADWAY_STALL_FLOOR`` or the server has it."""
    on_condition: tuple[str, ...] = ()
    """A command for each onset and recovery of a condition: program and arguments, the event on standard input."""
    auto: bool = True
    """Find the frameworks that the command trains with; False: leave its processes alone."""
    quiet: bool = False
    """Leave out the line that says what the job is called."""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """The environment to start from: it names the server, and the command gets it."""
