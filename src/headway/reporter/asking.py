"""The thread that puts before training what is asked of it: directives of the server, and signals that mean "save, and end".

A process on its own is asked at once. Where the processes of an attempt share a store, they agree on a step first
(:mod:`headway.reporter.agreement`). Where they share none, rank 0 alone hears what the server asks, and tells the others.
What has not ended by itself in time after a signal is ended as the signal would have, by another thread
(:mod:`headway.reporter.signal_watch`), for this one may be kept waiting by a store whose process stands still.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from headway.protocol.directive import Directive, DirectiveKind
from headway.reporter.agreement import Agreement, Outcome, Pace, Wish
from headway.reporter.board import Source, connect, find_jax, find_torch
from headway.reporter.countdown import Countdown
from headway.reporter.identity import Placement
from headway.reporter.notices import log
from headway.reporter.request import Request
from headway.reporter.slots import Slots

_TURN: Final = 1.0
_AGAIN: Final = 10.0
"""Seconds before something is asked anew that could not be agreed on."""
_UNSAVED: Final = 60.0
"""Seconds that an agreed save may take before it is asked for again."""
_JOIN_SECONDS: Final = 0.5

Event = tuple[Directive, ...] | str
"""What the server asks; the name of a signal. With None in its place, there is only something to look at."""


class Asking:
    """One process's thread.

    Args:
        slots: where training hears.
        placement: who this process is, as it is known now.
        pace: where it is, and how far it may come within so many seconds.
        countdown: begins when a signal is heeded.
    """

    def __init__(
        self,
        slots: Slots,
        placement: Callable[[], Placement],
        pace: Callable[[float], Pace],
        countdown: Countdown,
    ) -> None:
        self._slots = slots
        self._placement = placement
        self._measure = pace
        self._countdown = countdown
        self._inbox: SimpleQueue[Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="headway-asking", daemon=True)
        self._closed = threading.Event()
        self._source: Source | None = None
        self._torch: Source | None = None
        """As the training thread last saw it."""
        self._looks = 0
        """How often it has looked."""
        self._looked_for: dict[str, int] = {}
        """By directive, how often it had when this was asked."""
        self._shared = False
        """The processes have shared a store: none of them ever acts by itself."""
        self._agreement: Agreement | None = None
        self._directives: dict[str, Directive] = {}
        """Those that the server repeats."""
        self._not_before: dict[str, float] = {}
        """When what could not be agreed on is asked again, by directive or signal."""
        self._reached: dict[Request, float] = {}
        """Agreed saves that training has come to, and when."""
        self._signal: str | None = None
        self.die: Callable[[str], None] = lambda why: log.debug("nobody ends the process: %s", why)
        """Ends the process as its signal would have."""
        self.joined: Callable[[], None] = lambda: None
        """Called once the processes of the run have met."""

    def start(self) -> None:
        """Starts the thread, once."""
        if self._thread.ident is None:
            self._thread.start()

    def hear(self, directives: Iterable[Directive]) -> None:
        """What the server asks now: all that is not acknowledged."""
        self._inbox.put(tuple(directives))

    def heed(self, signal: str) -> bool:
        """A signal came: whether training is asked to save and end, instead of ending here and now.

        On any thread, and on several for one signal.
        """
        if self._closed.is_set() or not self._slots.listens or not (self._alone() or self._all_here()):
            return False
        self._inbox.put(signal)
        self._countdown.begin()
        return True

    def _all_here(self) -> bool:
        agreement = self._agreement
        return agreement is not None and agreement.complete

    def close(self) -> None:
        """Ends the thread: nothing is asked any more."""
        self._closed.set()
        self._inbox.put(None)
        if self._thread.ident is not None and threading.current_thread() is not self._thread:
            # It must not be inside a framework's store when the interpreter goes: that would abort the process.
            self._thread.join(_JOIN_SECONDS)

    # --- Desk, for the agreement -----------------------------------------------------------------------------------

    def pace(self, seconds: float) -> Pace:
        """As :meth:`Desk.pace`."""
        return self._measure(seconds)

    def post(self, wish: Wish, step: int) -> Request:
        """As :meth:`Desk.post`."""
        return self._put(wish, step)

    def drop(self, request: Request) -> None:
        """As :meth:`Desk.drop`."""
        self._slots.requests = tuple(each for each in self._slots.requests if each is not request)

    def missed(self, wish: Wish) -> None:
        """As :meth:`Desk.missed`. A checkpoint is of one step or none; but who goes on where all others have stopped hangs."""
        log.warning("the other processes save or stop at a step that this one had passed before it heard")
        self._not_before.clear()  # what was asked of this process is asked again
        if wish.stop:
            self._put(Wish(save=False, stop=True, signal=wish.signal), None)

    def concluded(self, wish: Wish, outcome: Outcome) -> None:
        """As :meth:`Desk.concluded`."""
        if outcome is not Outcome.GO:
            again = time.monotonic() + _AGAIN
            self._not_before = dict.fromkeys(self._not_before, again)
        if outcome is Outcome.ALONE and self._placement().rank == 0 and wish.signal is None:
            self._put(wish, None)
        if self._signal is not None and outcome in (Outcome.SILENT, Outcome.ALONE):
            self.die("its processes could not agree on a step to save at")

    # --- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        wait = 0.0
        while not self._closed.is_set():
            event: Event | None = None
            with suppress(Empty):
                event = self._inbox.get(timeout=wait)
            if self._closed.is_set():
                break
            try:
                if isinstance(event, str):
                    self._signal = event
                elif event is not None:
                    self._take(event)
                wait = self._turn(time.monotonic())
            except Exception as error:  # noqa: BLE001 - a fault here must end neither the run nor this thread
                log.debug("what is asked of the run could not be looked after", exc_info=error)
                self._lose()
                wait = _TURN
        self._lose()

    def _take(self, directives: tuple[Directive, ...]) -> None:
        gone = self._directives.keys() - {each.id for each in directives}
        self._directives = {each.id: each for each in directives}
        for name in gone:
            self._looked_for.pop(name, None)
        for name in tuple(self._slots.done):  # the server has heard of those that it no longer repeats
            if name not in self._directives and not any(each.then == name for each in directives):
                self._slots.done.pop(name, None)
        for request in self._slots.requests:
            names = {*request.save_ids, *request.stop_ids}
            if request.step is None and request.at is None and names and gone.issuperset(names):
                self.drop(request)

    def _turn(self, now: float) -> float:
        """Does what is due; returns seconds until the next turn."""
        self._clear(now)
        wait = _TURN
        if self._alone():
            for _, wish in self._wanted():
                self._put(wish, None)
        elif (agreement := self._joined()) is not None:
            busy = any(self._is_coming(request) for request in self._slots.requests)
            for name, wish in self._wanted():
                if now >= self._not_before.get(name, 0.0) and (wish.signal is not None or not busy):
                    self._not_before[name] = math.inf
                    agreement.wish(wish)
            wait = agreement.poll(now)
        elif not self._shared and self._placement().rank == 0 and self._measure(0.0).ahead is not None:
            # Training goes on, and its processes share no store, as it has seen itself since: it must tell the others itself.
            for name, wish in self._wanted():
                if self._looks > self._looked_for.setdefault(name, self._looks):
                    self._put(wish, None)
        return wait

    def _wanted(self) -> list[tuple[str, Wish]]:
        """What is asked and not put before training yet."""
        carried = {name for each in self._slots.requests for name in (*each.save_ids, *each.stop_ids)}
        wanted: list[tuple[str, Wish]] = []
        if self._signal is not None and not any(each.signal for each in self._slots.requests):
            wish = Wish(save=True, stop=True, signal=self._signal, rank=self._placement().rank)
            wanted.append((self._signal, wish))
        for name, directive in self._directives.items():
            if name not in carried and name not in self._slots.done:
                save = directive.kind is DirectiveKind.CHECKPOINT
                wanted.append((name, Wish(save=save, stop=not save or self._ends(directive))))
        return wanted

    def _ends(self, save: Directive) -> bool:
        """Whether the stop that follows a checkpoint is asked for with it: a loop that saves where it is told may end there."""
        return save.then is not None and self._slots.saves

    def _put(self, wish: Wish, step: int | None) -> Request:
        saves = [each for each in self._directives.values() if each.kind is DirectiveKind.CHECKPOINT]
        stops = [name for name, each in self._directives.items() if each.kind is DirectiveKind.STOP]
        request = Request(
            save=wish.save,
            stop=wish.stop,
            step=step,
            signal=wish.signal,
            save_ids=tuple(each.id for each in saves) if wish.save else (),
            stop_ids=(*stops, *(each.then for each in saves if each.then is not None)) if wish.stop else (),
        )
        self._slots.requests = (*self._slots.requests, request)
        return request

    def _clear(self, now: float) -> None:
        """Takes away saves that are done, and agreed ones that nobody made, so that they can be asked for again."""
        for request in self._slots.requests:
            if request.stop:
                continue
            if request.at is not None and request.step is not None:
                self._reached.setdefault(request, now)
            if request.saved or now - self._reached.get(request, now) > _UNSAVED:
                self._reached.pop(request, None)
                for name in request.save_ids:
                    self._not_before.pop(name, None)
                self.drop(request)

    def _is_coming(self, request: Request) -> bool:
        return request.step is not None and self._measure(0.0).completed < request.step

    def _alone(self) -> bool:
        placement = self._placement()
        return placement.world_size == 1 and not placement.crowd

    def _joined(self) -> Agreement | None:
        """The agreement of processes that share a store; connects to it if it can."""
        self._slots.survey = self._survey
        source = self._torch or find_jax()
        if source != self._source:
            self._lose()
            self._source = source  # one that cannot be reached is not tried again
            if source is not None:
                placement = self._placement()
                self._agreement = Agreement(connect(source), placement.rank, placement.world_size, self)
                self._shared = True
                self.joined()
        return self._agreement

    def _survey(self) -> None:
        """On the training thread, at most once a turn: where PyTorch's processes meet.

        Not on the asking one: a reference to a process group that is held there, be it for a moment, may turn out to be the last,
        and the group would end on that thread, whenever that is.
        """
        before, self._torch = self._torch, find_torch()
        self._looks += 1
        if self._torch != before:
            self._inbox.put(None)  # has its turn now

    def _lose(self) -> None:
        """The store is gone, or this thread is."""
        self._agreement = None
        self._not_before.clear()
        for request in self._slots.requests:
            if not request.decided and not request.settle(go=False):
                self.drop(request)
