"""What training is asked for: to save, to stop, or both, at once or at a step that all ranks agreed on.

Written by the thread that agrees (:mod:`headway.reporter.asking`), read by the training thread. Where both decide at the same
moment, the first wins, by one operation that the interpreter makes whole.
"""

from __future__ import annotations

from typing import Final

_GO: Final = "go"


class Request:
    """One thing that training is asked for.

    Args:
        save: save a checkpoint.
        stop: end the loop.
        step: steps complete from which on it holds; None: at once, on this process alone.
        signal: name of the signal that it is owed to.
        save_ids: of the directives that a save carries out.
        stop_ids: of the directives that ending carries out.
    """

    __slots__ = ("_settled", "at", "save_ids", "saved", "signal", "step", "stop", "stop_ids", "wants_save")

    def __init__(
        self,
        *,
        save: bool = False,
        stop: bool = False,
        step: int | None = None,
        signal: str | None = None,
        save_ids: tuple[str, ...] = (),
        stop_ids: tuple[str, ...] = (),
    ) -> None:
        self.wants_save = save
        self.stop = stop
        self.step = step
        self.signal = signal
        self.save_ids, self.stop_ids = save_ids, stop_ids
        self.saved = False
        self.at: int | None = None
        """Steps complete when training was first told."""
        self._settled: dict[str, bool] = {} if step is not None else {_GO: True}

    def settle(self, *, go: bool) -> bool:
        """Decides, unless that is done, whether it holds; returns what was decided."""
        return self._settled.setdefault(_GO, go)

    @property
    def refused(self) -> bool:
        """Whether it never came to hold."""
        return self._settled.get(_GO) is False

    @property
    def decided(self) -> bool:
        """Whether it holds, or never will."""
        return _GO in self._settled

    def holds(self, completed: int) -> bool:
        """Whether training is to do it now. A step that is reached before all have agreed decides against it."""
        if self.step is not None and (completed < self.step or not self.settle(go=False)):
            return False
        if self.at is None:
            self.at = completed
        return True

    def save_now(self, completed: int) -> bool:
        """Whether a checkpoint is to be saved now: at an agreed step only, so that no rank saves at another one."""
        if not self.wants_save or self.saved or not self.holds(completed):
            return False
        return self.step is None or completed == self.at
