"""Where the processes of one attempt leave word for each other: the key-value store that their framework has set up anyway.

PyTorch's is reached through a connection of our own, so that nothing here can hold up the training thread's use of it; JAX's
coordination client serves any number of threads. No framework is imported from here, and no operation waits for another
process: a key that is not there is simply not there.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple, Protocol

_PREFIX: Final = "headway"
_CONNECT_SECONDS: Final = 5.0


class Board(Protocol):
    """A key-value store. Every method returns at once, and raises what the store raises when it is gone."""

    def put(self, key: str, value: str) -> None:
        """Writes a key that nobody else writes."""

    def read(self, key: str) -> str | None:
        """The value of a key, if it has one."""

    def claim(self, key: str, value: str) -> str:
        """Writes a key unless it is there; returns the value that stands. The first of several wins, for all to see."""

    def gather(self, key: str, count: int) -> list[str] | None:
        """The values of ``key/0`` to ``key/<count - 1>``, once all of them are there."""


class TorchBoard:
    """The store of ``torch.distributed``'s default group.

    Args:
        store: a store of torch's that has ``check``, ``get``, ``set``, ``compare_set``.
        line: a connection to the same place that says nothing. When it is closed, the store is gone, and is not asked again:
            PyTorch would print pages of it.
    """

    def __init__(self, store: Any, line: socket.socket) -> None:
        self._known, self._line = store, line
        line.setblocking(False)

    @property
    def _store(self) -> Any:
        try:
            if self._line.recv(1, socket.MSG_PEEK) == b"":
                raise ConnectionResetError("the process that held the store has ended")
        except BlockingIOError:
            pass  # nothing is said: it is there
        return self._known

    def put(self, key: str, value: str) -> None:
        """As :meth:`Board.put`."""
        self._store.set(key, value)

    def read(self, key: str) -> str | None:
        """As :meth:`Board.read`."""
        if not self._store.check([key]):
            return None  # to get it now would wait for it
        return _text(self._store.get(key))

    def claim(self, key: str, value: str) -> str:
        """As :meth:`Board.claim`."""
        return _text(self._store.compare_set(key, "", value))

    def gather(self, key: str, count: int) -> list[str] | None:
        """As :meth:`Board.gather`."""
        keys = [f"{key}/{rank}" for rank in range(count)]
        if not self._store.check(keys):
            return None
        return [_text(value) for value in self._store.multi_get(keys)]


class JaxBoard:
    """JAX's coordination service.

    Args:
        client: its client in this process.
        prefix: begins all keys.
    """

    def __init__(self, client: Any, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def put(self, key: str, value: str) -> None:
        """As :meth:`Board.put`."""
        self._client.key_value_set(f"{self._prefix}/{key}/is", value)

    def read(self, key: str) -> str | None:
        """As :meth:`Board.read`."""
        # Each key is the one entry of a directory: to ask for an entry that is not there raises, to list none does not.
        found = self._client.key_value_dir_get(f"{self._prefix}/{key}/")
        return str(found[0][1]) if found else None

    def claim(self, key: str, value: str) -> str:
        """As :meth:`Board.claim`."""
        try:
            self.put(key, value)
        except RuntimeError:
            stands = self.read(key)
            if stands is None:
                raise
            return stands
        return value

    def gather(self, key: str, count: int) -> list[str] | None:
        """As :meth:`Board.gather`."""
        found = self._client.key_value_dir_get(f"{self._prefix}/{key}/")
        if len(found) < count:
            return None
        values = {int(name.split("/")[-2]): str(value) for name, value in found}
        return [values[rank] for rank in range(count)]


class Source(NamedTuple):
    """What holds the processes together. It keeps nothing alive of PyTorch's: its store ends when the group does."""

    group: int
    """Tells one group from the next."""
    host: str = ""
    port: int = 0
    client: Any = None
    """JAX's."""


def find_torch(modules: Mapping[str, Any] = sys.modules) -> Source | None:
    """Where PyTorch's processes meet now; None where they do not. For the thread that trains: it holds the group for a moment."""
    c10d = modules.get("torch.distributed.distributed_c10d")
    try:
        if c10d is not None and c10d.is_initialized():
            store = c10d._get_default_store()
            while hasattr(store, "underlying_store"):
                store = store.underlying_store
            if hasattr(store, "host") and hasattr(store, "port"):
                return Source(id(c10d._get_default_group()), str(store.host), int(store.port))
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        pass  # half imported, or being taken down
    return None


def find_jax(modules: Mapping[str, Any] = sys.modules) -> Source | None:
    """JAX's coordination service, as long as a word to it does no harm. On any thread."""
    state = getattr(modules.get("jax._src.distributed"), "global_state", None)
    # A word before the client is connected, or after it has begun to leave, would end the process. Its companion for preemptions
    # is made after the one and given up before the other.
    if state is None or getattr(state, "preemption_sync_manager", None) is None or (client := state.client) is None:
        return None
    return Source(id(client), client=client)


def connect(source: Source, environ: Mapping[str, str] = os.environ, modules: Mapping[str, Any] = sys.modules) -> Board:
    """A board on that store. May wait for a connection, some seconds at most.

    Raises:
        RuntimeError, OSError: it cannot be reached.
    """
    prefix = f"{_PREFIX}/{environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    if source.client is not None:
        return JaxBoard(source.client, prefix)
    torch = modules["torch.distributed"]
    timeout = timedelta(seconds=_CONNECT_SECONDS)
    store = torch.TCPStore(source.host, source.port, is_master=False, wait_for_workers=False, timeout=timeout)
    line = socket.create_connection((source.host, source.port), timeout=_CONNECT_SECONDS)
    return TorchBoard(torch.PrefixStore(prefix, store), line)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
