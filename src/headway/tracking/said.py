"""What a run said, with what is needed to tell which of two words is the newer: records that grow by being replaced."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from headway.protocol.report import Checkpoint, Ending

T = TypeVar("T")


class Said(NamedTuple, Generic[T]):
    """A value, and the sequence number of the report that said it."""

    seq: int
    value: T


class Saved(NamedTuple):
    """A checkpoint. Later ones have a higher step or, where a run saved one step twice, a higher sequence number."""

    step: int
    seq: int
    at: float
    """When it was told, by the server's clock."""
    what: Checkpoint


class Ended(NamedTuple):
    """A run's own word that it ends."""

    seq: int
    at: float
    """When it was said, by the server's clock."""
    how: Ending


class Stack(NamedTuple):
    """Where the main thread stood, by its process's own word."""

    seq: int
    step: int | None
    """The newest step that it had made."""
    text: str


class Stuck(NamedTuple):
    """That the interpreter stands still, by the runner's word."""

    at: float
    """When it was last seen, by the server's clock."""
    text: str
    """The stack of its main thread."""


class LastPost(NamedTuple):
    """A stock client's bare 100 %, the way Transformers ends."""

    seq: int
    at: float
    """When it was sent, by the server's clock."""
    epoch: float | None
    """The exact epoch, where its last log names it."""
