"""A page made of headings, aligned pairs, small tables and paragraphs; the same lines with colours or without."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from headway.cli.render import words
from headway.cli.render.view import View

_INDENT = "  "
_LABEL = 13
_NARROWEST = 16
"""How far a table's first column gives way."""


class Sheet:
    """Collects the lines of a page. Every string given to it is made harmless; a :class:`Text` is taken as it is."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.lines: list[Text] = []

    def line(self, *parts: str | Text | tuple[str, str]) -> None:
        """One line, cut to the width where there is one."""
        line = Text(no_wrap=True, end="")
        for part in parts:
            if isinstance(part, Text):
                line.append_text(part)
            elif isinstance(part, tuple):
                line.append(words.clean(part[0]), part[1])
            else:
                line.append(words.clean(part))
        if self.view.width is not None and cell_len(line.plain) > self.view.width:
            line.truncate(self.view.width, overflow="ellipsis" if self.view.unicode else "crop")
        self.lines.append(line)

    def heading(self, title: str) -> None:
        """A section's title, set off by an empty line."""
        if self.lines:
            self.lines.append(Text(end=""))
        self.lines.append(Text(title, "bold" if self.view.fancy else "", end=""))

    def pair(self, label: str, value: str | Text, *, style: str = "", whole: bool = False) -> None:
        """A label and its value; a long value goes on below itself. ``whole``: the terminal breaks it, so it can be copied."""
        label = words.clean(label)
        pad = " " * max(2, _LABEL + 2 - cell_len(label))
        head = Text.assemble(_INDENT, (label, "dim" if self.view.fancy else ""), pad)
        if isinstance(value, Text):
            self.line(head, value)
            return
        if whole:
            self.lines.append(Text.assemble(head, (words.clean(value), style), no_wrap=True, end=""))
            return
        for index, part in enumerate(self._wrap(value, cell_len(head.plain))):
            self.line(head if index == 0 else " " * cell_len(head.plain), Text(part, style))

    def paragraph(self, text: str, *, style: str = "", indent: str = _INDENT) -> None:
        """Text over as many lines as it takes."""
        for part in self._wrap(text, len(indent)):
            self.line(indent, Text(part, style))

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
        """A small table, each column as wide as its longest cell; the first gives way where the width does not suffice."""
        cells = [[each if isinstance(each, Text) else Text(words.clean(each)) for each in row] for row in rows]
        header = [Text(title, "dim" if self.view.fancy else "") for title in titles]
        widths = [max(cell_len(row[index].plain) for row in [header, *cells]) for index in range(len(titles))]
        if self.view.width is not None:
            over = len(_INDENT) + sum(widths) + 2 * (len(widths) - 1) - self.view.width
            widths[0] = max(min(widths[0], _NARROWEST), widths[0] - max(0, over))
        for row in [header, *cells]:
            line = Text(_INDENT)
            for index, cell in enumerate(row):
                if index == 0:
                    cell.truncate(widths[0], overflow="ellipsis" if self.view.unicode else "crop")
                line.append_text(cell)
                if index < len(row) - 1:
                    line.append(" " * (widths[index] - cell_len(cell.plain) + 2))
            line.rstrip()
            self.line(line)

    def _wrap(self, text: str, used: int) -> list[str]:
        text = words.clean(text)
        if self.view.width is None:
            return [text]
        return textwrap.wrap(text, max(20, self.view.width - used), break_on_hyphens=False) or [""]
