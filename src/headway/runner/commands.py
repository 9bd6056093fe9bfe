"""Carries out what the server commands: a request to the run first, then SIGTERM, then SIGKILL; and says what came of it.

The requests themselves reach the run through the relay (:mod:`headway.runner.answers` knows what it has acknowledged); here is
only decided when to act without it.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headway.protocol.action import END_SECONDS, SAVE_SUFFIX, ActionOutcome, CarriedOut
from headway.protocol.lifecycle import Command, CommandKind
from headway.protocol.message import Message
from headway.runner.answers import Answers
from headway.runner.child import Child

_LOOK_SECONDS: Final = 0.1


@dataclass(slots=True)
class _Ending:
    """A stop or pause that is under way."""

    command: Command
    began: float
    idle: bool
    """No process ran when it came."""
    term_after: float | None = None
    """Seconds after which SIGTERM was sent."""
    killed: bool = False


class Commands:
    """The commands of one job, over all its attempts.

    Args:
        say: tells the user what is done.
        answers: knows what the runs have acknowledged.
    """

    def __init__(self, say: Callable[[str], None], answers: Answers) -> None:
        self._say, self._answers = say, answers
        self._changed = threading.Condition()
        self._child: Child | None = None
        self._endings: list[_Ending] = []
        self._heard: set[str] = set()
        """Ids of all commands that came."""
        self._resume: Command | None = None
        self.stopping = threading.Event()
        """Set once the job is to end: nothing is started any more."""
        self.grace = 0.0
        """Seconds that processes get between SIGTERM and SIGKILL."""

    def attend(self, child: Child) -> None:
        """Commands concern this child from now on."""
        with self._changed:
            self._child, self._resume = child, None
            self._endings = [each for each in self._endings if each.command.kind is CommandKind.STOP]
            for ending in self._endings:  # it came just as the child was started
                ending.idle = False
                self._carry_out(child, ending)

    def hear(self, command: Command) -> None:
        """A new command has come."""
        by = f" by {command.by}" if command.by else ""
        why = f": {command.reason}" if command.reason else ""
        self._say(f"{command.kind} requested{by}{why}")
        with self._changed:
            if command.kind is CommandKind.RESUME:
                self._resume = command
                self._changed.notify_all()
                return
            child = self._child
            idle = child is None or child.ended.is_set()
            ending = _Ending(command, time.monotonic(), idle)
            self._endings.append(ending)
            self._heard.add(command.id)
            self._changed.notify_all()
            self.grace = max(command.grace, 0.0)
            if command.kind is CommandKind.STOP:
                self.stopping.set()
                self._changed.notify_all()
        if child is not None and not idle:
            self._carry_out(child, ending)

    def catch_up(self, poke: Callable[[], None], timeout: float) -> None:
        """A child has ended: if that was because its run was asked to, waits for the command of which that was a part.

        The run hears the server by its reports, and the runner by its signs of life, which come more seldom.
        """
        with self._changed:
            if self._unheard():
                poke()
                self._changed.wait_for(lambda: not self._unheard(), timeout)

    def _unheard(self) -> bool:
        return not self._answers.obeyed() <= self._heard

    def paused(self, code: int) -> bool:
        """Whether a child that ended with ``code`` (negative: by a signal) did so because of a pause, and no stop came too."""
        if self.stopping.is_set():
            return False
        for ending in self._endings:
            if ending.term_after is not None:
                return True
            if code == 0 and self._knows(ending):
                return True
        return False

    def outcomes(self, *, paused: bool) -> tuple[ActionOutcome, ...]:
        """What came of the stops and pauses, once the child has ended and is ``paused`` or not."""
        with self._changed:
            return tuple(self._outcome(each, paused=paused) for each in self._endings)

    def wait_for_resume(self, timeout: float) -> bool:
        """Whether a paused job is to go on; returns early when it is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._resume is not None or self.stopping.is_set(), timeout)
            return self._resume is not None and not self.stopping.is_set()

    def _carry_out(self, child: Child, ending: _Ending) -> None:
        threading.Thread(target=self._end, args=(child, ending), name="headway-end", daemon=True).start()

    def _end(self, child: Child, ending: _Ending) -> None:
        command = ending.command
        grace = max(command.grace, 0.0)
        self._answers.will_kill(grace)
        saved_at: float | None = None
        while (now := time.monotonic()) < ending.began + command.notice:
            if saved_at is None and command.save and self._answers.done(command.id + SAVE_SUFFIX):
                saved_at = now
            if saved_at is not None and now >= saved_at + END_SECONDS:
                break
            if child.ended.wait(_LOOK_SECONDS):
                return
        ending.term_after = time.monotonic() - ending.began
        self._answers.killing(grace)
        child.signal(signal.SIGTERM)
        if not child.ended.wait(grace):
            self._say(f"the command did not end within {grace:g} s of SIGTERM and is killed")
            ending.killed = True
            child.kill()

    def _knows(self, ending: _Ending) -> bool:
        """Whether a run was told to end: it need not have come round to saying so."""
        return self._answers.done(ending.command.id) or ending.command.id in self._answers.stops()

    def _outcome(self, ending: _Ending, *, paused: bool) -> ActionOutcome:
        command = ending.command
        if ending.term_after is not None:
            by, said = CarriedOut.PLATFORM, self._forced(ending, ending.term_after)
        elif ending.idle and command.kind is CommandKind.STOP and not self._answers.done(command.id):
            by, said = CarriedOut.PLATFORM, Message.of("outcome.hadEnded", "its processes had ended before")
        elif self._knows(ending) and (paused or command.kind is CommandKind.STOP):
            by, said = CarriedOut.DIRECTIVE, Message.of("outcome.endedByItself", "the run ended by itself")
        elif self._knows(ending):
            by, said = CarriedOut.REFUSED, Message.of("outcome.failed", "the run failed when it was asked to end")
        else:
            by, said = CarriedOut.REFUSED, Message.of("outcome.endedBefore", "the run ended before it was asked to")
        return ActionOutcome(id=command.id, carried_out=by, text=said.text, message=said)

    def _forced(self, ending: _Ending, after: float) -> Message:
        command = ending.command
        how = "ended by SIGTERM"
        if command.notice > 0:
            how += f" after {after:.{0 if after >= 0.95 else 1}f} s"
        if ending.killed:
            how += f", and killed {command.grace:g} s later"
        figures = {
            "seconds": round(after, 1) if command.notice > 0 else None,
            "killedAfter": command.grace if ending.killed else None,
        }
        if self._answers.done(command.id) or self._answers.done(command.id + SAVE_SUFFIX):
            return Message.of("outcome.forced.goesOn", f"the run did not end by itself: {how}", **figures)
        if command.notice <= 0:
            return Message.of("outcome.forced", how, **figures)
        if self._answers.hears:
            return Message.of("outcome.forced.noAnswer", f"the run did not answer: {how}", **figures)
        return Message.of("outcome.forced.deaf", f"the run could not hear: {how}", **figures)
