"""The default store: one SQLite database in a folder of its own, with one thread that writes.

How it hangs together::

    submit ─► writer (group commit) ─► batch ──► report rows ──► compaction ─► chunks of each series, by tier
                                         │                          ▲                │
                                         └─ index (ids, seen, rows) ┘   retention ◄──┘
    series ◄── reading: chunks of the fitting tier, the rest from finer ones, the newest from report rows

A report is stored as it came, one packed row, in the order of arrival: that is the least that a commit can do. Between commits
the rows become compressed chunks per series, from which any length of history opens at once.
"""

from headway.store.sqlite.settings import SqliteSettings
from headway.store.sqlite.store import SqliteStore

__all__ = ["SqliteSettings", "SqliteStore"]
