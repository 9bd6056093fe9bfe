"""The transport of a process that has nobody to tell: a rank that only beats, under a server that wants no beats."""

from __future__ import annotations

from headway.protocol.directive import Answer


class NullTransport:
    """Takes everything and keeps nothing."""

    def post(self, body: bytes, *, age: float = 0.0) -> Answer | None:  # noqa: ARG002
        """Nothing is sent."""
        return None

    def close(self) -> None:
        """Nothing is open."""
