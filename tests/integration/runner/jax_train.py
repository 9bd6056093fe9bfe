"""Trains with JAX on each of several processes: ``jax_train.py FOLDER TOTAL PORT RANK WORLD [before]``. ``before``: the run
begins before the processes meet, as it does after."""

import json
import os
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import headway

folder, total, port, rank, world = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
early = headway.track(total_steps=total) if "before" in sys.argv else None
jax.distributed.initialize(f"127.0.0.1:{port}", world, rank)
run = early or headway.track(total_steps=total)
(folder / f"pid-{rank}").write_text(str(os.getpid()))
update = jax.jit(lambda weight: weight - 0.01 * weight)
weight = jnp.ones(8)
told = {"rank": rank, "saved": [], "stopped": None}
for step in range(1, total + 1):
    weight = update(weight)
    time.sleep(0.01)
    run.step(step, loss=weight[0])
    if run.should_checkpoint:
        (folder / f"checkpoint-{rank}.json").write_text(json.dumps({"step": step, "weight": weight.tolist()}))
        run.checkpointed(step)
        told["saved"].append(step)
    if run.should_stop:
        told["stopped"] = step
        break
(folder / f"told-{rank}.json").write_text(json.dumps(told))
jax.distributed.shutdown()
