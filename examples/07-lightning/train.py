"""A small byte model trained by Lightning, validated and saved each epoch. Knows nothing of Headway.

headway run --name lit -- python train.py
"""

import argparse
import sysconfig
from pathlib import Path

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CONTEXT = 32


def load_windows(count: int, skip: int) -> TensorDataset:
    data = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("c*.py")))
    text = torch.frombuffer(bytearray(data[:400_000]), dtype=torch.uint8).long()
    at = torch.arange(count) * 7 + skip
    windows = text[at[:, None] + torch.arange(CONTEXT + 1)]
    return TensorDataset(windows[:, :-1], windows[:, -1])


class ByteModel(pl.LightningModule):
    def __init__(self, width: int = 128, lr: float = 2e-3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.lr = lr
        self.layers = nn.Sequential(
            nn.Embedding(256, 16), nn.Flatten(), nn.Linear(16 * CONTEXT, width), nn.ReLU(), nn.Linear(width, 256)
        )

    def training_step(self, batch):
        return self._loss(batch)

    def validation_step(self, batch):
        self.log("val_loss", self._loss(batch))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.lr)
        steps = self.trainer.estimated_stepping_batches
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.lr, total_steps=steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _loss(self, batch):
        inputs, targets = batch
        return nn.functional.cross_entropy(self.layers(inputs), targets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("output"))
    options = parser.parse_args()

    torch.set_num_threads(1)
    pl.seed_everything(0)
    trainer = pl.Trainer(
        accelerator="auto",
        max_epochs=options.epochs,
        accumulate_grad_batches=2,
        gradient_clip_val=1.0,
        logger=False,
        enable_progress_bar=False,
        default_root_dir=options.output,
        callbacks=[pl.callbacks.ModelCheckpoint(options.output, save_last=True)],
    )
    training = DataLoader(load_windows(12_800, 0), batch_size=32, shuffle=True)
    validation = DataLoader(load_windows(1_280, 100_000), batch_size=64)
    trainer.fit(ByteModel(), training, validation, ckpt_path="last")


if __name__ == "__main__":
    main()
