"""Data-parallel training with torchrun and gloo: every process calls headway.track(), the first one writes progress.

headway run --name ddp -- torchrun --standalone --nproc-per-node 2 train.py
"""

import argparse
import sysconfig
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import headway

CONTEXT = 32


def load_text(size: int) -> torch.Tensor:
    data = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("c*.py")))
    return torch.frombuffer(bytearray(data[:size]), dtype=torch.uint8).long()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args().steps

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    text = load_text(400_000)
    model = DistributedDataParallel(
        nn.Sequential(nn.Embedding(256, 16), nn.Flatten(), nn.Linear(16 * CONTEXT, 128), nn.ReLU(), nn.Linear(128, 256))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    run = headway.track(total_steps=steps, config={"lr": 2e-3, "world_size": dist.get_world_size()})
    for _ in range(steps):
        at = torch.randint(len(text) - CONTEXT - 1, (64,))
        windows = text[at[:, None] + torch.arange(CONTEXT + 1)]
        loss = nn.functional.cross_entropy(model(windows[:, :-1]), windows[:, -1])
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        run.step(loss=loss, grad_norm=norm, learning_rate=2e-3)
    if rank == 0:
        print(f"loss {loss.item():.3f} nats a byte after {steps} steps on {dist.get_world_size()} processes")
    del model  # one that outlives its group can keep gloo from ending
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
