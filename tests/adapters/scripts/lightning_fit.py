"""Lightning: its own loop, accumulation, clipping, schedule, validation, checkpoints and resuming. Knows nothing of Headway.

``--mode pytorch_lightning`` is the same under its older name.
"""

from __future__ import annotations

import importlib
import sys
import time

import torch
from torch import nn
from truth import Truth, arguments

TOTAL, MICRO, HALF = 40, 2, 20
options = arguments()
pl = importlib.import_module(options.mode or "lightning.pytorch")


class Model(pl.LightningModule):
    def __init__(self, truth: Truth, width: int = 16) -> None:
        super().__init__()
        self.save_hyperparameters("width")
        self.truth = truth
        self.layers = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 1))
        self.losses: list[float] = []

    def training_step(self, batch, batch_idx):
        loss = self._loss(batch)
        self.losses.append(loss.item())
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        time.sleep(0.02)
        return loss

    def on_before_optimizer_step(self, optimizer) -> None:
        gradients = [each.grad for each in self.parameters() if each.grad is not None]
        self.norm, self.rate = nn.utils.get_total_norm(gradients).item(), optimizer.param_groups[0]["lr"]

    def on_train_batch_end(self, outputs, batch, batch_idx) -> None:
        if len(self.losses) == MICRO:
            self.truth.step(self.trainer.global_step, sum(self.losses) / MICRO, self.rate, self.norm)
            self.losses.clear()

    def validation_step(self, batch, batch_idx) -> None:
        self.log("val_loss", self._loss(batch))

    def on_validation_end(self) -> None:
        if not self.trainer.sanity_checking:
            self.truth.evaluation(self.trainer.global_step, val_loss=self.trainer.callback_metrics["val_loss"])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / TOTAL)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _loss(self, batch):
        inputs, targets = batch
        return nn.functional.mse_loss(self.layers(inputs), targets)


class Breaks(pl.Callback):
    """Ends the process when the first epoch has been saved."""

    def on_train_epoch_start(self, trainer, pl_module) -> None:
        if trainer.global_step == options.until:
            pl_module.truth.checkpoints.append(trainer.global_step)
            sys.exit(3)


def loader(batches: int, seed: int) -> torch.utils.data.DataLoader:
    x = torch.randn(batches * 8, 8, generator=torch.Generator().manual_seed(seed))
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return torch.utils.data.DataLoader(data, batch_size=8)


def main() -> None:
    torch.set_num_threads(1)
    pl.seed_everything(1)
    model = Model(Truth(options.folder))
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=2,
        accumulate_grad_batches=MICRO,
        gradient_clip_val=1.0,
        log_every_n_steps=10,
        default_root_dir=options.folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[
            pl.callbacks.ModelCheckpoint(
                options.folder, "half", every_n_train_steps=HALF, enable_version_counter=False
            ),
            Breaks(),
        ],
    )
    last = options.folder / "half.ckpt"
    try:
        trainer.fit(model, loader(40, 1), loader(4, 2), ckpt_path=last if options.resume else None)
    finally:
        model.truth.facts = {
            "start": HALF if options.resume else 0,
            "steps": trainer.global_step,
            "total": trainer.estimated_stepping_batches,
            "epoch": trainer.current_epoch,
            "epochs": trainer.max_epochs,
        }


if __name__ == "__main__":
    main()
