"""Where processes stand whose interpreter runs nothing: their watchdogs write it here, the runner hands it on.

The other end is :mod:`headway.reporter.watchdog`.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Final

from headway.protocol.lifecycle import Stuck
from headway.reporter.folders import private_folder

_log = logging.getLogger("headway.runner")

_MOST_CHARACTERS: Final = 6000


class Stacks:
    """The folder of one runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)

    def stuck(self) -> Stuck | None:
        """One process whose interpreter stands still, the first to have begun; None where all run."""
        try:
            files = sorted(self.folder.glob("*.stack"))
            for file in files:
                if text := file.read_text(encoding="utf-8", errors="replace").strip():
                    return Stuck(run=file.stem, stack=text[-_MOST_CHARACTERS:])
        except OSError as error:
            _log.debug("stacks cannot be read: %s", error)
        return None

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
