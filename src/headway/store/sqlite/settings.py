"""What can be set about the SQLite store."""

from __future__ import annotations

from dataclasses import dataclass

from headway.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSettings:
    """Settings of :class:`~headway.store.sqlite.SqliteStore`. The defaults fit one machine with a few thousand jobs."""

    max_bytes: int = 8 * 2**30
    """Size that the database may reach, in bytes, before old history is thinned: 8 GiB, about 10,000 jobs of a day each.
    The oldest of the finest tier goes first, the coarsest tier last; jobs themselves are never removed."""

    max_age_days: tuple[float, ...] = (90.0, 365.0)
    """How long each tier is kept, in days, finest first; coarser ones than named here are kept as long as their job. Three
    months as it came, a year by eights: who opens an older run wants its shape, not its steps."""

    compact_rows: int = 64
    """Reports of one job that wait before they are compacted while the store is idle. Fewer: the same chunk is written again
    and again; more: slower first reads."""

    compact_rows_at_most: int = 2048
    """Reports of one job that wait before they are compacted even under load."""

    waiting_at_most: int = 100_000
    """Reports of all jobs that wait before compaction takes a fifth of a busy writer's time: some 10 to 70 MB on disk."""

    idle_seconds: float = 0.05
    """How long nothing must have been written before the store counts as idle, in seconds."""

    retention_seconds: float = 60.0
    """How often age and size are looked at, in seconds."""

    checkpoint_pages: int = 2000
    """Pages of the write-ahead log that are moved into the database at a time: 8 MB, so that a commit is rarely held up."""

    busy_seconds: float = 5.0
    """How long to wait for a lock that another program (a backup, say) holds on the database, in seconds."""

    def __post_init__(self) -> None:
        if self.max_bytes < 2**20:
            raise SettingsError(f"max_bytes is {self.max_bytes}; it must be at least {2**20} (1 MiB)")
        if list(self.max_age_days) != sorted(self.max_age_days) or any(days <= 0 for days in self.max_age_days):
            raise SettingsError(f"max_age_days is {self.max_age_days}; it must be positive and must not fall")
        if not 1 <= self.compact_rows <= self.compact_rows_at_most:
            raise SettingsError("compact_rows must be at least 1 and at most compact_rows_at_most")
