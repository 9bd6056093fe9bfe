"""The SQLite store keeps the contract: with reports as they came, and with all of them compacted at once."""

from __future__ import annotations

from pathlib import Path

from headway.protocol.job import JobKey
from headway.store.base import Store
from headway.store.sqlite import SqliteSettings, SqliteStore
from headway.testing.store_contract import StoreContract
from headway.testing.store_driver import at, reported
from headway.testing.waiting import wait_until


class TestSqliteStoreAsItCame(StoreContract):
    def make(self, folder: Path) -> Store:
        return SqliteStore(folder, settings=SqliteSettings(compact_rows=10**6, compact_rows_at_most=10**6))


class TestSqliteStoreCompacted(StoreContract):
    def make(self, folder: Path) -> Store:
        settings = SqliteSettings(compact_rows=1, compact_rows_at_most=1, idle_seconds=0.001)
        return SqliteStore(folder, settings=settings)

    def settle(self, store: Store) -> None:
        assert isinstance(store, SqliteStore)
        wait_until(lambda: not store.waiting_reports(), "the compaction of all reports", pause=0.005)


def test_compaction_really_happens(tmp_path: Path) -> None:
    # or the second class above would show nothing
    suite = TestSqliteStoreCompacted()
    with suite.opened(suite.make(tmp_path)) as opened:
        suite.settle(opened.store)
        opened.keep(*(reported(seq, at(seq, loss=seq)) for seq in range(600)))
        assert len(suite.ask(opened.store)[0].points) == 600
        assert isinstance(opened.store, SqliteStore)
        assert opened.store.waiting_reports() == 0
        assert opened.store.metrics(JobKey("local", "fraud-ft")) == ["loss"]
