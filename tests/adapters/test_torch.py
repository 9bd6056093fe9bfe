"""What PyTorch's optimizers do in loops of all kinds, and what is counted of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(120)]
torch = pytest.importorskip("torch", reason="pip install --group frameworks")

import torch.optim.optimizer as optimizer_module  # noqa: E402

from headway.adapters import torch as adapter  # noqa: E402
from headway.adapters.torch.clipping import noticing  # noqa: E402
from headway.adapters.torch.stepping import PATIENCE  # noqa: E402
from headway.reporter.scalars import Sample  # noqa: E402
from headway.reporter.start import current_run, track  # noqa: E402


@pytest.fixture(autouse=True)
def _hooked(heard: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    adapter.hook(optimizer_module)
    adapter.steps.forget()
    clip = noticing(torch.nn.utils.clip_grad_norm_)
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", clip)
    yield
    heard.finish()
    adapter.steps.forget()


def line(seed: int = 1) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Linear(4, 1)


def loss_of(model: Any) -> Any:
    return model(torch.ones(2, 4)).pow(2).mean()


def train(model: Any, optimizer: Any, steps: int = 1) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


def completed() -> int:
    run = current_run()
    assert run is not None
    return run._slots.completed


def test_steps_and_rates_with_no_change_to_a_loop(heard: Any) -> None:
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    assert current_run() is None
    for _ in range(3):
        train(model, optimizer)
        schedule.step()
    heard.finish()
    assert heard.progress["step"] == 3
    (rate,) = heard.values("learning_rate").values()
    assert rate[:2] == [pytest.approx((0.4 + 0.2 + 0.1) / 3), 3]
    assert heard.info["framework"] == "pytorch"


def test_a_loop_that_only_evaluates_begins_no_run(heard: Any) -> None:
    with torch.no_grad():
        for _ in range(3):
            loss_of(line())
    torch.optim.AdamW(line().parameters())
    assert current_run() is None
    assert heard.reports == []


def test_micro_batches_are_one_step_and_their_losses_a_mean(heard: Any) -> None:
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    voice = adapter.watch(optimizer, total_steps=2)
    for step in range(2):
        for micro in range(4):
            loss_of(model).backward()
            voice.note(loss=float(step * 10 + micro))
        optimizer.step()
    heard.finish()
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (2, 2)
    (loss,) = heard.values("loss").values()
    assert loss[:2] == [pytest.approx((1.5 + 11.5) / 2), 2]


def test_the_first_of_several_optimizers_is_the_clock_and_its_norm_the_one(heard: Any) -> None:
    judge, maker = line(1), line(2)
    judges = torch.optim.Adam(judge.parameters(), lr=0.3)
    makers = torch.optim.Adam(maker.parameters(), lr=0.7)
    norms = []
    for _ in range(5):
        judges.zero_grad()
        loss_of(judge).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(judge.parameters(), 1e9).item())
        judges.step()
        for _ in range(3):
            makers.zero_grad()
            loss_of(maker).backward()
            torch.nn.utils.clip_grad_norm_(maker.parameters(), 1.0)
            makers.step()
    heard.finish()
    assert heard.progress["step"] == 5
    assert next(iter(heard.values("learning_rate").values()))[0] == pytest.approx(0.3)
    (norm,) = heard.values("grad_norm").values()
    assert norm[:2] == [pytest.approx(sum(norms) / 5), 5]


def test_norms_of_several_parts_of_a_model_are_nobody_s(heard: Any) -> None:
    model = torch.nn.Sequential(line(), torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of(model).backward()
    for part in model:
        torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)
    optimizer.step()
    heard.finish()
    assert heard.progress["step"] == 1
    assert heard.values("grad_norm") == {}


def test_a_step_that_a_grad_scaler_skips_is_none() -> None:
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for factor in (1.0, float("inf"), 1.0, float("nan"), 1.0):
        optimizer.zero_grad()
        scaler.scale(loss_of(model) * factor).backward()
        scaler.step(optimizer)
        scaler.update()
    assert completed() == 3


def test_a_step_that_is_skipped_within_a_fused_optimizer_is_none(heard: Any) -> None:
    model = line()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    voice = adapter.watch(optimizer)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for factor in (1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        loss = loss_of(model) * factor
        scaler.scale(loss).backward()
        voice.note(loss=loss)
        scaler.step(optimizer)
        scaler.update()
    assert completed() == 3 == next(iter(optimizer.state.values()))["step"]
    heard.finish()
    (cell,) = heard.values("loss").values()
    assert (cell[1], len(cell)) == (3, 3), "none that is not finite"


def test_a_closure_that_is_called_many_times_is_one_step() -> None:
    model = line()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=7)
    calls = []

    def closure() -> Any:
        calls.append(1)
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert len(calls) > 3
    assert completed() == 3


def test_an_optimizer_within_another_counts_once() -> None:
    class Outer(torch.optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            self.inner = inner
            super().__init__(inner.param_groups, {})

        def step(self, closure: Any = None) -> None:
            self.inner.step(closure)

    model = line()
    outer = Outer(torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(4):
        loss_of(model).backward()
        outer.step()
    assert completed() == 4


def test_the_next_stage_goes_on_where_the_first_one_ended() -> None:
    model = line()
    first = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, first, 5)
    del first
    train(model, torch.optim.SGD(model.parameters(), lr=0.01), 3)
    assert completed() == 8


def test_a_clock_that_is_kept_but_has_stopped_is_given_up() -> None:
    model = line()
    first, second = (torch.optim.SGD(model.parameters(), lr=rate) for rate in (0.1, 0.01))
    train(model, first, 5)
    train(model, second, PATIENCE - 1)
    assert completed() == 5
    train(model, second, 11)
    assert completed() == 5 + PATIENCE - 1 + 11, "then its steps count from its first on"


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_resumed_optimizer_goes_on_from_its_own_count(by_hand: bool) -> None:
    model = line()
    before = torch.optim.AdamW(model.parameters())
    train(model, before, 20)
    adapter.steps.forget()
    current_run().finish()  # type: ignore[union-attr]
    resumed = torch.optim.AdamW(model.parameters())
    resumed.load_state_dict(copy.deepcopy(before.state_dict()))
    if by_hand:
        assert adapter.watch(resumed).start_step == 20
    train(model, resumed)
    assert completed() == 21


def test_a_count_that_lies_on_a_device_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ready: list[bool] = []
    monkeypatch.setattr(Sample, "ready", lambda self: bool(ready))
    model = line()
    before = torch.optim.AdamW(model.parameters())
    train(model, before, 20)
    current_run().finish()  # type: ignore[union-attr]
    adapter.steps.forget()
    resumed = torch.optim.AdamW(model.parameters())
    resumed.load_state_dict(copy.deepcopy(before.state_dict()))
    for state in resumed.state.values():
        state["step"] = state["step"].as_subclass(type("OnDevice", (torch.Tensor,), {"is_cpu": False}))
    other = torch.optim.SGD(line(2).parameters(), lr=0.1)
    for _ in range(3):
        train(model, resumed)
        train(line(2), other)
    assert current_run() is None, "it is not known yet where it begins"
    ready.append(True)
    train(model, resumed)
    run = current_run()
    assert run is not None
    assert (run._slots.heard.start_step, run._slots.completed) == (23, 24)
    train(model, resumed, 2)
    assert completed() == 26


def test_a_step_that_only_fills_the_state_for_a_checkpoint_is_none() -> None:
    from torch.distributed.checkpoint.state_dict import get_state_dict

    model = line()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    get_state_dict(model, optimizer)
    assert optimizer.state
    assert current_run() is None
    train(model, optimizer, 2)
    assert completed() == 2


def test_a_warm_up_from_a_rate_of_zero_counts() -> None:
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    train(model, optimizer, 2)
    assert completed() == 2


def test_what_is_watched_takes_the_place_of_what_was_found() -> None:
    model = line()
    first = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, first, 2)
    second = torch.optim.SGD(model.parameters(), lr=0.1)
    adapter.watch(second, start_step=100, total_steps=200)
    train(model, second, 3)
    train(model, first, 7)
    assert completed() == 103
    assert current_run()._slots.total_steps == 200  # type: ignore[union-attr]


def test_a_second_run_has_a_count_of_its_own() -> None:
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, 3)
    run = current_run()
    assert run is not None
    run.finish()
    train(model, optimizer, 3)
    assert current_run() is None, "what comes after the end is not begun anew by itself"
    with track() as second:
        train(model, optimizer, 2)
        second.step(loss=1.0)
        assert completed() == 1, "a script that tracks counts for itself"


def test_a_compiled_step_is_compiled_as_without() -> None:
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = model.weight.detach().clone()

    @torch.compile(backend="eager", fullgraph=True)
    def clip() -> Any:
        return torch.nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)

    @torch.compile(backend="eager")
    def step() -> None:
        optimizer.step()

    for _ in range(3):
        optimizer.zero_grad()
        loss_of(model).backward()
        assert clip() > 0
        step()
    assert not torch.equal(weight, model.weight)


def test_no_fault_of_ours_reaches_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(adapter.steps, "framework", broken)
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, 2)
    adapter.watch(optimizer)
    train(model, optimizer, 2)
    assert completed() == 2
