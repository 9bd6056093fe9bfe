"""Lightning on several ranks that saves only when it is asked to, and says where each of them stood. Knows nothing of Headway."""

from __future__ import annotations

import json
import os
import time

import lightning.pytorch as pl
import torch
from truth import arguments


class Line(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(4, 1)

    def training_step(self, batch):
        time.sleep(0.01)
        return self.line(batch[0]).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01)


class Look(pl.Callback):
    """Notes at which steps this rank saved and ended."""

    def __init__(self, folder, until: int | None) -> None:
        self.path = folder / f"told-{os.environ['RANK']}.json"
        self.until = until
        self.told = {"pid": os.getpid(), "start": None, "saved": [], "ended": None}

    def on_train_start(self, trainer, pl_module):
        self.say(start=trainer.global_step)

    def on_train_batch_end(self, trainer, *_):
        if self.until is not None and trainer.global_step >= self.told["start"] + self.until:
            trainer.should_stop = True

    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        self.say(saved=[*self.told["saved"], trainer.global_step])

    def on_train_end(self, trainer, pl_module):
        self.say(ended=trainer.global_step)

    def say(self, **facts):
        self.told.update(facts)
        self.path.with_suffix(".new").write_text(json.dumps(self.told))
        self.path.with_suffix(".new").rename(self.path)


def main() -> None:
    options = arguments()
    torch.set_num_threads(1)
    pl.seed_everything(1)
    rows = torch.utils.data.TensorDataset(torch.randn(640, 4))
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_steps=100_000,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[
            pl.callbacks.ModelCheckpoint(options.folder / "out", every_n_train_steps=1_000_000),
            Look(options.folder, options.until),
        ],
    )
    loader = torch.utils.data.DataLoader(rows, batch_size=8)
    trainer.fit(Line(), loader, ckpt_path="last" if options.resume else None)


if __name__ == "__main__":
    main()
