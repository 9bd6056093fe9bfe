"""A Trainer of Transformers, or of TRL, that knows nothing of Headway: accumulation, evaluation and a checkpoint each epoch."""

from __future__ import annotations

import sys
import time

import torch
import transformers
from truth import Truth, arguments

HALF, MICRO, ROWS = 20, 2, 320


class Line(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(8, 1)

    def forward(self, x, labels):
        guess = self.line(x)
        return {"loss": torch.nn.functional.mse_loss(guess, labels), "logits": guess}


class Rows(torch.utils.data.Dataset):
    def __init__(self, count: int) -> None:
        self.x = torch.randn(count, 8, generator=torch.Generator().manual_seed(3))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int):
        return {"x": self.x[index], "labels": self.x[index].sum(0, keepdim=True)}


class Halt(transformers.TrainerCallback):
    """Keeps a pace that can be seen, and ends the loop after a step."""

    def __init__(self, until: int | None) -> None:
        self.until = until

    def on_step_end(self, args, state, control, **_):
        time.sleep(0.04)
        if state.global_step == self.until:
            control.should_training_stop = True


def plain(common, callbacks):
    arguments = transformers.TrainingArguments(learning_rate=0.05, dataloader_pin_memory=False, **common)
    return transformers.Trainer(
        model=Line(), args=arguments, train_dataset=Rows(ROWS), eval_dataset=Rows(16), callbacks=callbacks
    )


def sft(common, callbacks):
    import datasets
    import tokenizers
    import trl

    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    words = tokenizers.Tokenizer(
        tokenizers.models.BPE({each: at for at, each in enumerate(["<pad>", "<eos>", *letters])}, merges=[])
    )
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
    shape = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    special = {"num_key_value_heads": 2, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=len(words), **shape, **special))
    rows = datasets.Dataset.from_list([{"text": f"{each} and {each + 1}"} for each in range(ROWS)])
    return trl.SFTTrainer(
        model,
        args=trl.SFTConfig(learning_rate=0.01, max_length=16, bf16=False, **common),
        processing_class=words,
        train_dataset=rows,
        eval_dataset=rows.select(range(16)),
        callbacks=callbacks,
    )


def main() -> None:
    options = arguments()
    truth = Truth(options.folder)
    torch.set_num_threads(1)
    transformers.set_seed(1)
    common = {
        "output_dir": str(options.folder / "out"),
        "num_train_epochs": 2,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": MICRO,
        "logging_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": HALF,
        "save_strategy": "steps",
        "save_steps": HALF,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
    }
    trainer = (sft if options.mode == "trl" else plain)(common, [Halt(options.until)])
    start = HALF if options.resume else 0
    trainer.train(resume_from_checkpoint=options.resume or None)
    state = trainer.state
    for entry in state.log_history:
        if entry["step"] <= start:
            continue
        if "loss" in entry:
            truth.step(entry["step"], entry["loss"], entry["learning_rate"], entry["grad_norm"])
        elif "eval_loss" in entry:
            truth.evaluation(entry["step"], eval_loss=entry["eval_loss"])
    truth.checkpoints = sorted(
        int(path.name.partition("-")[2]) for path in (options.folder / "out").glob("checkpoint-*")
    )
    truth.facts = {
        "start": start,
        "steps": state.global_step,
        "total": state.max_steps,
        "epoch": state.epoch,
        "epochs": state.num_train_epochs,
    }
    sys.exit(3 if options.until else 0)


if __name__ == "__main__":
    main()
