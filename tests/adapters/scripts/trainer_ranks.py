"""A Trainer on several ranks that saves only when it is asked to, and says where each of them stood."""

from __future__ import annotations

import gc
import json
import os
import time

import torch
import transformers
from trainer import Line, Rows
from truth import arguments

losses: dict[int, float] = {}


class Own(transformers.Trainer):
    """Notes the loss of each step as this rank has it."""

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        losses[self.state.global_step + 1] = loss.item()
        return loss


class Look(transformers.TrainerCallback):
    """Notes at which steps this rank saved and ended."""

    def __init__(self, folder, until: int | None) -> None:
        self.path = folder / f"told-{os.environ['RANK']}.json"
        self.until = until
        self.told = {"pid": os.getpid(), "start": None, "saved": [], "ended": None}

    def on_train_begin(self, args, state, control, **_):
        self.say(start=state.global_step)

    def on_step_end(self, args, state, control, **_):
        time.sleep(0.01)
        if self.until is not None and state.global_step >= self.told["start"] + self.until:
            control.should_training_stop = True

    def on_save(self, args, state, control, **_):
        self.say(saved=[*self.told["saved"], state.global_step])

    def on_train_end(self, args, state, control, **_):
        facts = {"total": state.max_steps, "epoch": state.epoch, "log": state.log_history, "losses": losses}
        self.say(ended=state.global_step, **facts)

    def say(self, **facts):
        self.told.update(facts)
        self.path.with_suffix(".new").write_text(json.dumps(self.told))
        self.path.with_suffix(".new").rename(self.path)


def main() -> None:

    options = arguments()
    torch.set_num_threads(1)
    transformers.set_seed(1)
    arguments_ = transformers.TrainingArguments(
        output_dir=str(options.folder / "out"),
        max_steps=100_000,
        per_device_train_batch_size=8,
        save_strategy="steps",
        save_steps=1_000_000,
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        dataloader_pin_memory=False,
    )
    look = Look(options.folder, options.until)
    trainer = Own(model=Line(), args=arguments_, train_dataset=Rows(320), callbacks=[look])
    trainer.train(resume_from_checkpoint=options.resume or None)
    del trainer  # and the model with it: DDP's reducer must not be the last to hold gloo's group
    gc.collect()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
