"""ZeRO-1 by DeepSpeed on two processes, with its own accumulation, schedule and checkpoints. Knows nothing of Headway.

headway run --name zero -- torchrun --standalone --nproc-per-node 2 train.py
"""

import argparse
import os
import sysconfig
from pathlib import Path

import torch
from torch import nn

if not torch.cuda.is_available():
    os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed

CONTEXT, MICRO = 32, 2


def load_text(size: int) -> torch.Tensor:
    data = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("c*.py")))
    return torch.frombuffer(bytearray(data[:size]), dtype=torch.uint8).long()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint"))
    options = parser.parse_args()

    if not torch.cuda.is_available():
        torch.set_num_threads(1)
        deepspeed.ops.__compatible_ops__.clear()  # gloo will do: nothing is compiled for the CPU
    deepspeed.init_distributed("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(0)
    text = load_text(400_000)
    model = nn.Sequential(
        nn.Embedding(256, 16), nn.Flatten(), nn.Linear(16 * CONTEXT, 128), nn.ReLU(), nn.Linear(128, 256)
    )
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3),
        config={
            "train_micro_batch_size_per_gpu": 32,
            "gradient_accumulation_steps": MICRO,
            "gradient_clipping": 1.0,
            "zero_optimization": {"stage": 1},
            "scheduler": {
                "type": "WarmupDecayLR",
                "params": {"total_num_steps": options.steps, "warmup_max_lr": 2e-3, "warmup_num_steps": 20},
            },
            "steps_per_print": 10_000,
        },
    )
    if (options.checkpoint / "latest").exists():
        engine.load_checkpoint(str(options.checkpoint))
    torch.manual_seed(1 + engine.global_rank + engine.global_steps)

    loss = None
    while engine.global_steps < options.steps:
        for _ in range(MICRO):
            at = torch.randint(len(text) - CONTEXT - 1, (32,))
            windows = text[at[:, None] + torch.arange(CONTEXT + 1)].to(engine.device)
            loss = nn.functional.cross_entropy(engine(windows[:, :-1]), windows[:, -1])
            engine.backward(loss)
            engine.step()
        if engine.global_steps % 100 == 0:
            engine.save_checkpoint(str(options.checkpoint))
    if engine.global_rank == 0:
        if loss is None:
            print("nothing is left to train: without its checkpoint it begins anew")
        else:
            print(f"loss {loss.item():.3f} nats a byte after {engine.global_steps} steps")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
