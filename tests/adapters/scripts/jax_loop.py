"""JAX on two devices, with Flax, Optax and Orbax: two micro-batches a step, an evaluation and a checkpoint half-way."""

from __future__ import annotations

import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false"
os.environ["PJRT_NPROC"] = (
    "16"  # threads: on two cores there would be two, which one device's sums can fill while they wait
)

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from truth import Truth, arguments

from headway.adapters.jax import watch

TOTAL, MICRO, HALF = 40, 2, 20


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(16)(x)))


@jax.jit
def train_step(state: TrainState, batch: jax.Array):
    def loss_of(params, x):
        return jnp.mean((state.apply_fn(params, x) - x.sum(1, keepdims=True)) ** 2)

    losses, gradients = jax.vmap(jax.value_and_grad(loss_of), in_axes=(None, 0))(state.params, batch)
    gradients = jax.tree.map(lambda each: each.mean(0), gradients)
    state = state.apply_gradients(grads=gradients)
    return state, {"loss": losses.mean(), "grad_norm": optax.global_norm(gradients)}


def main() -> None:
    options = arguments()
    truth = Truth(options.folder)
    assert jax.device_count() == 2
    schedule = optax.linear_schedule(1e-2, 0.0, TOTAL)
    net = Net()
    params = net.init(jax.random.key(1), jnp.ones((1, 8)))
    state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(schedule))
    mesh = Mesh(jax.devices(), ("data",))
    state = jax.device_put(state, NamedSharding(mesh, PartitionSpec()))
    saves = ocp.CheckpointManager(options.folder / "checkpoint")
    if options.resume:
        state = saves.restore(saves.latest_step(), args=ocp.args.StandardRestore(state))
    start = int(state.step)
    split = NamedSharding(mesh, PartitionSpec(None, "data"))

    step = watch(train_step, total_steps=TOTAL, total_epochs=2, learning_rate=schedule, config={"width": 16})
    for number in range(start + 1, (options.until or TOTAL) + 1):
        batch = jax.device_put(jax.random.normal(jax.random.key(number), (MICRO, 16, 8)), split)
        state, metrics = step(state, batch)
        step.voice.set_epoch(2 * number / TOTAL)
        truth.step(number, metrics["loss"], schedule(number - 1), metrics["grad_norm"])
        time.sleep(0.04)
        if number % HALF == 0:
            x = jnp.ones((4, 8))
            with step.voice.phase("eval"):
                score = jnp.mean((net.apply(state.params, x) - 8.0) ** 2)
            step.voice.log(eval_loss=score)
            truth.evaluation(number, eval_loss=score)
        if number == options.until:
            saves.save(number, args=ocp.args.StandardSave(state))
            truth.checkpoints.append(number)
    saves.close()
    steps = int(state.step)
    truth.facts = {"start": start, "steps": steps, "total": TOTAL, "epoch": 2 * steps / TOTAL, "epochs": 2}
    sys.exit(3 if options.until else 0)


if __name__ == "__main__":
    main()
