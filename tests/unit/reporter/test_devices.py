"""What a process says of its accelerator: as its framework counts it, and nothing where there is none, or none has begun."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from headway.protocol.report import Device
from headway.reporter.devices import device_now


def cuda(used: list[int], *, begun: bool = True) -> SimpleNamespace:
    return SimpleNamespace(
        is_initialized=lambda: begun,
        device_count=lambda: len(used),
        memory_allocated=lambda index: used[index],
        get_device_properties=lambda index: SimpleNamespace(name=f"GPU {index}", total_memory=100),
    )


def test_the_device_in_use_is_the_one_that_holds_the_tensors() -> None:
    assert device_now(0, {"torch.cuda": cuda([0, 7])}) == Device(name="GPU 1", memory_used=7, memory_total=100)


def test_before_any_is_in_use_the_local_rank_tells() -> None:
    assert device_now(1, {"torch.cuda": cuda([0, 0])}) == Device(name="GPU 1", memory_used=0, memory_total=100)


def test_a_device_that_has_not_begun_is_not_begun_by_asking() -> None:
    assert device_now(0, {"torch.cuda": cuda([5], begun=False)}) is None


def test_a_module_that_is_half_there_says_nothing() -> None:
    assert device_now(0, {"torch.cuda": SimpleNamespace()}) is None


@pytest.mark.frameworks
def test_on_a_processor_there_is_none() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    assert device_now(0, sys.modules) is None
