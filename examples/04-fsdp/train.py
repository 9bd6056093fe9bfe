"""A model sharded over the ranks by FSDP2, saved by all of them together, and resumed.

headway run --name fsdp -- torchrun --standalone --nproc-per-node 2 train.py
"""

import argparse
import sysconfig
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from headway.adapters.torch import watch

CONTEXT = 32


def load_text(size: int) -> torch.Tensor:
    data = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("c*.py")))
    return torch.frombuffer(bytearray(data[:size]), dtype=torch.uint8).long()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint"))
    options = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    text = load_text(400_000)
    model = nn.Sequential(
        nn.Embedding(256, 16), nn.Flatten(), nn.Linear(16 * CONTEXT, 128), nn.ReLU(), nn.Linear(128, 256)
    )
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (model[0], model[2], model[4]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    begun = {"step": 0}
    if (options.checkpoint / ".metadata").exists():
        restore(options.checkpoint, model, optimizer, begun)
    torch.manual_seed(1 + dist.get_rank() + begun["step"])

    voice = watch(optimizer, total_steps=options.steps, config={"lr": 2e-3, "batch": 64})
    loss = None
    for step in range(begun["step"] + 1, options.steps + 1):
        at = torch.randint(len(text) - CONTEXT - 1, (64,))
        windows = text[at[:, None] + torch.arange(CONTEXT + 1)]
        loss = nn.functional.cross_entropy(model(windows[:, :-1]), windows[:, -1])
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        voice.note(loss=loss, grad_norm=norm.full_tensor())
        optimizer.step()
        if voice.should_checkpoint or step == options.steps:
            began = time.monotonic()
            save(options.checkpoint, model, optimizer, step)
            voice.checkpointed(step, seconds=time.monotonic() - began, path=options.checkpoint)
        if voice.should_stop:
            break
    if dist.get_rank() == 0:
        if loss is None:
            print("nothing is left to train: without its checkpoint it begins anew")
        else:
            print(f"loss {loss.item():.3f} nats a byte on {dist.get_world_size()} processes")
    dist.destroy_process_group()


def save(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    weights, state = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": state, "step": step}, checkpoint_id=folder)


def restore(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, begun: dict[str, int]) -> None:
    weights, state = get_state_dict(model, optimizer)
    held = {"model": weights, "optimizer": state, "step": 0}
    dcp.load(held, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=held["model"], optim_state_dict=held["optimizer"])
    begun["step"] = held["step"]


if __name__ == "__main__":
    main()
