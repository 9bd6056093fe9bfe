"""Trains a tiny GPT-2 from scratch on the sources of Python's standard library, byte by byte. Nothing is downloaded.

An ordinary Transformers script: it knows nothing of Headway. Under `headway run` its Trainer reports by itself.
"""

import argparse
import sysconfig
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

CONTEXT = 64


def load_text(size: int) -> torch.Tensor:
    """The first `size` bytes of the standard library's sources."""
    data = bytearray()
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        data += path.read_bytes()
        if len(data) >= size:
            break
    return torch.frombuffer(data[:size], dtype=torch.uint8).long()


class Passages(torch.utils.data.Dataset):
    """Passages of CONTEXT bytes, each both the input and what is to be predicted."""

    def __init__(self, text: torch.Tensor) -> None:
        self.rows = text[: len(text) // CONTEXT * CONTEXT].view(-1, CONTEXT)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--output", default="out", help="where checkpoints go")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in --output")
    options = parser.parse_args()

    set_seed(0)
    text = load_text(800_000)
    cut = len(text) * 9 // 10
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=256, n_positions=CONTEXT, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=options.output,
            max_steps=options.steps,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=64,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=options.steps // 20,
            logging_steps=max(1, options.steps // 50),
            eval_strategy="steps",
            eval_steps=max(1, options.steps // 4),
            save_steps=max(1, options.steps // 10),
            save_total_limit=2,
            use_cpu=True,
        ),
        train_dataset=Passages(text[:cut]),
        eval_dataset=Passages(text[cut : cut + 40_000]),
    )
    trainer.train(resume_from_checkpoint=options.resume or None)


if __name__ == "__main__":
    main()
