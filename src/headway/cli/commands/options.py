"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job.", show_default=False)]
Namespace = Annotated[str, typer.Option("--namespace", "-n", metavar="NS", help="Namespace of the job.")]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Jobs of every namespace.")]
Json = Annotated[bool, typer.Option("--json", help="Print strict JSON instead.")]

LOCAL = "local"


def finite(value: float | None) -> float | None:
    """For numbers that must not be infinite, which ``min`` lets pass."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value
