"""Every sentence that the server says has its place in the dashboard's catalogues."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
CATALOGUE = ROOT / "web" / "src" / "i18n" / "en" / "said.ts"
KIND = r"(?:course|outcome|warning)\.[\w.]+"
AS_IT_IS = {"warning.mended"}
"""Kinds whose text quotes what was sent, and is shown as it is."""


def test_every_kind_of_message_has_its_sentence() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "headway").rglob("*.py")]
    said = {kind for source in sources for kind in re.findall(rf'"({KIND})"', source)}
    known = set(re.findall(rf'"said\.({KIND})":', CATALOGUE.read_text(encoding="utf-8")))
    assert said == known | AS_IT_IS
