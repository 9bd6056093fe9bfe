"""TRL: its trainers are Trainers of Transformers, so they have that callback; here is what they mean by their metrics.

By itself each trainer of TRL has the callback. Or say so, one line::

    from headway.adapters.transformers import HeadwayCallback

    trainer = GRPOTrainer(..., callbacks=[HeadwayCallback()])
"""

from __future__ import annotations

from typing import Final

from headway.adapters.base import About, Dialect
from headway.reporter.slots import Layer

_MORE_IS_BETTER: Final = (
    *("reward", "rewards/chosen", "rewards/margins", "rewards/accuracies", "mean_token_accuracy"),
    *("objective/rlhf_reward", "objective/scores"),
)
DIALECT: Final = Dialect(
    framework="trl",
    metrics={prefix + name: "max" for name in _MORE_IS_BETTER for prefix in ("", "eval_")},
)
"""Rewards are to grow. Which way is better for what TRL logs besides, such as lengths and clip ratios, nobody can say."""
ABOUT: Final = About(
    title="TRL",
    framework=DIALECT.framework,
    layer=Layer.TRAINER,
    steps="As in Transformers: `state.global_step`, one for each step of the optimizer.",
    total="`state.max_steps`.",
    epochs="As in Transformers.",
    metrics="As in Transformers, and all of TRL's own: `reward`, `rewards/…`, `kl`, `entropy`, `completions/…`. Rewards are "
    "known to be better when they are higher.",
    config="The arguments of the trainer, TRL's own among them, that differ from their defaults.",
    checkpoints="As in Transformers.",
    directives="As in Transformers.",
    by_hand="GRPOTrainer(..., callbacks=[HeadwayCallback()])",
    through="transformers",
)
