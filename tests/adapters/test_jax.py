"""Steps of JAX: what is found in what they return, where they begin, and that nothing waits for a device."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(120)]
jax = pytest.importorskip("jax", reason="pip install --group frameworks")
jnp = jax.numpy

from headway.adapters import jax as adapter  # noqa: E402
from headway.adapters.jax import orbax, profiler, results  # noqa: E402
from headway.reporter.start import current_run  # noqa: E402


@pytest.fixture(autouse=True)
def _each_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_LOOK_EVERY", 0.0)


class Pending:
    """An array that a device still works on, and never is done with."""

    shape = ()
    size = 1
    dtype = jnp.dtype("float32")
    asked: list[str] = []  # noqa: RUF012

    def is_ready(self) -> bool:
        self.asked.append(threading.current_thread().name)
        return False

    def __float__(self) -> float:
        raise AssertionError("somebody would have waited")


def names(result: Any) -> set[str]:
    return {name for name, _ in results.scalars(result)}


def test_scalars_are_found_in_what_steps_return() -> None:
    one = jnp.float32(1)
    assert names((object(), one)) == {"loss"}
    assert names((object(), {"loss": one, "accuracy": one, "seen": jnp.int32(3), "each": jnp.ones(4)})) == {
        "loss",
        "accuracy",
    }
    assert names((object(), (one, {"grad_norm": one}))) == {"loss", "grad_norm"}
    assert names(jnp.bfloat16(1)) == {"loss"}
    assert names({"params": {"w": one}}) == set()
    assert names(None) == names((jnp.ones(3), jnp.int32(1))) == set()


def test_calls_are_steps_and_values_arrive(heard: Any) -> None:
    step = adapter.watch(
        jax.jit(lambda total, x: (total + x, {"loss": x * 2})), total_steps=3, learning_rate=lambda n: 0.1 * n
    )
    total = jnp.float32(0)
    for x in range(1, 4):
        total, metrics = step(total, jnp.float32(x))
        jax.block_until_ready(metrics)
    heard.finish()
    assert float(total) == 6
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (3, 3)
    assert heard.values("loss")[3] in {2.0, 4.0, 6.0}, "a few of them in a second are read"
    assert heard.values("learning_rate")[3] == pytest.approx(0.2)
    assert heard.info["framework"] == "jax"


def test_nothing_waits_for_a_device(heard: Any) -> None:
    step = adapter.watch(lambda: (None, Pending()))
    for _ in range(5):
        step()
    step.voice.log(score=Pending())
    run = current_run()
    assert run is not None
    assert run._slots.completed == 5
    heard.finish()
    assert set(Pending.asked) <= {"headway"}


def test_a_step_without_values_counts(heard: Any) -> None:
    step = adapter.watch(jax.jit(lambda x: x + 1))
    for _ in range(3):
        step(jnp.ones(3))
    assert step.voice.last_step == 3


def test_an_error_of_the_step_is_its_own_and_counts_nothing(heard: Any) -> None:
    def broken(x: Any) -> Any:
        if x > 1:
            raise ZeroDivisionError
        return x

    step = adapter.watch(broken)
    step(1.0)
    with pytest.raises(ZeroDivisionError):
        step(2.0)
    assert step.voice.last_step == 1


def test_what_is_watched_within_jit_is_not_counted(heard: Any) -> None:
    inner = adapter.watch(lambda x: x * 2)
    outer = jax.jit(inner)
    for _ in range(3):
        assert outer(jnp.float32(2)) == 4
    assert current_run() is None


def test_a_state_tells_where_it_begins(heard: Any) -> None:
    train_state = pytest.importorskip("flax.training.train_state", reason="pip install --group frameworks")
    optax = pytest.importorskip("optax")
    params = {"w": jnp.ones(2)}
    state = train_state.TrainState.create(apply_fn=lambda: None, params=params, tx=optax.sgd(0.1))
    assert results.steps_of((state.replace(step=jnp.int32(70)), jnp.ones(3))) == 70
    assert results.steps_of((state, 3)) == 0
    assert results.steps_of((params, jnp.ones(2))) == 0
    assert results.steps_of((state.replace(step=70),)) == 70, "as a checkpoint may give it back"
    assert results.steps_of(({"step": jnp.int32(9), "params": params},)) == 9
    nnx = pytest.importorskip("flax.nnx")
    optimizer = nnx.Optimizer(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), optax.sgd(0.1), wrt=nnx.Param)
    assert results.steps_of((optimizer,)) == 0
    optimizer.step[...] = 12
    assert results.steps_of((optimizer,)) == 12


def test_a_second_training_goes_on_where_the_first_one_ended(heard: Any) -> None:
    for rounds in (3, 5):
        step = adapter.watch(jax.jit(lambda x: x.sum()), total_steps=rounds, learning_rate=lambda n: n)
        for _ in range(rounds):
            step(jnp.ones(3))
    heard.finish()
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (8, 8)
    assert heard.values("learning_rate")[8] == 4.0


def test_accumulated_gradients_make_one_step(heard: Any) -> None:
    optax = pytest.importorskip("optax", reason="pip install --group frameworks")
    schedule = optax.exponential_decay(0.1, 1, 0.5)
    optimizer = optax.MultiSteps(optax.sgd(schedule), every_k_schedule=4)
    weight = jnp.float32(1)
    state = {"step": 0, "weight": weight, "moments": optimizer.init(weight)}

    def update(state: Any) -> Any:
        changes, moments = optimizer.update(jnp.float32(1), state["moments"])
        return {"step": state["step"] + 1, "weight": state["weight"] + changes, "moments": moments}, state["weight"]

    def train(calls: int) -> None:
        nonlocal state
        step = adapter.watch(jax.jit(update), total_steps=5, learning_rate=schedule, accumulation=4)
        for _ in range(calls):
            state, _ = step(state)
        jax.block_until_ready(state)

    train(10)
    heard.finish()
    assert heard.progress["step"] == 2
    train(10)
    heard.finish()
    assert int(state["moments"].gradient_step) == heard.progress["step"] == heard.progress["totalSteps"] == 5
    assert float(state["weight"]) == pytest.approx(1 - 0.1 * (1 + 1 / 2 + 1 / 4 + 1 / 8 + 1 / 16))
    assert heard.values("learning_rate")[5] == pytest.approx(0.1 / 16)


def test_a_watched_step_is_the_step_in_all_else() -> None:
    step = jax.jit(lambda x: x + 1)
    watched = adapter.watch(step)
    assert watched.lower(jnp.ones(2)).compile() is not None
    assert watched.__wrapped__ is step


@pytest.mark.parametrize(("first", "complete"), [(0, 3), (1, 3), (40, 43)])
def test_steps_that_are_marked_for_the_profiler(
    first: int, complete: int, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = jax.profiler.StepTraceAnnotation
    for name in ("__init__", "__exit__"):
        monkeypatch.setattr(cls, name, getattr(cls, name))  # put back afterwards
    profiler.hook(sys.modules["jax._src.profiler"])
    for number in range(first, first + 3):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            pass
        with jax.profiler.StepTraceAnnotation("eval", step_num=number):
            pass
    run = current_run()
    assert run is not None
    assert run._slots.completed == complete
    assert run._slots.heard.start_step == complete - 3


def test_saves_of_orbax_are_reported_once_they_are_complete(
    heard: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ocp = pytest.importorskip("orbax.checkpoint", reason="pip install --group frameworks")
    module = sys.modules["orbax.checkpoint.checkpoint_manager"]
    for name in ("save", "wait_until_finished", "close"):
        monkeypatch.setattr(module.CheckpointManager, name, getattr(module.CheckpointManager, name))
    orbax.hook(module)
    step = adapter.watch(jax.jit(lambda x: x + 1))
    options = ocp.CheckpointManagerOptions(save_interval_steps=2)
    with ocp.CheckpointManager(tmp_path / "saved", options=options) as manager:
        for number in range(1, 5):
            x = step(jnp.ones(2))
            manager.save(number, args=ocp.args.StandardSave({"x": x}))
    saved = step.voice._slots.checkpoint
    assert saved is not None
    assert saved.step == 4
    assert saved.path == str(tmp_path / "saved" / "4")
    assert Path(saved.path).is_dir()
