"""Figures in words."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.cli.render import words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0.9, "0 s"),
        (41, "41 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (1500, "25 min"),
        (1559, "25 min"),
        (3600, "1 h"),
        (11_520, "3 h 12 min"),
        (86_399, "23 h 59 min"),
        (187_200, "2 d 4 h"),
        (86_400 * 12 + 7200, "12 d"),
        (math.inf, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-3, "<1 s"), (0, "<1 s"), (0.9, "<1 s"), (1, "1 s"), (200, "3 min 20 s")]
)
def test_what_is_left_is_never_nothing(seconds: float, text: str) -> None:
    assert words.remaining(seconds) == text


def test_other_times() -> None:
    assert [words.span(each) for each in (41, 1500, 22_320, 302_400)] == ["41 s", "25 min", "6.2 h", "3.5 d"]
    assert [words.ago(each) for each in (0.4, 12, 200, 9000)] == ["now", "12 s ago", "3 min ago", "2 h ago"]
    assert [words.short_time(each) for each in (0.0042, 0.18, 1.79, 41, 125)] == [
        "4.2 ms", "180 ms", "1.8 s", "41 s", "2 min 5 s",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.23468, "0.2347"),
        (2e-5, "2e-05"),
        (1000.0, "1000"),
        (41_234.5, "41234"),
        (1.5e9, "1.5e+09"),
        (0.0, "0"),
        (-0.5, "-0.5"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert words.number(value) == text


def test_money_and_hours() -> None:
    assert [words.money(each) for each in (0, 0.001, 0.42, 12.53, 55, 341.4, 1500)] == [
        "$0", "< $0.01", "$0.42", "$12.53", "$55", "$341", "$1,500",
    ]  # fmt: skip
    assert [words.hours(each) for each in (0.001, 0.42, 49.1, 320.2)] == [
        "4 device-s", "0.42 device-h", "49 device-h", "320 device-h",
    ]  # fmt: skip


def test_steps_and_epochs() -> None:
    assert words.steps(None, 1000) == "unknown"
    assert words.steps(450, None) == "450"
    assert words.steps(41_200, 88_000) == "41,200/88,000"
    assert words.epochs(1.354, 3.0) == "1.35/3"
    assert words.epochs(2.0, None) == "2"


@given(st.text())
def test_cleaned_text_is_harmless(text: str) -> None:
    cleaned = words.clean(text)
    assert not [char for char in cleaned if unicodedata.category(char) in {"Cc", "Cs"} or char in "\u202e\u2066\u200f"]
    assert words.clean("plain, naïve, 日本 🙂") == "plain, naïve, 日本 🙂"


def test_logs_are_shown_as_a_terminal_would_leave_them() -> None:
    assert words.clean_log("\x1b[31mred\x1b[0m\ttab\n") == "red\ttab"
    assert words.clean_log(" 10%|#\r 20%|##\r\n") == " 20%|##"
    assert words.clean_log("a\x1b[2Jb\x07") == "a\\x1b[2Jb\\x07"


@given(st.floats(-1, 2), st.integers(1, 80), st.booleans())
def test_bar_has_its_width(fraction: float, width: int, unicode: bool) -> None:
    done, rest = words.bar(fraction, width, unicode=unicode)
    assert len(done) + len(rest) == width
    assert fraction < 1 or not rest
    assert fraction > 0 or not done


@given(st.lists(st.floats(), max_size=300), st.integers(1, 60))
@example([1.7976931348623157e308] * 7 + [-1.7976931348623157e308] * 7, 2)
def test_sparkline_never_fails(values: list[float], width: int) -> None:
    assert len(words.sparkline(values, width)) == min(width, len(values))


def test_sparkline_keeps_its_shape() -> None:
    assert words.sparkline([3, 2, 1], 8) == "█▅▁"
    assert words.sparkline([1.0, math.nan, 2.0], 3) == "▁×█"
    late = words.sparkline([100.0] + [5.0 - i / 20 for i in range(40)], 41)
    assert len(set(late)) > 5, "one steep value at the start must not flatten all that follows"
