"""The steps that a loop marks for JAX's profiler: counted with no change to a script."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from headway.adapters.base import harmless
from headway.adapters.jax import ABOUT
from headway.adapters.jax.orbax import saves


def hook(module: ModuleType) -> None:
    """Counts the steps that a loop marks for JAX's profiler: called with ``jax._src.profiler``."""
    cls = module.StepTraceAnnotation
    init_before, exit_before = cls.__init__, cls.__exit__

    @functools.wraps(init_before)
    def init(self: Any, name: str, **kwargs: Any) -> None:
        init_before(self, name, **kwargs)
        self.headway_step = kwargs.get("step_num") if name.startswith("train") else None

    def exits(self: Any, *error: Any) -> Any:
        result = exit_before(self, *error)
        if self.headway_step is not None and error[:1] in ((), (None,)):
            _marked(self.headway_step)
        return result

    cls.__init__, cls.__exit__ = init, exits


@harmless
def _marked(number: int) -> None:
    from headway.reporter.start import speak

    # The first number tells how a loop counts: 1 is the first step of one that begins with 1.
    voice = speak(ABOUT.layer, framework=ABOUT.framework, claims=False, start_step=number - (number == 1))
    voice.step()
    saves.look()
