"""How stored documents are written: JSON without blanks, by the standard library unless something faster is at hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeAlias

WriteJson: TypeAlias = Callable[[object], bytes]
"""Writes a JSON value without blanks. All numbers in it are finite."""

_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def write_json(value: object) -> bytes:
    """JSON by the standard library."""
    return _encode(value).encode()
