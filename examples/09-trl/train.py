"""Trains a tiny Llama from scratch with GRPO to write vowels. Nothing is downloaded.

An ordinary TRL script: it knows nothing of Headway. Under `headway run` its trainer reports by itself, rewards and all.
"""

import argparse
import string

import datasets
import tokenizers
import transformers
from trl import GRPOConfig, GRPOTrainer

LENGTH = 12


def letters() -> transformers.PreTrainedTokenizerFast:
    """A tokenizer of single small letters."""
    vocabulary = {each: at for at, each in enumerate(["<pad>", "<eos>", *string.ascii_lowercase])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges=[], unk_token="<pad>"))
    made.decoder = tokenizers.decoders.Fuse()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>")


def vowels(completions: list[str], **_: object) -> list[float]:
    """The reward: the share of vowels in what was written."""
    return [sum(letter in "aeiou" for letter in each) / LENGTH for each in completions]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--output", default="out", help="where checkpoints go")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in --output")
    options = parser.parse_args()

    transformers.set_seed(0)
    tokenizer = letters()
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=None,
        )
    )  # fmt: skip
    trainer = GRPOTrainer(
        model,
        reward_funcs=vowels,
        args=GRPOConfig(
            output_dir=options.output,
            max_steps=options.steps,
            per_device_train_batch_size=16,
            num_generations=8,
            max_completion_length=LENGTH,
            learning_rate=5e-3,
            logging_steps=max(1, options.steps // 50),
            save_steps=max(1, options.steps // 4),
            save_total_limit=2,
            report_to="none",
            bf16=False,
            use_cpu=True,
        ),
        processing_class=tokenizer,
        train_dataset=datasets.Dataset.from_list([{"prompt": each} for each in string.ascii_lowercase]),
    )
    trainer.train(resume_from_checkpoint=options.resume or None)


if __name__ == "__main__":
    main()
