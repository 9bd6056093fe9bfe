"""What Orbax saves: told once it is complete, for a save may go on behind the training."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from headway.adapters.base import harmless


class Saves:
    """Saves of Orbax, which may go on behind the training."""

    def __init__(self) -> None:
        self._pending: list[tuple[Any, dict[str, Any]]] = []

    def add(self, manager: Any, step: int, seconds: float) -> None:
        """A save has begun, which held the training up for so long."""
        self._pending.append(
            (manager, {"step": step, "seconds": seconds, "path": os.path.join(manager.directory, str(step))})
        )

    @harmless
    def look(self) -> None:
        """Reports what is complete by now."""
        if not self._pending or any(manager.is_saving_in_progress() for manager, _ in self._pending):
            return
        from headway.reporter.start import current_run

        pending, self._pending = self._pending, []
        run = current_run()
        for _, told in pending:
            if run is not None:
                run.checkpointed(**told)


saves: Final = Saves()
"""Those of this process."""


def hook(module: ModuleType) -> None:
    """Notices what is saved: called with ``orbax.checkpoint.checkpoint_manager``."""
    cls = module.CheckpointManager
    save_before = cls.save

    @functools.wraps(save_before)
    def save(self: Any, step: int, *args: Any, **kwargs: Any) -> Any:
        saves.look()
        began = time.monotonic()
        saved = save_before(self, step, *args, **kwargs)
        if saved:
            saves.add(self, step, time.monotonic() - began)
            saves.look()
        return saved

    cls.save = save
    for name in ("wait_until_finished", "close"):
        setattr(cls, name, _then_look(getattr(cls, name)))


def _then_look(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def looking(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        saves.look()
        return result

    return looking
