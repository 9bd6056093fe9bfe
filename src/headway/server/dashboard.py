"""The built dashboard as files: where it lies, what may be asked of it, and how browsers may keep it.

`web/` is built into ``static/`` beside this module (see ``hatch_build.py``). The page itself is asked for anew each time; what
it loads has a hash of its content in its name, so a browser never asks twice.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from litestar import Response

from headway.errors import NotFoundError

STATIC: Final = Path(__file__).parent / "static"
"""Where the build hook puts the dashboard."""
PAGES: Final = ("/", "/compare", "/fleet")
"""The dashboard's addresses: all of them are one page, which reads the address itself."""
IMMUTABLE: Final = "public, max-age=31536000, immutable"

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_KINDS: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_COMPRESSED: Final = frozenset({".css", ".js", ".json", ".svg"})


@dataclass(slots=True)
class Dashboard:
    """The files of one build, read when first asked for."""

    folder: Path = STATIC
    _read: dict[str, tuple[bytes, bytes | None]] = field(default_factory=dict)
    """Content and its gzip, by name."""

    def page(self) -> bytes | None:
        """The page; None when this build ships no dashboard."""
        try:
            return (self.folder / "index.html").read_bytes()
        except OSError:
            return None

    def asset(self, name: str, accepted: str) -> Response[bytes]:
        """One file that the page loads, compressed where the browser accepts that (``accepted``: its ``Accept-Encoding``).

        Raises:
            NotFoundError: there is no such file.
        """
        kind = _KINDS.get(Path(name).suffix)
        if kind is None or not _NAME.fullmatch(name):
            raise NotFoundError("the dashboard has no such file")
        if name not in self._read:
            self._read[name] = self._load(name)
        content, compressed = self._read[name]
        headers = {"cache-control": IMMUTABLE}
        if compressed is not None:
            headers["vary"] = "accept-encoding"
            if "gzip" in accepted:
                content = compressed
                headers["content-encoding"] = "gzip"
        return Response(content, media_type=kind, headers=headers)

    def _load(self, name: str) -> tuple[bytes, bytes | None]:
        try:
            content = (self.folder / "assets" / name).read_bytes()
        except OSError:
            raise NotFoundError("the dashboard has no such file; reload the page if the server was renewed") from None
        return content, gzip.compress(content, 6, mtime=0) if Path(name).suffix in _COMPRESSED else None
