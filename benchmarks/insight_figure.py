"""Draws the trade-off of the stopping rules as an SVG, from what ``insight.py --json`` wrote.

python benchmarks/insight_figure.py insight.json > docs/explanation/verdicts-tradeoff.svg
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from typing import Any

WIDTH, LEFT, ROW, TOP = 760, 210, 30, 64
SCALE = 480 / 50
SAVED, LOST = "#2a9d5c", "#d1495b"


def figure(rules: list[dict[str, Any]]) -> str:
    """Two bars a rule: share of all steps saved (right answers) and lost (wrong ones), the best net first."""
    rules = sorted(rules, key=lambda rule: rule["lost"] - rule["saved"])
    height = TOP + ROW * len(rules) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        "<title>Share of all steps saved and lost by stopping at the first alarm</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<rect x="{LEFT}" y="16" width="12" height="12" fill="{SAVED}"/>'
        f'<text x="{LEFT + 18}" y="27" fill="#222">steps saved, % of all</text>',
        f'<rect x="{LEFT + 190}" y="16" width="12" height="12" fill="{LOST}"/>'
        f'<text x="{LEFT + 208}" y="27" fill="#222">steps lost, % of all</text>',
    ]
    for tick in range(0, 51, 10):
        x = LEFT + tick * SCALE
        parts.append(f'<line x1="{x:g}" y1="{TOP - 10}" x2="{x:g}" y2="{height - 12}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x:g}" y="{TOP - 14}" fill="#666" text-anchor="middle" font-size="11">{tick}</text>')
    for index, rule in enumerate(rules):
        y = TOP + ROW * index
        bold = ' font-weight="bold"' if rule["rule"] == "Headway" else ""
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 16}" fill="#222" text-anchor="end"{bold}>{escape(rule["rule"])}</text>'
        )
        for offset, share, colour in ((0, rule["saved"], SAVED), (12, rule["lost"], LOST)):
            width = 100 * share * SCALE
            parts.append(f'<rect x="{LEFT}" y="{y + offset}" width="{width:.1f}" height="10" fill="{colour}"/>')
            parts.append(
                f'<text x="{LEFT + width + 5:.1f}" y="{y + offset + 9}" fill="#444" font-size="10">{100 * share:.1f}</text>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(figure(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["rules"]))
