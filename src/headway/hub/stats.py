"""What the hub counts, for the metrics endpoint."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HubStats:
    """What the hub has done since it started, for the metrics endpoint."""

    jobs: int
    running: int
    reports: int
    duplicates: int
    points: int
    failed_writes: int
    waiting_writes: int
    watchers: int
    spooled_reports: int
