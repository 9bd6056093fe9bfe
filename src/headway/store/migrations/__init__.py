"""The schema's history: ``NNNN_name.sql``, applied in order, never edited once released.

The number of the last one applied is the database's ``user_version``. A new one needs no other change here; the test that
opens a database of the first schema, with data, covers it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    script: str

    def statements(self) -> Iterator[str]:
        """The script's statements, one by one, so that they can share a transaction."""
        statement = ""
        for line in self.script.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                yield statement
                statement = ""


def migrations() -> tuple[Migration, ...]:
    """All of them, in order."""
    found = []
    for file in resources.files(__name__).iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found))
