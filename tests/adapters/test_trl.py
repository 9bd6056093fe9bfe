"""TRL's trainers, tiny and for real: their own metrics pass through, and a reward is known to be one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(180)]
trl = pytest.importorskip("trl", reason="pip install --group frameworks")

import datasets  # noqa: E402 - comes with TRL
import tokenizers  # noqa: E402
import transformers  # noqa: E402

from headway.adapters.transformers import HeadwayCallback  # noqa: E402


@pytest.fixture(scope="module")
def words() -> Any:
    """A tokenizer of single bytes."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE({each: at for at, each in enumerate(["<pad>", "<eos>", *letters])}, merges=[])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>")


def model(words: Any) -> Any:
    transformers.set_seed(2)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    special = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(words), num_key_value_heads=2, max_position_embeddings=64, **shape, **special
        )
    )


def sft(words: Any, common: dict[str, Any]) -> Any:
    rows = datasets.Dataset.from_list([{"text": f"{each} plus one is {each + 1}"} for each in range(32)])
    arguments = trl.SFTConfig(max_length=32, **common)
    return trl.SFTTrainer(
        model(words), args=arguments, processing_class=words, train_dataset=rows, callbacks=[HeadwayCallback()]
    )


def dpo(words: Any, common: dict[str, Any]) -> Any:
    rows = datasets.Dataset.from_list([{"prompt": f"{each} ", "chosen": "yes", "rejected": "no"} for each in range(32)])
    arguments = trl.DPOConfig(max_length=32, **common)
    return trl.DPOTrainer(
        model(words),
        ref_model=model(words),
        args=arguments,
        processing_class=words,
        train_dataset=rows,
        callbacks=[HeadwayCallback()],
    )


def grpo(words: Any, common: dict[str, Any]) -> Any:
    def short(completions: list[str], **_: Any) -> list[float]:
        return [-float(len(each)) for each in completions]

    rows = datasets.Dataset.from_list([{"prompt": f"{each} "} for each in range(32)])
    arguments = trl.GRPOConfig(num_generations=4, max_completion_length=8, gradient_accumulation_steps=2, **common)
    return trl.GRPOTrainer(
        model(words),
        reward_funcs=short,
        args=arguments,
        processing_class=words,
        train_dataset=rows,
        callbacks=[HeadwayCallback()],
    )


OWN = {
    sft: ("mean_token_accuracy", "entropy", "num_tokens"),
    dpo: ("rewards/margins", "rewards/chosen", "rewards/accuracies"),
    grpo: ("reward", "reward_std", "rewards/short/mean", "completions/mean_length"),
}
DIRECTION = {sft: "mean_token_accuracy", dpo: "rewards/margins", grpo: "reward"}


@pytest.mark.parametrize("make", [sft, dpo, grpo], ids=lambda make: make.__name__)
def test_a_trainer_s_own_metrics_pass_through(make: Any, words: Any, heard: Any, tmp_path: Path) -> None:
    common = {
        "output_dir": str(tmp_path),
        "max_steps": 4,
        "logging_steps": 1,
        "per_device_train_batch_size": 4,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }
    trainer = make(words, common)
    trainer.train()
    heard.finish()
    assert heard.progress["step"] == heard.progress["totalSteps"] == trainer.state.global_step == 4
    assert heard.info["framework"] == "trl"
    assert heard.info["metrics"][DIRECTION[make]] == "max"
    history = [entry for entry in trainer.state.log_history if "loss" in entry]
    for name in (*OWN[make], "grad_norm"):
        assert heard.values(name) == {entry["step"]: pytest.approx(entry[name]) for entry in history}, name
    seen = sum(cell[0] * cell[1] if isinstance(cell, list) else cell for cell in heard.values("loss").values())
    assert seen == pytest.approx(sum(entry["loss"] for entry in history), abs=1e-5)
    assert heard.count("loss") == 4
