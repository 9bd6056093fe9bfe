"""The memory store keeps the contract."""

from __future__ import annotations

from pathlib import Path

from headway.store.base import Store
from headway.store.memory import MemoryStore
from headway.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    def make(self, folder: Path) -> Store:
        return MemoryStore()

    def reopen(self, store: Store, folder: Path) -> Store:
        return store
