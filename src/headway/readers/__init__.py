"""Logs that other tools wrote, as points that insight can judge: for ``headway check``."""

from headway.readers.detect import read_log
from headway.readers.log import Log

__all__ = ["Log", "read_log"]
