"""``headway run``: starts a training command, tracks it truthfully, and never stands in its way."""

from headway.runner.request import RunRequest
from headway.runner.run import run

__all__ = ["RunRequest", "run"]
