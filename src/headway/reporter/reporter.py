"""The reporter's thread: each second it folds what training wrote, each interval it sends, and at the end it says how it ended.

::

    slots ──fold──► points ──► outbox ──batch──► report ──► delivery ──► server, or spool
                      └──► snapshot (progress, ETA) ──┘         └── answer: ack, interval, directives ──► slots
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Final

from headway.insight.stall import StallSettings
from headway.protocol.directive import Answer
from headway.protocol.limits import BEATS_PER_SECOND, beat_interval
from headway.protocol.report import Ending, EndingKind, RunInfo
from headway.reporter.agreement import LEAD, Pace
from headway.reporter.asking import Asking
from headway.reporter.compose import Moment
from headway.reporter.countdown import Countdown
from headway.reporter.delivery import Delivery
from headway.reporter.devices import device_now
from headway.reporter.fold import Folder
from headway.reporter.identity import find_attempt, find_placement, framework_guess, framework_loaded
from headway.reporter.marks import steps_ahead
from headway.reporter.notices import Notices, log
from headway.reporter.outbox import Outbox
from headway.reporter.route import Route
from headway.reporter.settings import Settings
from headway.reporter.slots import Lane, Layer, Slots
from headway.reporter.snapshot import Snapshot
from headway.reporter.stacks import stack_of
from headway.reporter.watchdog import Watchdog

_STACK_SHARE: Final = 0.5
"""Part of what the run's pace explains after which its stack is sent along, so that it is there when it is Stalled."""
_STACK_EVERY: Final = 60.0
_STACK_AT_LEAST: Final = 5.0
_HOLD: Final = 2.0
_HOLD_WITH_FRAMEWORK: Final = 30.0
"""Seconds for which a process that does not know its rank says nothing before its first step: it may hear of one yet."""
_LAST_VALUES: Final = 0.3
"""Seconds that the end waits for values that a device still owes."""
_MARGIN: Final = 0.2
_FIRST_BEATS: Final = 0.9
"""Of the time between two beats of a rank: all ranks have begun to beat by then."""


