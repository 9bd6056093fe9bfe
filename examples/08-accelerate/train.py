"""Trains a small network on generated points with Accelerate, in a loop of its own. Nothing is downloaded.

An ordinary script: it knows nothing of Headway. Under `headway run` it reports by itself; the progress bar tells the total.
"""

import argparse
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import nn
from tqdm import tqdm

BATCH, MICRO, PER_EPOCH = 64, 2, 100


def points(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of two spirals, and which one each lies on."""
    which = torch.randint(0, 2, (count,), generator=generator)
    radius = torch.rand(count, generator=generator)
    angle = 6 * radius + torch.pi * which + 0.1 * torch.randn(count, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), which.float()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("out"), help="where the state is saved")
    parser.add_argument("--resume", action="store_true", help="go on from the state in --output")
    options = parser.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=MICRO, cpu=True)
    torch.manual_seed(accelerator.process_index)
    generator = torch.Generator().manual_seed(accelerator.process_index)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.init_trackers("spirals", config={"lr": 3e-3, "batch": BATCH, "accumulation": MICRO})
    epochs = torch.zeros(1, dtype=torch.int64)  # saved with the state
    accelerator.register_for_checkpointing(Saved(epochs))
    if options.resume:
        accelerator.load_state(options.output)
    start = int(epochs)

    tests, answers = points(1000, generator)
    silent = not accelerator.is_main_process
    with tqdm(total=options.epochs * PER_EPOCH, initial=start * PER_EPOCH, disable=silent) as bar:
        for epoch in range(start, options.epochs):
            for _ in range(PER_EPOCH * MICRO):
                with accelerator.accumulate(model):
                    x, y = points(BATCH, generator)
                    accelerator.backward(nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y))
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()
                if accelerator.sync_gradients:
                    bar.update(1)
            with torch.no_grad():
                right = ((model(tests).squeeze(1) > 0) == answers.bool()).float().mean()
            accelerator.log({"eval_accuracy": right.item()}, step=(epoch + 1) * PER_EPOCH)
            epochs += 1
            accelerator.save_state(options.output)
    accelerator.end_training()


class Saved:
    """A number that is saved with the state."""

    def __init__(self, value: torch.Tensor) -> None:
        self.value = value

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        self.value.copy_(state["value"])


if __name__ == "__main__":
    main()
