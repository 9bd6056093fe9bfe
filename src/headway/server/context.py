"""What the routes share: the hub, the keys, and what is counted. One per server, made by :mod:`headway.server.app`."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from litestar.di import NamedDependency
from litestar.params import FromPath, SkipValidation

from headway.hub.hub import Hub
from headway.server.dashboard import Dashboard
from headway.server.events import EventWriter
from headway.server.limits import RateLimiter
from headway.server.settings import ServerSettings
from headway.server.tokens import Keyring


@dataclass(slots=True)
class Counters:
    """What the HTTP face has done since it started, for ``/metrics``."""

    reports: Counter[int] = field(default_factory=Counter)
    """Answers of the status endpoint by HTTP status code."""
    refused: int = 0
    """Requests without a token that opens what they asked for, or from a foreign host."""
    viewers: int = 0
    """Open event streams."""
    events_sent: int = 0
    events_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Context:
    """What the routes share."""

    hub: Hub
    keyring: Keyring
    settings: ServerSettings
    limiter: RateLimiter
    counters: Counters = field(default_factory=Counters)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is about to end: open streams end themselves."""
    events: EventWriter = field(default_factory=EventWriter)
    dashboard: Dashboard = field(default_factory=Dashboard)
    openapi: bytes = b""
    """The API's own description, as JSON, once it was asked for."""


Shared = NamedDependency[SkipValidation[Context]]
"""The type of a route's ``context`` parameter."""

PathName = FromPath[str]
"""The type of a route's ``namespace`` and ``name`` parameters: still percent-encoded, as they were sent."""
