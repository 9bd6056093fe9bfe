"""A small byte model in JAX, its batches spread over all devices, its checkpoints Orbax's.

headway run --name jax -- python train.py
"""

import argparse
import os
import sysconfig
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
os.environ.setdefault("PJRT_NPROC", "16")  # threads: with two of them, one device's can all wait for the other device's

import jax
import numpy as np
import optax
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from headway.adapters.jax import watch

CONTEXT = 32


def load_text(size: int) -> np.ndarray:
    data = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("c*.py")))
    return np.frombuffer(data[:size], dtype=np.uint8).astype(np.int32)


def loss_of(weights: dict[str, jax.Array], windows: jax.Array) -> jax.Array:
    seen = weights["bytes"][windows[:, :-1]].reshape(len(windows), -1)
    scores = jax.nn.relu(seen @ weights["in"]) @ weights["out"]
    return optax.softmax_cross_entropy_with_integer_labels(scores, windows[:, -1]).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint"))
    options = parser.parse_args()

    text = load_text(400_000)
    schedule = optax.cosine_decay_schedule(2e-3, options.steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
    keys = jax.random.split(jax.random.key(0), 3)
    weights = {
        "bytes": jax.random.normal(keys[0], (256, 16)) * 0.1,
        "in": jax.random.normal(keys[1], (16 * CONTEXT, 128)) * 0.04,
        "out": jax.random.normal(keys[2], (128, 256)) * 0.05,
    }
    mesh = Mesh(jax.devices(), ("data",))
    state = jax.device_put((weights, optimizer.init(weights)), NamedSharding(mesh, PartitionSpec()))

    saves = ocp.CheckpointManager(options.checkpoint.resolve(), options=ocp.CheckpointManagerOptions(max_to_keep=2))
    begun = saves.latest_step() or 0
    if begun:
        state = saves.restore(begun, args=ocp.args.StandardRestore(state))

    @jax.jit
    def train_step(state, windows):
        weights, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(weights, windows)
        updates, moments = optimizer.update(gradients, moments)
        state = optax.apply_updates(weights, updates), moments
        return state, {"loss": loss, "grad_norm": optax.global_norm(gradients)}

    train_step = watch(train_step, total_steps=options.steps, start_step=begun, learning_rate=schedule)
    drawn = np.random.default_rng(begun)
    metrics = None
    for step in range(begun + 1, options.steps + 1):
        at = drawn.integers(len(text) - CONTEXT - 1, size=64)
        windows = text[at[:, None] + np.arange(CONTEXT + 1)]
        state, metrics = train_step(state, jax.device_put(windows, NamedSharding(mesh, PartitionSpec("data"))))
        if step % 100 == 0 or train_step.voice.should_checkpoint:
            saves.save(step, args=ocp.args.StandardSave(state))
        if train_step.voice.should_stop:
            break
    saves.close()
    if metrics is None:
        print("nothing is left to train: without its checkpoint it begins anew")
    else:
        print(f"loss {float(metrics['loss']):.3f} nats a byte on {jax.device_count()} devices")


if __name__ == "__main__":
    main()
