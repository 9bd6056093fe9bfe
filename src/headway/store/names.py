"""Which names a store can keep."""

from __future__ import annotations

from headway.errors import InvalidError


def check_names(*names: str) -> None:
    """Refuses what is no text that every database can hold.

    Raises:
        InvalidError: a name holds NUL, or half of a surrogate pair.
    """
    for name in names:
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            raise InvalidError(f"the name {name!r} cannot be kept: it holds a NUL or half a character")
