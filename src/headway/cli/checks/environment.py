"""Environment variables that change what Headway does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from headway.adapters import auto
from headway.cli.checks.check import Check, Level

VARIABLES: Final = frozenset(
    {
        "HEADWAY_URL", "HEADWAY_TOKEN", "HEADWAY_TOKEN_FILE", "HEADWAY_JOB", "HEADWAY_ATTEMPT", "HEADWAY_HOME",
        "HEADWAY_DISABLED", "HEADWAY_INTERVAL", "HEADWAY_FINISH_TIMEOUT", "HEADWAY_CA_FILE", "HEADWAY_RUNNER",
        "HEADWAY_RELAY_FOR", "HEADWAY_STALL_FLOOR", "HEADWAY_STACKS", "HEADWAY_SERVER_HOST", "HEADWAY_SERVER_PORT",
        "HEADWAY_SERVER_STORE", "HEADWAY_SERVER_ALLOWED_HOSTS", "HEADWAY_SERVER_OPEN_METRICS", "HEADWAY_LOGS_MAX_DAYS",
        "HEADWAY_LOGS_MAX_BYTES", "HEADWAY_SKIP_DASHBOARD", "HEADWAY_AUTO", "HEADWAY_TRAINING_PID", "HEADWAY_GRACE",
    }
)  # fmt: skip


def variables(environ: Mapping[str, str]) -> Iterator[Check]:
    """Environment variables that change what Headway does."""
    for name in sorted(environ):
        if not name.startswith(("HEADWAY_", "KUBEFLOW_TRAINER_")):
            continue
        value = "(set)" if name == "HEADWAY_TOKEN" else environ[name]
        if name == "HEADWAY_DISABLED" and value == "1":
            yield Check(Level.WARN, name, "1: nothing is reported", "unset HEADWAY_DISABLED")
        elif name == auto.VARIABLE and not auto.wanted(environ):
            yield Check(Level.WARN, name, f"{value}: no framework is found by itself", f"unset {name}")
        elif name.startswith("HEADWAY_") and name not in VARIABLES and not name.startswith("HEADWAY_TEST_"):
            yield Check(Level.WARN, name, "no variable of Headway has this name", "check its spelling")
        elif name == "HEADWAY_URL" and not (environ.get("HEADWAY_TOKEN") or environ.get("HEADWAY_TOKEN_FILE")):
            yield Check(Level.WARN, name, f"{value}, but no token", "set HEADWAY_TOKEN or HEADWAY_TOKEN_FILE")
        elif name in {"HEADWAY_TOKEN_FILE", "HEADWAY_CA_FILE"} and not os.access(value, os.R_OK):
            yield Check(Level.FAIL, name, f"{value} cannot be read", "check the path and its permissions")
        else:
            yield Check(Level.OK, name, value)
