"""A loop of plain PyTorch, alone, under DDP or FSDP2: two micro-batches a step, an evaluation and a checkpoint half-way.

What only the script knows it says by ``watch``: the total, and the loss.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from truth import Truth, arguments

from headway.adapters.torch import watch

TOTAL, MICRO, HALF = 40, 2, 20


def main() -> None:
    options = arguments()
    truth = Truth(options.folder)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rank = 0
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    if options.mode:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
        torch.manual_seed(1)
    if options.mode == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    elif options.mode == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / TOTAL)
    start = restore(options, model, optimizer, schedule) if options.resume else 0
    voice = watch(optimizer, model=model, total_steps=TOTAL, total_epochs=2, config={"width": 16})

    generator = torch.Generator().manual_seed(10 + rank + 100 * start)
    for step in range(start + 1, (options.until or TOTAL) + 1):
        total = 0.0
        for micro in range(MICRO):
            x = torch.randn(16, 8, generator=generator)
            waits = options.mode == "ddp" and micro < MICRO - 1
            with model.no_sync() if waits else nullcontext():
                loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
                (loss / MICRO).backward()
            voice.note(loss=loss)
            total += loss.item() / MICRO
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if options.mode == "fsdp":
            norm = norm.full_tensor()
            voice.note(grad_norm=norm)
        truth.step(step, total, schedule.get_last_lr()[0], norm.item())
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        voice.set_epoch(2 * step / TOTAL)
        time.sleep(0.04)
        if step % HALF == 0:
            x = torch.ones(4, 8)
            with voice.phase("eval"), torch.no_grad():
                score = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).item()
            voice.log(eval_loss=score)
            truth.evaluation(step, eval_loss=score)
        if step == options.until:
            began = time.monotonic()
            save(options, model, optimizer, schedule, step)
            voice.checkpointed(seconds=time.monotonic() - began, path=options.folder / "checkpoint")
            truth.checkpoints.append(step)
    truth.facts = {
        "start": start,
        "steps": schedule.last_epoch,
        "total": TOTAL,
        "epoch": 2 * schedule.last_epoch / TOTAL,
        "epochs": 2,
    }
    del model  # DDP's reducer, if it is the last to hold gloo's group, waits for it with the interpreter lock held
    if options.mode:
        dist.destroy_process_group()
    sys.exit(3 if options.until and rank == 0 else 0)


def save(options, model, optimizer, schedule, step) -> None:
    weights, state = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": state}, checkpoint_id=options.folder / "checkpoint")
    if not dist.is_initialized() or dist.get_rank() == 0:
        torch.save((step, schedule.state_dict()), options.folder / "schedule.pt")
    if options.mode:
        dist.barrier()


def restore(options, model, optimizer, schedule) -> int:
    weights, state = get_state_dict(model, optimizer)
    held = {"model": weights, "optimizer": state}
    dcp.load(held, checkpoint_id=options.folder / "checkpoint")
    set_state_dict(model, optimizer, model_state_dict=held["model"], optim_state_dict=held["optimizer"])
    step, kept = torch.load(options.folder / "schedule.pt")
    schedule.load_state_dict(kept)
    return step


if __name__ == "__main__":
    main()
