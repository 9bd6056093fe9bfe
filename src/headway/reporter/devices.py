"""The accelerator of this process, as the framework knows it: no device is asked, none is started, nothing is waited for.

PyTorch's allocator counts on the host. JAX's does for a GPU; what others do to answer is not known, so they are not asked.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from headway.protocol.report import Device


def device_now(local_rank: int | None = None, modules: Mapping[str, Any] = sys.modules) -> Device | None:
    """Name and memory of the device that this process trains on; None where there is none that is known.

    Args:
        local_rank: rank among the processes of this host; tells the device where none of several is in use yet.
        modules: what is imported.
    """
    try:
        return _of_torch(modules, local_rank or 0) or _of_jax(modules)
    except (AttributeError, LookupError, RuntimeError, AssertionError, TypeError, ValueError):
        return None  # half imported, or being taken down: the next report tells


def _of_torch(modules: Mapping[str, Any], local_rank: int) -> Device | None:
    cuda = modules.get("torch.cuda")
    if cuda is None or not cuda.is_initialized():
        return None  # to ask now would start the devices
    count = int(cuda.device_count())
    if not count:
        return None
    # The current device is each thread's own, and this is not the training thread: the one with most memory in use is meant.
    used = {index: int(cuda.memory_allocated(index)) for index in range(count)}
    index = max(used, key=lambda each: (used[each], each == local_rank))
    properties = cuda.get_device_properties(index)
    return Device(name=str(properties.name), memory_used=used[index], memory_total=int(properties.total_memory))


def _of_jax(modules: Mapping[str, Any]) -> Device | None:
    bridge, jax = modules.get("jax._src.xla_bridge"), modules.get("jax")
    if jax is None or bridge is None or not bridge.backends_are_initialized():
        return None
    device = jax.local_devices()[0]
    if device.platform != "gpu":
        return None if device.platform == "cpu" else Device(name=str(device.device_kind))
    stats = device.memory_stats() or {}
    return Device(
        name=str(device.device_kind), memory_used=stats.get("bytes_in_use"), memory_total=stats.get("bytes_limit")
    )
