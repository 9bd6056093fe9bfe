"""DeepSpeed with ZeRO-1: the engine's own accumulation, schedule, data loader and checkpoints.

It knows Headway for its evaluation only.
"""

from __future__ import annotations

import os
import sys
import time

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed
import torch
import torch.distributed as dist
from torch import nn
from truth import Truth, arguments

import headway

TOTAL, MICRO, HALF = 40, 2, 20
CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": MICRO,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "scheduler": {
        "type": "WarmupDecayLR",
        "params": {"total_num_steps": TOTAL, "warmup_max_lr": 1e-2, "warmup_min_lr": 1e-3, "warmup_num_steps": 5},
    },
    "steps_per_print": 1000,
}


def main() -> None:
    options = arguments()
    truth = Truth(options.folder)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    deepspeed.ops.__compatible_ops__.clear()  # or it would compile an extension for communication on a CPU
    deepspeed.init_distributed("gloo")
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    x = torch.randn(40 * MICRO * 8, 8)  # of two epochs on two ranks, with two micro-batches of 8 a step
    engine, _, loader, _ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-2),
        training_data=torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)),
        config=CONFIG,
    )
    if options.resume:
        engine.load_checkpoint(str(options.folder / "checkpoint"))
    start = engine.global_steps
    batches = (batch for _ in range(2) for batch in loader)
    while engine.global_steps < (options.until or TOTAL):
        total, rate = 0.0, engine.get_lr()[0]
        for _ in range(MICRO):
            inputs, targets = next(batches)
            loss = nn.functional.mse_loss(engine(inputs), targets)
            engine.backward(loss)
            engine.step()
            total += loss.item() / MICRO
        truth.step(engine.global_steps, total, rate, float(engine.get_global_grad_norm()))
        time.sleep(0.04)
        if engine.global_steps % HALF == 0:
            run = headway.current_run()
            with run.phase("eval"), torch.no_grad():
                score = nn.functional.mse_loss(engine(torch.ones(4, 8)), torch.full((4, 1), 8.0)).item()
            run.log(eval_loss=score)
            truth.evaluation(engine.global_steps, eval_loss=score)
        if engine.global_steps == options.until:
            engine.save_checkpoint(str(options.folder / "checkpoint"))
            truth.checkpoints.append(engine.global_steps)
    steps = engine.global_steps
    truth.facts = {"start": start, "steps": steps, "total": TOTAL, "epoch": steps * MICRO / len(loader)}
    rank = dist.get_rank()
    dist.destroy_process_group()
    sys.exit(3 if options.until and rank == 0 else 0)


if __name__ == "__main__":
    main()
