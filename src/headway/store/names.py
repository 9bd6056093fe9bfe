"""Which names a store can keep: any text but NUL and half characters, which SQLite or UTF-8 cannot hold."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from headway.errors import InvalidError

_UNFIT: Final = re.compile("[\0\ud800-\udfff]")


def check_names(*names: str) -> None:
    """Refuses what is no text that every database can hold.

    Raises:
        InvalidError: a name holds NUL, or half of a surrogate pair.
    """
    for name in names:
        if _is_unfit(name):
            raise InvalidError(f"the name {name!r} cannot be kept: it holds a NUL or half a character")


@lru_cache(4096)
def _is_unfit(name: str) -> bool:
    return _UNFIT.search(name) is not None
