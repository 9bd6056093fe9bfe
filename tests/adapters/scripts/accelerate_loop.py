"""A loop of one's own with Accelerate, two micro-batches a step: an evaluation and a checkpoint half-way.

What only the script knows, the total, it tells the tracker.
"""

from __future__ import annotations

import sys
import time

import torch
from accelerate import Accelerator
from torch import nn
from truth import Truth, arguments

from headway.adapters.accelerate import HeadwayTracker

TOTAL, MICRO, HALF = 40, 2, 20


def main() -> None:
    options = arguments()
    truth = Truth(options.folder)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    tracker = HeadwayTracker(total_steps=TOTAL)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=MICRO, log_with=tracker)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / TOTAL)
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.register_for_checkpointing(schedule)
    if options.resume:
        accelerator.load_state(options.folder / "checkpoint")
    start = schedule.last_epoch
    accelerator.init_trackers("project", config={"width": 16})

    generator = torch.Generator().manual_seed(10 + 100 * start)
    losses: list[float] = []
    for micro in range(start * MICRO + 1, (options.until or TOTAL) * MICRO + 1):
        step = micro // MICRO
        with accelerator.accumulate(model):
            x = torch.randn(16, 8, generator=generator)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            accelerator.backward(loss)
            losses.append(loss.item())
            if accelerator.sync_gradients:
                norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
                truth.step(step, sum(losses) / len(losses), schedule.get_last_lr()[0], norm.item())
                losses = []
            optimizer.step()
            if accelerator.sync_gradients:
                schedule.step()
            optimizer.zero_grad()
        time.sleep(0.02)
        if micro % (HALF * MICRO) == 0:
            x = torch.ones(4, 8)
            with torch.no_grad():
                score = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item()
            accelerator.log({"eval_loss": score, "epoch": step // HALF, "note": "half"}, step=step // HALF)
            truth.evaluation(step, eval_loss=score)
        if step == options.until and accelerator.sync_gradients:
            accelerator.save_state(options.folder / "checkpoint")
            truth.checkpoints.append(step)
    truth.facts = {"start": start, "steps": schedule.last_epoch, "total": TOTAL}
    accelerator.end_training()
    sys.exit(3 if options.until else 0)


if __name__ == "__main__":
    main()