class Reporter:
    """One run's reporting. Everything below ``_run`` happens on its thread; the others call :meth:`finish` only."""

    def __init__(self, slots: Slots, settings: Settings, info: RunInfo, run: str, name: str) -> None:
        self._slots = slots
        self._settings = settings
        self._info = info
        self._origin = time.monotonic()
        self._notices = Notices()
        self._folder = Folder(slots, self._origin)
        self._counting = slots.heard
        self._snapshot = Snapshot(slots, self._origin, self._notices, stall_floor=settings.stall_floor)
        self._watchdog = Watchdog(settings.stacks, run, settings.stall_floor or StallSettings().floor)
        self._outbox = Outbox()
        self._route = Route(settings, run, name, self._notices)
        self._delivery = Delivery(
            route=self._route,
            outbox=self._outbox,
            moment=self._moment,
            heard=self._heard,
            settings=settings,
            notices=self._notices,
        )
        self._placement = find_placement()
        self.countdown = Countdown(settings.grace, settings.finish_timeout, settings.launcher_grace)
        self.asking = Asking(slots, lambda: self._placement, self._pace, self.countdown)
        self.stands: Callable[[], bool] = lambda: False
        """Whether a signal lies there to which the main thread does not come round."""
        self._hurries = False
        self._attempt: str | None = None
        self._checkpoint = slots.checkpoint
        self._acks: tuple[str, ...] = ()
        self._spoke = False
        self._ending: Ending | None = None
        self._ending_written = False
        self._listens = False
        self._deadline = 0.0
        self._next_stack = 0.0
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="headway", daemon=True)
        self.run = run
        self.training_thread = threading.main_thread().ident

    def start(self) -> None:
        """Starts the thread, once."""
        if self._thread.ident is not None:
            return
        for problem in self._settings.problems:
            log.warning("%s", problem)
        self._thread.start()
        self.asking.start()

    def describe(
        self, config: dict[str, str | int | float | bool | None], tags: tuple[str, ...], metrics: dict[str, str]
    ) -> None:
        """Adds to the run's description, and tells it again."""
        info = self._info
        tags = tuple(dict.fromkeys((*info.tags, *tags)))
        self._info = replace(info, config={**info.config, **config}, tags=tags, metrics={**info.metrics, **metrics})
        self._delivery.describe = True

    def hurry(self) -> None:
        """A signal was heeded: says so now, and hears how much time there is. From a handler, too."""
        self._hurries = True
        self._wake.put(None)

    def finish(self, ending: Ending, timeout: float) -> None:
        """Says how the run ended, and returns within ``timeout`` seconds or hardly later; what is not sent by then is spooled."""
        self._deadline = time.monotonic() + timeout
        self._watchdog.close()
        self.asking.close()
        self._ending = ending
        self._wake.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():  # it hangs in a call to the network
            self._rescue()

    def abandon(self) -> None:
        """In a forked child: this is the parent's reporter, not ours. Takes no lock."""
        self._watchdog.abandon()
        self._route.abandon()

    def _run(self) -> None:
        next_tick = self._origin + self._settings.tick
        next_send = self._origin
        while self._ending is None:
            now = time.monotonic()
            try:
                self._watchdog.feed(now)
                if now >= next_tick:
                    next_tick = now + self._settings.tick - (now - next_tick) % self._settings.tick
                    self._fold()
                if now >= next_send or self._take_hurry():
                    next_send = now + (self._send(now) or self._interval())
            except Exception as error:  # noqa: BLE001 - a fault of ours must not end the reporting
                self._fault(error)
                next_send = now + self._settings.last_backoff
            try:
                self._wake.get(timeout=max(0.0, min(next_tick, next_send) - time.monotonic()))
            except Empty:
                pass
        try:
            self._end()
        except Exception as error:  # noqa: BLE001 - nobody is there to catch it
            self._fault(error)
        finally:
            self._route.close()

    def _take_hurry(self) -> bool:
        """Whether to report out of turn, once; of very many processes, only the one that writes."""
        hurries, self._hurries = self._hurries, False
        return hurries and (self._placement.writer or self._placement.world_size <= BEATS_PER_SECOND)

    def _fault(self, error: Exception) -> None:
        self._notices.warn(f"the reporter has a fault, and training goes on: {error!r}")
        log.debug("a fault of the reporter", exc_info=error)

    def _fold(self) -> None:
        with self._delivery.lock:
            self._place()
            folded = self._folder.fold()
            if self._placement.writer:
                self._outbox.add(folded.points)
            self._snapshot.take_in(folded, time.monotonic())
            self._take_done()
            if self._slots.heard is not self._counting:
                self._counting, self._delivery.describe = self._slots.heard, True  # it began elsewhere
        if self._slots.listens and not self._listens:
            self._listens = self._delivery.describe = True
        self._fit_grace()
        for name, reason in {**self._slots.samples.left_out, **self._folder.unreadable}.items():
            self._notices.once(f"metric {name}", f"metric {name!r} was left out: it is no single number ({reason})")

    def _fit_grace(self) -> None:
        """Says so when what a step and a save take does not fit between SIGTERM and SIGKILL."""
        saved, step = self._slots.checkpoint, self._snapshot.usual_seconds
        if not self._listens or saved is None or saved.seconds is None or step is None:
            return
        agreeing = 0.0 if self._placement.world_size == 1 else LEAD
        needed, grace = agreeing + step + saved.seconds, self.countdown.grace
        if needed > grace:
            self._notices.once(
                f"grace {grace:.0f}",
                f"to save at SIGTERM takes about {needed:.0f} s (a step, a save, and what agreeing takes), and "
                f"{grace:g} s are given (HEADWAY_GRACE): it would be killed first",
            )

    def _take_done(self) -> None:
        """Takes over what was saved and acknowledged, so that an acknowledgement never comes before the checkpoint it means."""
        done = tuple(self._slots.done)
        if self._slots.checkpoint is not self._checkpoint:
            self._checkpoint = self._outbox.checkpoint = self._slots.checkpoint
        self._acks = done

    def _place(self) -> None:
        if not self._placement.certain or self._slots.place is not None:
            self._placement = find_placement(told=self._slots.place)
        self._slots.samples.want(self._placement.writer)

    def _send(self, now: float) -> float | None:
        """Reports, if this process has something to say; returns seconds to wait if that failed."""
        if not self._spoke and not self._may_speak(now):
            return self._settings.tick / 4
        first, self._spoke = not self._spoke, True
        if not self._placement.writer:
            if not self._route.beats:
                return None
            if (
                first and self._ending is None and self._settings.interval is None
            ):  # all ranks begin in the same moment; each has its place in the period
                rank, world = self._placement.rank, self._placement.world_size
                return rank / world * min(_FIRST_BEATS * beat_interval(world), world * self._settings.tick)
        with self._delivery.lock:
            self._take_done()
        return self._delivery.deliver()

    def _interval(self) -> float:
        """Seconds until the next report: a rank that only beats does so seldom, whoever answers it."""
        placement, interval = self._placement, self._route.interval
        if placement.writer or self._settings.interval is not None:
            return interval
        return max(interval, beat_interval(placement.world_size) / 2)

    def _may_speak(self, now: float) -> bool:
        """Whether the rank is known, or nobody is left who could tell it: two processes must never both write progress."""
        with self._delivery.lock:
            self._place()
        if self._placement.certain or self._ending is not None or self._slots.entries or self._snapshot.stepped:
            return True
        hold = _HOLD_WITH_FRAMEWORK if framework_loaded() else _HOLD
        return not self._placement.crowd and now - self._origin >= hold

    def _moment(self) -> Moment:
        now = time.monotonic()
        placement = self._placement
        if self._attempt is None:
            self._attempt = find_attempt(os.environ, self.run, placement)
        ending = self._outbox.batch.ending if self._outbox.batch is not None else None
        info = replace(
            self._info,
            framework=self._slots.framework[1] if self._slots.framework else framework_guess(),
            local_rank=placement.local_rank,
            grace=round(self.countdown.grace, 1) if self._listens else None,
            versions=_versions(self._info.versions),
            start_step=_start_of(self._slots.heard),
        )
        return Moment(
            run=self.run,
            attempt=self._attempt,
            placement=placement,
            sent_after=now - self._origin,
            progress=self._snapshot.progress(now),
            status=self._snapshot.status(now, ending or self._outbox.ending) if placement.writer else None,
            info=info if self._delivery.describe else None,
            stack=self._stack_if_stalled(now),
            acks=self._acks,
            device=device_now(placement.local_rank),
        )

    def _stack_if_stalled(self, now: float) -> str | None:
        if self.stands():
            return stack_of(self.training_thread)
        age, limit = self._snapshot.standstill(now)
        if age <= _STACK_SHARE * limit:
            self._next_stack = 0.0
            return None
        if now < self._next_stack:
            return None
        self._next_stack = now + min(_STACK_EVERY, max(_STACK_AT_LEAST, _STACK_SHARE * limit))
        return stack_of(self.training_thread)

    def _heard(self, answer: Answer) -> None:
        for warning in answer.warnings:
            self._notices.once(f"server {warning}", f"the server says: {warning}")
        if answer.grace is not None and self.countdown.tell(answer.grace):
            self._delivery.describe = True
            self._fit_grace()
        self.asking.hear(answer.directives)

    def _pace(self, seconds: float) -> Pace:
        """Where training is, as the asking thread sees it."""
        slots, at = self._slots, self._snapshot.last_advance()
        age = 0.0 if at is None else time.monotonic() - at
        return Pace(slots.completed, steps_ahead(self._snapshot.marks, seconds, age), slots.total_steps)

    def _end(self) -> None:
        latest = time.monotonic() + min(_LAST_VALUES, max(0.0, self._deadline - time.monotonic() - _MARGIN))
        self._fold()
        while self._folder.owes() and time.monotonic() < latest:
            time.sleep(0.02)
            self._fold()
        with self._delivery.lock:
            self._write_ending()
        while not self._outbox.empty or not self._spoke:
            left = self._deadline - time.monotonic() - _MARGIN
            if left <= 0:
                break
            if self._route.http is not None:
                self._route.http.limit(left)
            wait = self._send(time.monotonic())
            if self._outbox.empty or (self._route.local and self._route.http is None):
                break  # all is said, or this machine has no server: no use in waiting for one
            time.sleep(min(0.1 if wait is None else wait, 0.25, left))
        self._delivery.rescue(_MARGIN)

    def _write_ending(self) -> None:
        """The last word. Of many ranks that end well at once, only the first says so."""
        placement, ending = self._placement, self._ending
        if ending is None or self._ending_written:
            return
        self._ending_written = True
        slots, heard = self._slots, self._slots.heard
        if heard.numbered and slots.total_steps == slots.completed + 1 and ending.kind is EndingKind.COMPLETED:
            heard.zero_based = True  # a loop over range(n) ends at n - 1
        failed = ending.kind is EndingKind.FAILED
        if placement.writer or (self._route.beats and (failed or placement.world_size <= BEATS_PER_SECOND)):
            self._outbox.ending = replace(ending, step=slots.completed, total_steps=slots.total_steps)
        if placement.writer:
            self._outbox.checkpoint = self._outbox.checkpoint or slots.checkpoint

    def _rescue(self) -> None:
        """On the thread that ends the run: keeps what the reporter's thread cannot send."""
        if not self._delivery.lock.acquire(timeout=_MARGIN):
            return
        try:
            folded = self._folder.fold()
            if self._placement.writer:
                self._outbox.add(folded.points)
            self._snapshot.take_in(folded, time.monotonic())
            self._write_ending()
        finally:
            self._delivery.lock.release()
        self._delivery.rescue(_MARGIN)


def _start_of(heard: Lane) -> int | None:
    """Where the run began, by its own word. A script that numbers its steps may begin anywhere without saying so."""
    if not heard.counts or (heard.layer is Layer.SCRIPT and not heard.start_step):
        return None
    return heard.start_step


def _versions(given: dict[str, str]) -> dict[str, str]:
    """Versions of the frameworks that were loaded meanwhile."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in ("torch", "transformers", "jax", "numpy"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return {**found, **given}
