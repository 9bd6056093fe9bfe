"""How the processes of an attempt agree on the step after which all of them save, or stop: by word left on a board.

A round, which any process opens and rank 0 leads::

    wish ──► everybody: where I am ──► rank 0: step S ──► everybody: armed, for I have not passed S ──► rank 0: go
                                                           or: late, for I have              (the first of the two stands)

Nobody waits: each process looks at the board now and then, on a thread of its own, and training goes on. S lies far enough ahead
that there is time for dozens of looks. A process that reaches S before it has heard decides for itself that nothing happens at S,
and says so; if "go" was said all the same, it alone misses S. That this can happen at all is the price of not waiting: no number
of messages makes two processes certain of each other. docs/explanation/how-ranks-agree.md says what it means.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Final, Protocol

from headway.reporter.board import Board
from headway.reporter.notices import log
from headway.reporter.request import Request

LEAD: Final = 2.0
"""Seconds that the agreed step lies ahead at least, on the first try."""
_LONGEST_LEAD: Final = 32.0
_LOOK: Final = 0.05
_LOOKS_AHEAD: Final = 20
_LEFT: Final = 0.25
"""Of the lead: what must be left of it when all are armed."""
_IDLE: Final = 1.0
_MEETING: Final = 40
"""Looks, at first, that are four times as frequent: until all are there, a signal means the end."""
_PATIENCE: Final = 10.0
"""Seconds that a process may take to answer."""
_HURRIED: Final = 5.0
"""The same, where a signal has begun to count down."""
_ANSWERED_WITHIN: Final = 3.0
"""Seconds within which processes that answer at all mostly have."""
_UNEQUAL: Final = 3
"""Steps that processes which count alike may differ by at one moment."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Where one process is."""

    completed: int
    """Steps complete."""
    ahead: int | None = None
    """Steps that it may complete within the time asked for, at the most; None: it has no pace yet."""
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What the processes are to do together."""

    save: bool
    stop: bool
    signal: str | None = None
    """Name of the signal that it is owed to."""
    rank: int = 0
    """Who wishes it."""
    lead: float = LEAD

    def covers(self, other: Wish) -> bool:
        """Whether all that the other asks for is done with this."""
        return self.save >= other.save and self.stop >= other.stop

    def later(self) -> Wish:
        """The same, with more time."""
        return replace(self, lead=min(_LONGEST_LEAD, 2 * self.lead))


class Outcome(StrEnum):
    """How a round ended."""

    GO = "go"
    LATE = "late"
    """Somebody had passed the step already."""
    SILENT = "silent"
    """Somebody did not answer."""
    ALONE = "alone"
    """The processes do not all track their run, or do not count alike: rank 0 alone can be told."""
    OVER = "over"
    """No steps enough are left."""


class Desk(Protocol):
    """Who carries the agreement out in this process."""

    def pace(self, seconds: float) -> Pace:
        """Where this process is now, and how far it may come within so many seconds."""

    def post(self, wish: Wish, step: int) -> Request:
        """Puts a request before training, which does not hold yet."""

    def drop(self, request: Request) -> None:
        """Takes it away again."""

    def missed(self, wish: Wish) -> None:
        """All the others do it, and this process was too late."""

    def concluded(self, wish: Wish, outcome: Outcome) -> None:
        """A round has ended."""


@dataclass(slots=True)
class _Round:
    wish: Wish
    opened: float
    request: Request | None = None


class Agreement:
    """One process's part.

    Args:
        board: shared by all of them.
        rank: this process's.
        world_size: how many there are.
        desk: carries it out.
    """

    def __init__(self, board: Board, rank: int, world_size: int, desk: Desk) -> None:
        self._board, self._rank, self._world, self._desk = board, rank, world_size, desk
        self._look = max(_LOOK, world_size / 5000)
        self._idle = max(_IDLE, world_size / 500)
        self._number = 0
        self._round: _Round | None = None
        self._wishes: list[Wish] = []
        self._meeting = _MEETING
        self.complete = False
        """Whether all processes are known to take part."""
        board.put(f"here/{rank}", "")
        while board.read(self._key("out")) is not None:  # rounds of an earlier run on the same store
            self._number += 1

    def wish(self, wish: Wish) -> None:
        """Opens a round as soon as none is open."""
        self._wishes.append(wish)

    def poll(self, now: float) -> float:
        """Looks at the board, and does what is due; returns seconds until the next look."""
        if not self.complete:
            self.complete = self._board.gather("here", self._world) is not None
        current = self._round or self._open(now)
        if current is None:
            if self.complete or not self._meeting:
                return self._idle
            self._meeting -= 1
            return self._idle / 4
        self._follow(current, now)
        return self._look

    def _open(self, now: float) -> _Round | None:
        value = None
        if self._wishes:
            wish = replace(self._wishes[0], lead=max(self._wishes[0].lead, _LOOKS_AHEAD * self._look))
            value = self._board.claim(self._key("wish"), json.dumps(asdict(wish)))
        else:
            value = self._board.read(self._key("wish"))
        if value is None:
            return None
        self._round = _Round(Wish(**json.loads(value)), now)
        pace = self._desk.pace(self._round.wish.lead)
        self._board.put(self._key("at", self._rank), json.dumps([pace.completed, pace.ahead]))
        return self._round

    def _follow(self, current: _Round, now: float) -> None:
        request = current.request
        if request is None:
            request = self._arm(current, now)
        elif not request.decided or request.refused:
            self._decide(current, request)
        if (said := self._board.read(self._key("out"))) is not None:
            self._conclude(current, Outcome(said))

    def _arm(self, current: _Round, now: float) -> Request | None:
        """Before the step is known: rank 0 proposes one; everybody arms who has not passed it."""
        mine = self._desk.pace(current.wish.lead)
        if mine.ahead is None and current.wish.signal is None:
            current.opened = now  # before the first steps there is nothing to agree on: no hurry
        if self._rank == 0:
            self._propose(current, mine, now)
        elif now - current.opened > 2 * self._patience(current):
            self._say(Outcome.SILENT)
        value = self._board.read(self._key("step"))
        if value is None:
            return None
        step = int(value)
        current.request = request = self._desk.post(current.wish, step)
        completed = self._desk.pace(0.0).completed
        if completed >= step:  # after the request is there, so that training and this thread cannot both overlook it
            request.settle(go=False)
            self._say(Outcome.LATE)
        else:
            self._board.put(self._key("armed", self._rank), str(completed))
        return request

    def _propose(self, current: _Round, mine: Pace, now: float) -> None:
        if self._board.read(self._key("step")) is not None:
            return
        answers = self._board.gather(self._key("at"), self._world)
        if answers is None:
            if now - current.opened > self._patience(current):
                self._say(Outcome.SILENT if self.complete else Outcome.ALONE)
            return
        if mine.ahead is None:
            return
        paces = [Pace(*json.loads(answer)) for answer in answers]
        ahead = max(pace.ahead for pace in (mine, *paces) if pace.ahead is not None)
        meanwhile = ahead * (_ANSWERED_WITHIN + self._idle) / current.wish.lead
        steps = [pace.completed for pace in paces]
        step = max(mine.completed, *steps) + ahead + 1
        if max(steps) - min(steps) > _UNEQUAL + meanwhile:
            log.warning(
                "the processes of this run do not count the same steps (%s to %s), so only rank 0 hears what is asked; "
                "let each of them start at the same step and count every one",
                min(steps),
                max(steps),
            )
            self._say(Outcome.ALONE)
        elif mine.total is not None and step > mine.total:
            self._say(Outcome.OVER)
        else:
            self._board.put(self._key("step"), str(step))

    def _decide(self, current: _Round, request: Request) -> None:
        """Between being armed and the word: who has reached the step says no; rank 0 says go once all are armed."""
        if request.refused:
            self._say(Outcome.LATE)
        elif self._rank == 0 and (armed := self._board.gather(self._key("armed"), self._world)) is not None:
            mine = self._desk.pace(_LEFT * current.wish.lead)
            reached = max(mine.completed, *map(int, armed)) + (mine.ahead or 0)
            self._say(Outcome.GO if reached < (request.step or 0) else Outcome.LATE)

    def _conclude(self, current: _Round, outcome: Outcome) -> None:
        request, wish = current.request, current.wish
        goes = outcome is Outcome.GO
        holds = request is not None and request.settle(go=goes)
        if request is not None and not holds:
            self._desk.drop(request)
        self._round = None
        self._number += 1
        if goes and not holds:
            self._desk.missed(wish)
        if outcome is Outcome.LATE:
            self._wishes = [each.later() for each in self._wishes]
            return
        self._wishes = [each for each in self._wishes if not wish.covers(each)]
        self._desk.concluded(wish, outcome)

    def _say(self, outcome: Outcome) -> None:
        self._board.claim(self._key("out"), outcome)

    def _patience(self, current: _Round) -> float:
        return self._idle + (_PATIENCE if current.wish.signal is None else _HURRIED)

    def _key(self, name: str, rank: int | None = None) -> str:
        return f"{name}/{self._number}" + ("" if rank is None else f"/{rank}")
