"""Writes the reference pages that come from the code; with ``--check`` only says which are out of date.

docs/reference/cli.md             every command and option
docs/reference/frameworks.md      what each adapter reports
docs/reference/http.md            every endpoint of the server
docs/reference/python.md          the public API
docs/reference/settings.md        environment variables and settings
docs/reference/wire.md            the report and its answer, to read
docs/reference/wire.schema.json   the same as JSON Schema
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from reference.cli import cli_page
from reference.frameworks import frameworks_page
from reference.http import http_page
from reference.python import python_page
from reference.settings import settings_page
from reference.wire import wire_page

from headway.server.wire_schema import wire_schema

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def pages() -> dict[Path, str]:
    """Every generated page by its path."""
    return {
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "frameworks.md": frameworks_page(),
        REFERENCE / "http.md": http_page(),
        REFERENCE / "python.md": python_page(),
        REFERENCE / "settings.md": settings_page(),
        REFERENCE / "wire.md": wire_page(),
        REFERENCE / "wire.schema.json": json.dumps(wire_schema(), indent=2, ensure_ascii=False) + "\n",
    }


def main() -> int:
    """Writes the pages, or checks them."""
    check = "--check" in sys.argv[1:]
    stale = []
    for path, text in pages().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path.relative_to(REFERENCE.parents[1])}: {'out of date; run `make docs`' if check else 'written'}")  # noqa: T201
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
