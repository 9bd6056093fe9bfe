"""Finds the frameworks that a script trains with, by itself: an adapter is told when the script has imported its framework.

Nothing is imported that the script does not import, and nothing begins at an import: an adapter hooks into its framework, and
the run begins with the training. A hook that fails is logged, and the script goes on.
"""

from __future__ import annotations

import _thread
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # every Python process that is started loads this module, so it loads nothing that it can do without
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Final

HOOKS: Final[dict[str, str]] = {
    "accelerate.accelerator": "headway.adapters.accelerate:hook",
    "deepspeed.runtime.engine": "headway.adapters.deepspeed:hook",
    "deepspeed.runtime.pipe.engine": "headway.adapters.deepspeed:hook_pipeline",
    "jax._src.profiler": "headway.adapters.jax.profiler:hook",
    "lightning.pytorch.trainer.trainer": "headway.adapters.lightning:hook",
    "orbax.checkpoint.checkpoint_manager": "headway.adapters.jax.orbax:hook",
    "pytorch_lightning.trainer.trainer": "headway.adapters.lightning:hook",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "headway.adapters.torch.clipping:hook_sharded",
    "torch.nn.parallel.distributed": "headway.adapters.torch:hook_data_parallel",
    "torch.nn.utils.clip_grad": "headway.adapters.torch.clipping:hook_clipping",
    "torch.optim.optimizer": "headway.adapters.torch:hook",
    "tqdm.std": "headway.adapters.tqdm:hook",
    "transformers.trainer": "headway.adapters.transformers:hook",
    "xgboost.core": "headway.adapters.xgboost:hook_saving",
    "xgboost.training": "headway.adapters.xgboost:hook",
}
"""Module that a script may import, and the function that is then called with it."""
FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inject")
"""In front of ``PYTHONPATH``, it makes every Python process that is started install the hooks."""
VARIABLE: Final = "HEADWAY_AUTO"
"""``0`` leaves all processes alone."""


class Finder:
    """Stands first among the import system's finders, and lets the others find; it only listens for a few names."""

    def __init__(self, hooks: dict[str, str]) -> None:
        self._awaited = hooks
        self._asking: set[tuple[int, str]] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that tells of the import; None for a name that is not awaited."""
        me = (_thread.get_ident(), name)
        if name not in self._awaited or me in self._asking:
            return None
        self._asking.add(me)  # one of the others may ask all of them in turn
        try:
            spec = self._ask_others(name, path, target)
        finally:
            self._asking.discard(me)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Teller(spec.loader, self._tell)  # type: ignore[assignment]
        return spec

    def _ask_others(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def _tell(self, module: ModuleType) -> None:
        hook = self._awaited.pop(module.__name__, None)
        if hook is not None:
            call(hook, module)


class _Teller:
    """A module's own loader, which it gets back as soon as it is loaded; then somebody is told of it."""

    def __init__(self, loader: Any, tell: Callable[[ModuleType], None]) -> None:
        self._loader, self._tell = loader, tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._tell(module)


def install(hooks: dict[str, str] | None = None) -> None:
    """Listens for the frameworks; the hooks of those that are imported already are called at once. Once per process.

    Args:
        hooks: module to ``module:function``; :data:`HOOKS` if left out.
    """
    hooks = HOOKS if hooks is None else hooks
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    here = {name: sys.modules[name] for name in hooks if name in sys.modules}
    sys.meta_path.insert(0, Finder({name: hook for name, hook in hooks.items() if name not in here}))
    for name, module in here.items():
        call(hooks[name], module)


def call(hook: str, module: ModuleType) -> None:
    """Calls a hook. What goes wrong is logged: a script must never fail for an adapter's sake."""
    try:
        import importlib

        home, _, function = hook.partition(":")
        getattr(importlib.import_module(home), function)(module)
    except Exception as error:  # noqa: BLE001 - whatever it is, the script goes on
        from headway.reporter.notices import log

        log.warning("%s is not tracked by itself: %r", module.__name__, error)
        log.debug("a hook failed", exc_info=error)


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment leaves Headway free to find frameworks by itself."""
    disabled = environ.get("HEADWAY_DISABLED", "").strip().lower() in {"1", "true", "yes", "on"}
    return not disabled and environ.get(VARIABLE, "").strip().lower() not in {"0", "false", "no", "off"}


def inject(environ: MutableMapping[str, str]) -> None:
    """Has the Python processes that start with this environment, and theirs, install the hooks."""
    paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != FOLDER]
    environ["PYTHONPATH"] = os.pathsep.join([FOLDER, *paths])
