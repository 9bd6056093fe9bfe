"""tqdm: a progress bar around a loop that trains knows how long the loop is, where nobody else does.

Bars alone mean nothing, for most are around downloads or the preparation of data. So only bars that move together with steps that
somebody else counts are looked at, and they begin no run. A total is told when it follows from what was seen: the outermost bar
stands in no other loop, and its items have had the same number of steps; or, in its first item, the bars within have. A total
that does not follow stays unknown: a bar over the batches of an epoch, in a loop without a bar, says nothing of the whole.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headway.adapters.base import About, harmless
from headway.adapters.loops import Place, depth, places
from headway.reporter.slots import Layer

if TYPE_CHECKING:
    from headway.reporter.run import Run
    from headway.reporter.voice import Voice

ABOUT: Final = About(
    title="tqdm",
    framework=None,
    layer=Layer.BAR,
    steps="None of its own: it only adds to steps that another layer counts.",
    total="The outermost bar that moves together with the steps, where nobody else knows the total.",
    epochs="The outermost bar, where each of its items has several steps.",
    metrics="None.",
    config="None.",
    checkpoints="None.",
    directives="None.",
    by_hand="headway.current_run().set_total(epochs * len(loader))",
)
_PATIENCE: Final = 1000
"""Items without any step after which a bar is no longer looked at."""
_SURE: Final = 2
"""Times in a row that a bar within must have shown the same number of steps for its items."""
_EVERY: Final = 0.2
"""Seconds between two estimates."""
_MOST_BARS: Final = 64


class _Watch:
    """One bar that is open."""

    def __init__(self, bar: Any, where: tuple[Place, ...]) -> None:
        self._where: tuple[Place, ...] | None = where
        self._depth: int | None = None
        self._bar = weakref.ref(bar)
        self.position: float = bar.n
        self.iterating = False
        self.seen = _completed()
        """Steps complete when it last moved together with them."""
        self.pace: tuple[float, int] = (0, 0)
        """Items, and the steps that they had."""
        self.same = 0
        """How often in a row."""
        self._waiting: float = 0

    @property
    def total(self) -> float | None:
        """Items that the bar is to have."""
        total: float | None = getattr(self._bar(), "total", None)
        return total

    @property
    def depth(self) -> int | None:
        """Loops around the place where it was made."""
        if self._where is not None:
            self._depth, self._where = depth(self._where), None
        return self._depth

    def moved(self, items: float) -> bool:
        """Takes in that items are done; returns whether steps were, too."""
        self.position += items
        self._waiting += items
        completed = _completed()
        if completed == self.seen:
            return False
        pace = (self._waiting, completed - self.seen)
        self.same = self.same + 1 if pace == self.pace else 1
        self.pace, self._waiting, self.seen = pace, 0, completed
        return True

    @property
    def hopeless(self) -> bool:
        return not self.same and self._waiting >= _PATIENCE

    def end(self) -> float | None:
        """Steps complete at its end, by its own pace."""
        items, steps = self.pace
        if self.total is None or self.same < (1 if steps > items else _SURE):
            return None
        left = (self.total - self.position + self._waiting) * steps / items
        return self.seen + left if left >= 0 and left == int(left) else None


class _Bars:
    """The bars that are open on the main thread, from the outside in."""

    def __init__(self) -> None:
        self.open: list[_Watch] = []
        self._voice: Voice | None = None
        self._of: Any = None
        self._next = 0.0

    @harmless
    def made(self, bar: Any, where: tuple[Place, ...]) -> None:
        """A bar was made."""
        if threading.current_thread() is threading.main_thread() and len(self.open) < _MOST_BARS:
            watch = bar._headway_watch = _Watch(bar, where)
            self.open.append(watch)

    def closed(self, watch: _Watch) -> None:
        """A bar is closed."""
        if watch in self.open:
            self.open.remove(watch)

    @harmless
    def moved(self, watch: _Watch, items: float) -> bool:
        """A bar moves on; returns whether to go on looking at it."""
        if watch.moved(items):
            now = time.monotonic()
            items, steps = watch.pace
            if steps > items or watch.same <= _SURE or now >= self._next:
                self._next = now + _EVERY
                self._tell()
        elif watch.hopeless:
            self.closed(watch)
            return False
        return True

    def _tell(self) -> None:
        chain = [watch for watch in self.open if watch.iterating or watch.same]
        if not chain or chain[0].depth != 0:
            return
        outer, voice = chain[0], self._say()
        within = chain[1:] if all(watch.depth == level for level, watch in enumerate(chain)) else []
        end = self._end([outer, *within])
        if end is not None:
            voice.set_total(end)
        several = outer.pace[1] > outer.pace[0] if outer.same else voice.completed > outer.seen + 1
        if several and outer.iterating and outer.total is not None:
            voice.set_epoch(outer.position + self._share(within), outer.total)

    def _end(self, chain: list[_Watch]) -> float | None:
        """Steps complete at the end of the outermost bar of a chain."""
        outer, within = chain[0], chain[1:]
        if outer.same or not within or outer.total is None:
            return outer.end()
        end = self._end(within)
        return None if end is None else end + (outer.total - outer.position - 1) * (end - outer.seen)

    def _share(self, within: list[_Watch]) -> float:
        """Part of an item of the outermost bar that is done."""
        if not within or not within[0].total:
            return 0.0
        return min(1.0, (within[0].position + self._share(within[1:])) / within[0].total)

    def _say(self) -> Voice:
        from headway.reporter.start import speak

        run = _run()
        if self._voice is None or run is not self._of:
            self._voice, self._of = speak(ABOUT.layer, claims=False), run
        return self._voice


def _run() -> Run | None:
    """The run of this process; where nothing has begun one, nothing is imported for it."""
    start = sys.modules.get("headway.reporter.start")
    return None if start is None else start.current_run()


def _completed() -> int:
    run = _run()
    return 0 if run is None else run.completed


_bars = _Bars()


def _watched(items: Iterator[Any], watch: _Watch, bars: _Bars) -> Iterator[Any]:
    watch.iterating = True
    try:
        for item in items:
            yield item
            if not bars.moved(watch, 1):
                break
        yield from items
    finally:
        bars.closed(watch)


def hook(module: ModuleType) -> None:
    """Looks at every bar: called with ``tqdm.std``."""
    cls, bars = module.tqdm, _bars  # a bar may be closed when the interpreter has cleared this module already
    folders = (os.path.dirname(module.__file__ or "") + os.sep, os.path.dirname(__file__) + os.sep)
    init, iterate, update, close = cls.__init__, cls.__iter__, cls.update, cls.close

    @functools.wraps(init)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        bars.made(self, places(folders))

    @functools.wraps(iterate)
    def iterated(self: Any) -> Iterator[Any]:
        watch = getattr(self, "_headway_watch", None)
        return iterate(self) if watch is None else _watched(iterate(self), watch, bars)

    @functools.wraps(update)
    def updated(self: Any, n: float = 1) -> Any:
        watch = getattr(self, "_headway_watch", None)
        if watch is not None and not watch.iterating:
            bars.moved(watch, n)
        return update(self, n)

    @functools.wraps(close)
    def closed(self: Any) -> None:
        watch = getattr(self, "_headway_watch", None)
        if watch is not None:
            bars.closed(watch)
        close(self)

    cls.__init__, cls.__iter__, cls.update, cls.close = made, iterated, updated, closed
