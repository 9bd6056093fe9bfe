"""Writes web/src/api/schema.ts, the API's types for the dashboard, from the server's own OpenAPI; ``--check`` only compares.

Needs Node and `npm ci` in web/ (`hatch_build.py` finds the one and tests/integration/web does the other).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from reference.http import routes

from headway.protocol.codec import dumps
from headway.server.openapi import build

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
TYPES = WEB / "src" / "api" / "schema.ts"
HEAD = "// Written by tools/generate_web_types.py from the server's OpenAPI; change the server's types instead.\n"


def types(node: str) -> str:
    """The TypeScript of the API's types."""
    with tempfile.TemporaryDirectory() as folder:
        document, written = Path(folder) / "openapi.json", Path(folder) / "schema.ts"
        document.write_bytes(dumps(build(routes())))
        generator = WEB / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
        command = [node, str(generator), str(document), "-o", str(written), "--immutable"]
        result = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"openapi-typescript failed:\n{result.stdout}{result.stderr}")
        return HEAD + written.read_text(encoding="utf-8")


def main() -> int:
    """Writes the types, or checks them."""
    sys.path.insert(0, str(ROOT))
    from hatch_build import machine_node, pypi_node

    text = types((machine_node() or pypi_node())[0])
    if TYPES.exists() and TYPES.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{TYPES.relative_to(ROOT)}: out of date; run `python tools/generate_web_types.py`")  # noqa: T201
        return 1
    TYPES.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
