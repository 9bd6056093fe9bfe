"""What the adapters add to a training step: workloads for overhead.py, each a small model in its framework.

    python benchmarks/adapters.py [--seconds 15] [--rounds 2] [--only torch lightning deepspeed jax xgboost]

For each, steps with and without the adapter take turns in one process (:mod:`laps`), with a healthy server and with one that
hangs. JAX computes on threads of its own, so only the wall clock tells what its steps pay.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from typing import Any

from laps import Laps
from overhead import PACKAGES, ROWS, STEADY, measure, perceptron, show


def torch_hook(laps: Laps, _: str) -> None:
    """PyTorch's own hook counts; the loss is noted, and the norm that clipping gives."""
    import torch

    from headway.adapters import torch as adapter
    from headway.adapters.torch.clipping import noticing as watching

    model, batches = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    voice = adapter.watch(optimizer, total_steps=10**9)
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
    ((key, hook),) = hooks.items()
    clip = torch.nn.utils.clip_grad_norm_
    noticing = watching(clip)
    count = 0
    while laps.lap():
        if laps.reported:
            hooks[key] = hook
        else:
            hooks.pop(key, None)
        inputs, labels = batches[count % len(batches)]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        if laps.reported:
            voice.note(loss=loss)
        (noticing if laps.reported else clip)(model.parameters(), 1.0)
        optimizer.step()
        count += 1
    end()


def lightning_callback(laps: Laps, reporter: str) -> None:
    """A Trainer with the callback, or without it; or with one that does nothing, for Lightning itself pays for each."""
    import lightning.pytorch as pl
    import torch

    from headway.adapters.lightning import HeadwayCallback

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layers, _ = perceptron()

        def training_step(self, batch: Any) -> Any:
            loss = torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    class Drive(pl.Callback):
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if not laps.lap():
                trainer.should_stop = True
            trainer.callbacks = [ours, self] if laps.reported else [self]

        def on_train_end(self, trainer: Any, *_: Any) -> None:
            trainer.callbacks = [ours, self]

    ours = HeadwayCallback() if reporter == "headway" else pl.Callback()
    _, batches = perceptron()
    rows = torch.utils.data.TensorDataset(
        torch.cat([each[0] for each in batches]), torch.cat([each[1] for each in batches])
    )
    trainer = pl.Trainer(
        accelerator="cpu",
        max_steps=10**9,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[ours, Drive()],
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(rows, batch_size=64))
    end()


def deepspeed_engine(laps: Laps, _: str) -> None:
    """An engine with ZeRO-1, its methods watched or as they were."""
    os.environ |= {"DS_ACCELERATOR": "cpu", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    import deepspeed
    import torch

    from headway.adapters import deepspeed as adapter

    deepspeed.ops.__compatible_ops__.clear()
    with tempfile.TemporaryDirectory() as folder:
        deepspeed.init_distributed("gloo", rank=0, world_size=1, init_method=f"file://{folder}/store")
        model, batches = perceptron()
        config = {
            "train_micro_batch_size_per_gpu": 64,
            "gradient_clipping": 1.0,
            "zero_optimization": {"stage": 1},
            "steps_per_print": 10**9,
        }
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=config)
        cls = deepspeed.runtime.engine.DeepSpeedEngine
        plain = {name: getattr(cls, name) for name in ("step", "backward")}
        adapter.watch(engine)
        watched = {name: getattr(cls, name) for name in plain}
        count = 0
        while laps.lap():
            for name, method in (watched if laps.reported else plain).items():
                setattr(cls, name, method)
            inputs, labels = batches[count % len(batches)]
            loss = torch.nn.functional.cross_entropy(engine(inputs), labels)
            engine.backward(loss)
            engine.step()
            count += 1
        end()
        torch.distributed.destroy_process_group()


def jax_watch(laps: Laps, _: str) -> None:
    """A jitted step, watched or not; each is waited for, so that it is whole."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    import jax
    import jax.numpy as jnp
    import optax

    from headway.adapters.jax import watch

    schedule = optax.cosine_decay_schedule(1e-4, 10**6)
    optimizer = optax.adamw(schedule)
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = ((256, 512), (512, 512), (512, 10))
    weights = [jax.random.normal(key, shape) * shape[0] ** -0.5 for key, shape in zip(keys, shapes, strict=True)]

    def loss_of(weights: Any, inputs: Any, labels: Any) -> Any:
        for weight in weights[:-1]:
            inputs = jax.nn.gelu(inputs @ weight)
        return optax.softmax_cross_entropy_with_integer_labels(inputs @ weights[-1], labels).mean()

    @jax.jit
    def step(state: Any, inputs: Any, labels: Any) -> Any:
        weights, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(weights, inputs, labels)
        updates, moments = optimizer.update(gradients, moments, weights)
        state = optax.apply_updates(weights, updates), moments
        return state, {"loss": loss, "grad_norm": optax.global_norm(gradients)}

    inputs = jax.random.normal(keys[0], (64, 256))
    labels = jnp.arange(64) % 10
    state = weights, optimizer.init(weights)
    watched = watch(step, total_steps=10**9, learning_rate=schedule)
    state, _ = watched(state, inputs, labels)
    while laps.lap():
        state, metrics = (watched if laps.reported else step)(state, inputs, labels)
        metrics["loss"].block_until_ready()
    end()


def xgboost_callback(laps: Laps, _: str) -> None:
    """Boosting rounds, evaluated each, with the callback or without."""
    import numpy as np
    import xgboost

    from headway.adapters.xgboost import HeadwayCallback

    x = np.random.default_rng(1).normal(size=(100_000, 10))
    data = xgboost.DMatrix(x, x.sum(1) > 0)
    ours = HeadwayCallback(10**6)

    class Drive(xgboost.callback.TrainingCallback):
        def before_training(self, model: Any) -> Any:
            return ours.before_training(model)

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if laps.reported:
                ours.after_iteration(model, epoch, evals_log)
            return not laps.lap()

    parameters = {"objective": "binary:logistic", "max_depth": 4, "nthread": 1}
    xgboost.train(parameters, data, 10**6, evals=[(data, "train")], callbacks=[Drive()], verbose_eval=False)
    end()


def end() -> None:
    """Ends the run, in no time."""
    from headway.reporter.start import current_run

    if (run := current_run()) is not None:
        run.finish(timeout=0.2)


WORKLOADS = {
    "torch": torch_hook,
    "lightning": lightning_callback,
    "deepspeed": deepspeed_engine,
    "jax": jax_watch,
    "xgboost": xgboost_callback,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15.0, help="of training, each row each round")
    parser.add_argument("--only", nargs="+", choices=tuple(WORKLOADS), default=tuple(WORKLOADS))
    arguments = parser.parse_args()
    os.environ.update(STEADY)
    rows = {name: row for name, row in ROWS.items() if row[0] == "headway" and row[1] != "refuse"}
    found = {}
    for name in arguments.only:
        these = {**rows, "an empty callback": ("empty", "ok")} if name == "lightning" else rows
        measured = measure(f"adapters:{WORKLOADS[name].__name__}", arguments.rounds, arguments.seconds, rows=these)
        found |= {f"{name}: {row.removeprefix('Headway, ')}": figures for row, figures in measured.items()}
    return show("adapters", found, len(found), vars(arguments), (*PACKAGES, "deepspeed", "xgboost"))


if __name__ == "__main__":
    raise SystemExit(main())
