"""Settings of the hub: times, and where spooled reports lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.errors import SettingsError
from headway.tracking.conditions.patience import Patience
from headway.tracking.writing import WriteJson, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """How the hub listens, judges and tells."""

    report_interval: float = 1.0
    """Seconds that runs are asked to leave between reports. One second: a person watches, and a report costs little."""
    busy_writes: int = 500
    """Writes waiting for the store from which on runs are asked to report less often."""
    heartbeat: float = 2.0
    """Seconds that runners are asked to leave between signs of life. Three missed in a row, and the job is Lost."""
    lost_after: float = 300.0
    """Seconds without a word after which a job that no runner watches is Lost. Longer than any usual restart."""
    stall_floor: float = 60.0
    """Seconds without a step below which no run is Stalled, unless its job names other ones: long enough for a hiccup of a file
    system or a network."""
    tick: float = 1.0
    """Seconds between looks at the clock, which turn silence into Silent and Lost."""
    broadcast_interval: float = 1.0
    """Least seconds between two messages to the same watchers: what the eye can follow."""
    replay: int = 256
    """Messages back to which a watcher that was cut off can catch up without a new snapshot."""
    spool: Path | None = None
    """Folder of reports that waited for a server; None: none are taken in."""
    spool_interval: float = 2.0
    """Seconds between looks into it."""
    write_json: WriteJson = write_json
    """Writes the documents that are stored: the standard library does, others do it faster."""
    insight_points: int = 2000
    """Points per metric from which insight is rebuilt after a restart."""

    def __post_init__(self) -> None:
        for name in (
            "report_interval",
            "heartbeat",
            "lost_after",
            "stall_floor",
            "tick",
            "broadcast_interval",
            "spool_interval",
        ):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name}: expected seconds above 0, got {getattr(self, name)!r}")

    @property
    def patience(self) -> Patience:
        """How long nothing may be heard."""
        return Patience(self.report_interval, self.heartbeat, self.lost_after, self.stall_floor)
