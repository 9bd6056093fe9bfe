"""Figures in words: durations, ages, money, numbers, names. The same in every locale; unknown is said, never shown as 0."""

from __future__ import annotations

import itertools
import math
import re
import time
import unicodedata
from collections.abc import Iterable, Sequence

UNKNOWN = "unknown"
NONE = "-"

_ANSI = re.compile(r"\x1b\[[0-9;:]*m")
_BIDI = frozenset("\u061c\u200b\u200e\u200f\u2028\u2029\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SPARKS = "▁▂▃▄▅▆▇█"


def clean(text: str, *, keep: str = "") -> str:
    """Text that does nothing to a terminal: control, surrogate and direction characters become visible escapes.

    >>> clean("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in keep or _harmless(char) else _escape(char) for char in text)


def _harmless(char: str) -> bool:
    return char not in _BIDI and unicodedata.category(char) not in {"Cc", "Cs", "Co", "Cn"}


def _escape(char: str) -> str:
    code = ord(char)
    if char in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean_log(line: str) -> str:
    """One line of a log as a terminal would have left it: colours dropped, rewritten parts gone, the rest made harmless."""
    line = _ANSI.sub("", line.rstrip("\r\n"))
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part), "")
    return clean(line, keep="\t")


def duration(seconds: float) -> str:
    """``41 s``, ``3 min 20 s``, ``25 min``, ``3 h 12 min``, ``2 d 4 h``: two units at most, rounded down."""
    if not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours and days < 10 else f"{days} d"


def remaining(seconds: float) -> str:
    """What is left, as :func:`duration`, but ``<1 s`` at the very end: what is not over takes more than none."""
    return "<1 s" if seconds < 1 else duration(seconds)


def span(seconds: float) -> str:
    """A duration in one unit: ``25 min``, ``6.2 h``, ``3.5 d``."""
    if seconds < 3600:
        return coarse(seconds)
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} d"


def coarse(seconds: float) -> str:
    """``41 s``, ``25 min``, ``3 h``, ``2 d``: the first unit of :func:`duration`."""
    return " ".join(duration(seconds).split(" ")[:2])


def ago(seconds: float) -> str:
    """``12 s ago``, ``3 h ago``; ``now`` within the second."""
    return "now" if seconds < 1 else f"{coarse(seconds)} ago"


def short_time(seconds: float) -> str:
    """The time that one step takes: ``180 ms``, ``1.8 s``, ``41 s``, ``2 min 5 s``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def moment(at: float, now: float) -> str:
    """A point in time in the user's zone: ``16:40`` today, ``Sat 01:12`` within the week, else with its date."""
    there, here = time.localtime(at), time.localtime(now)
    if there[:3] == here[:3]:
        return time.strftime("%H:%M", there)
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    if abs(at - now) < 6 * 86400:
        return f"{days[there.tm_wday]} {time.strftime('%H:%M', there)}"
    return time.strftime("%Y-%m-%d %H:%M", there)


def stamp(at: float) -> str:
    """A point in time with its date, in the user's zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def number(value: float) -> str:
    """Four significant digits, integers whole: ``0.2347``, ``2e-05``, ``41200``, ``NaN``."""
    if value != value:  # noqa: PLR0124 - NaN
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if float(value).is_integer() and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def count(value: int) -> str:
    """A count, its thousands set apart from 10,000 on: ``1000``, ``41,200``."""
    return f"{value:,}" if abs(value) >= 10_000 else str(value)


def steps(step: int | None, total: int | None) -> str:
    """``450/1000``; ``450`` where the total is unknown; ``unknown`` where the step is."""
    if step is None:
        return UNKNOWN
    return count(step) if total is None else f"{count(step)}/{count(total)}"


def epochs(epoch: float | None, total: float | None) -> str:
    """``1.35/3``."""
    if epoch is None:
        return UNKNOWN
    words = f"{epoch:.2f}".rstrip("0").rstrip(".")
    return words if total is None else f"{words}/{total:.6g}"


def money(amount: float) -> str:
    """``$341``, ``$1,500``, ``$0.42``."""
    if 0 < amount < 0.01:
        return "< $0.01"
    return f"${amount:,.0f}" if amount >= 100 or float(amount).is_integer() else f"${amount:.2f}"


def hours(amount: float) -> str:
    """An amount of device time: ``49 device-h``, ``0.4 device-h``."""
    if 0 < amount < 0.01:
        return f"{amount * 3600:.0f} device-s"
    return f"{amount:.0f} device-h" if amount >= 100 else f"{amount:.2g} device-h"


def bar(fraction: float, width: int, *, unicode: bool = True) -> tuple[str, str]:
    """The done and the open part of a progress bar of ``width`` characters."""
    fraction = min(1.0, max(0.0, fraction))
    if not unicode:
        full = int(fraction * width)
        return "#" * full, "." * (width - full)
    halves = int(fraction * width * 2)
    done = "━" * (halves // 2) + "╸" * (halves % 2)
    return done, "─" * (width - len(done))


def sparkline(values: Sequence[float], width: int) -> str:
    """A curve in one line of at most ``width`` characters; ``×`` where no value of a stretch was finite.

    The scale leaves out the first tenth when it alone is far off: a steep start must not flatten all that follows.
    """
    if not values:
        return ""
    width = min(width, len(values))
    edges = [round(index * len(values) / width) for index in range(width + 1)]
    means = [_mean(values[low:high]) for low, high in itertools.pairwise(edges)]
    finite = sorted(value for value in means if value is not None)
    if not finite:
        return "×" * width
    low, high = finite[0], finite[-1]
    later = [value for value in means[max(1, width // 10) :] if value is not None]
    if len(later) > 8 and later and max(later) - min(later) < (high - low) / 4:
        high = max(later)
        low = min(low, *later)
    span = (high / 2 - low / 2) or 1.0  # halves: the difference of two doubles need not be one
    top = len(_SPARKS) - 1
    return "".join(
        "×" if mean is None else _SPARKS[min(top, max(0, round((mean / 2 - low / 2) / span * top)))] for mean in means
    )


def _mean(values: Iterable[float]) -> float | None:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    mean = sum(value / len(finite) for value in finite)
    return min(max(mean, min(finite)), max(finite))  # rounded, the mean of the largest doubles may be past them
