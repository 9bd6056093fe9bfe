"""Notices the norm that ``clip_grad_norm_`` returns: it is told with the optimizer's next step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headway.adapters.torch.stepping import compiling, steps


def hook_clipping(module: ModuleType) -> None:
    """Notices the norms of gradients: called with ``torch.nn.utils.clip_grad``."""
    vars(module)["clip_grad_norm_"] = noticing(module.clip_grad_norm_)


def hook_sharded(module: ModuleType) -> None:
    """The same for FSDP1: called with ``torch.distributed.fsdp.fully_sharded_data_parallel``."""
    cls = module.FullyShardedDataParallel
    cls.clip_grad_norm_ = noticing(cls.clip_grad_norm_)


def noticing(clip: Callable[..., Any]) -> Callable[..., Any]:
    """``clip`` itself, whose result is looked at."""

    @functools.wraps(clip)
    def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
        if compiling() or steps.clipping:
            return clip(*args, **kwargs)
        steps.clipping = True  # one may call the other
        try:
            norm = clip(*args, **kwargs)
        finally:
            steps.clipping = False
        steps.clipped(norm)
        return norm

    return clip_grad_norm_
