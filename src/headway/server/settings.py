"""What can be set about the HTTP face. Read once by the composition root (:mod:`headway.app`) and passed in."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_PORT = 7447
"""Where a server listens unless told otherwise; it takes a free port when this one is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of the HTTP face, each with its unit and why this default."""

    allowed_hosts: frozenset[str] = field(default_factory=frozenset)
    """Names, besides those of the loopback interface, that requests may give in their ``Host`` header. Empty, for a
    server that only this machine can reach; a page elsewhere whose name was pointed here (DNS rebinding) is refused."""

    open_metrics: bool = True
    """Whether ``/metrics`` needs no token when asked over the loopback interface, so by any user of this machine: Prometheus
    cannot log in as a person. Without it, Prometheus sends the user's token."""

    reports_per_second: float = 50.0
    """Reports that one job may send per second, besides two for each of its ranks. Reporters send one; this only stops
    a loop gone wild."""

    report_burst: float = 200.0
    """Reports that one job may send at once after a pause: a spool that is handed on comes fast."""

    body_seconds: float = 10.0
    """Longest time that the body of a report may take to arrive, in seconds, as Kubeflow's server has it."""

    max_document_bytes: int = 1024 * 1024
    """Largest body of every other request: a registration holds a command line, an ending the tail of a log."""

    keepalive_seconds: float = 15.0
    """Seconds between comment lines on a quiet event stream, so that proxies keep it open."""

    session_days: float = 30.0
    """Days that a browser stays logged in."""

    code_seconds: float = 300.0
    """Seconds within which a one-time login code must be used."""

    job_token_days: float = 366.0
    """Days that a job's token is good for; longer than any training run, since nobody renews it."""
