"""Cuts a byte stream into lines of text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator


class LineSplitter:
    """Lines end with a line feed alone: a progress bar that returns the carriage stays one line."""

    __slots__ = ("_decoder", "_rest")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that ``chunk`` completes, without their ends."""
        *lines, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n")
        yield from (line.removesuffix("\r") for line in lines)

    def end(self) -> Iterator[str]:
        """What is left when the stream ends: a last line without an end, if any."""
        rest = self._rest + self._decoder.decode(b"", final=True)
        self._rest = ""
        if rest:
            yield rest
