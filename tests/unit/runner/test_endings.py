"""Exit codes, endings, and the last lines of a log."""

from __future__ import annotations

import pytest

from headway.protocol.report import EndingKind
from headway.runner.endings import ending_of, exit_code
from headway.runner.output import TAIL_LINES, tail_lines


@pytest.mark.parametrize(
    ("code", "asked", "kind", "shell", "signal"),
    [
        (0, False, EndingKind.COMPLETED, 0, None),
        (3, False, EndingKind.FAILED, 3, None),
        (-9, False, EndingKind.FAILED, 137, "SIGKILL"),
        (-15, True, EndingKind.CANCELLED, 143, "SIGTERM"),
        (0, True, EndingKind.CANCELLED, 0, None),
        (137, False, EndingKind.FAILED, 137, None),
        (-63, False, EndingKind.FAILED, 191, "signal 63"),
    ],
)
def test_an_exit_code_becomes_an_ending(
    code: int, asked: bool, kind: EndingKind, shell: int, signal: str | None
) -> None:
    ending = ending_of(code, ("last",), asked=asked)
    assert (ending.kind, ending.exit_code, ending.signal, ending.log_tail) == (kind, shell, signal, ("last",))
    assert exit_code(code) == shell


def test_the_tail_is_what_a_person_would_see() -> None:
    text = b"\x1b[31mred\x1b[0m\r\n  1%|\r 50%|\r100%|done\n\n\xff\xfe bytes\n\x1b]0;title\x07x\ttab\n" + b"y" * 1000
    assert tail_lines(text) == ("red", "100%|done", "�� bytes", "x\ttab", "y" * 399 + "…")
    lines = "".join(f"line {index}\n" for index in range(100)).encode()
    assert tail_lines(lines) == tuple(f"line {index}" for index in range(100 - TAIL_LINES, 100))
    assert tail_lines(b"") == ()
