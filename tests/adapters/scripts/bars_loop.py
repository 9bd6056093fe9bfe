"""A loop of plain PyTorch in progress bars, which know what nobody says: how many epochs there are, and how many steps."""

from __future__ import annotations

import sys
import time

import torch
from torch import nn
from tqdm import tqdm
from truth import Truth, arguments

from headway.adapters.torch import watch

EPOCHS, BATCHES = 2, 20


def main() -> None:
    options = arguments()
    truth = Truth(options.folder)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    start = 0
    if options.resume:
        start, weights, state = torch.load(options.folder / "checkpoint.pt")
        model.load_state_dict(weights)
        optimizer.load_state_dict(state)
    voice = watch(optimizer)
    step = start
    for epoch in tqdm(range(start // BATCHES, EPOCHS), initial=start // BATCHES, total=EPOCHS):
        for _ in tqdm(range(BATCHES), leave=False):
            x = torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            voice.note(loss=loss)
            optimizer.step()
            step += 1
            truth.step(step, loss.item(), optimizer.param_groups[0]["lr"], norm.item())
            time.sleep(0.04)
        voice.log(eval_loss=float(epoch))
        truth.evaluation(step, eval_loss=float(epoch))
        began = time.monotonic()
        path = options.folder / "checkpoint.pt"
        torch.save((step, model.state_dict(), optimizer.state_dict()), path)
        voice.checkpointed(seconds=time.monotonic() - began, path=path)
        truth.checkpoints.append(step)
        truth.facts = {"start": start, "steps": step, "total": EPOCHS * BATCHES, "epoch": epoch + 1, "epochs": EPOCHS}
        if step == options.until:
            sys.exit(3)


if __name__ == "__main__":
    main()
