"""What is said of a route besides its code: who may call it, what it takes, what it answers. Guards and documentation read it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headway.server.params import Param


class Access(Enum):
    """What opens a route; see :mod:`headway.server.auth`."""

    OPEN = "open"
    JOB = "job"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One route, described."""

    says: str
    access: Access = Access.USER
    params: tuple[Param, ...] = ()
    body: Any = None
    """Type of the JSON document that it takes."""
    answer: Any = None
    """Type of the JSON document that it answers, or None when ``kind`` is not JSON."""
    code: int = 200
    kind: str = "application/json"
    errors: tuple[int, ...] = ()
    """HTTP status codes of its errors, besides those that any route may answer."""


def described(says: str, **fields: Any) -> dict[str, Endpoint]:
    """The ``opt`` of a route handler: its :class:`Endpoint`."""
    return {"endpoint": Endpoint(says=says, **fields)}
