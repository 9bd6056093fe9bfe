"""What a metric is, told by its name: its role, and which way is better.

Names are the user's own; each framework has its habits (``train/loss``, ``val_loss``, ``rollout/ep_rew_mean``). The
canonical ones are listed in the domain model. What is not known here is kept and drawn, and judged only for being finite
and for repeating itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final


class Role(StrEnum):
    """What insight uses a metric for."""

    TRAIN_LOSS = "train_loss"
    EVAL_LOSS = "eval_loss"
    REWARD = "reward"
    ACCURACY = "accuracy"
    LEARNING_RATE = "learning_rate"
    GRAD_NORM = "grad_norm"
    OTHER = "other"


_EXACT: Final[dict[str, Role]] = {
    name: role
    for role, names in {
        Role.TRAIN_LOSS: "loss train_loss training_loss loss_train train_total_loss total_loss lm_loss train_lm_loss",
        Role.EVAL_LOSS: "eval_loss val_loss valid_loss validation_loss loss_val loss_eval dev_loss eval_eval_loss",
        Role.REWARD: "reward mean_reward reward_mean episode_reward episode_reward_mean ep_rew_mean rollout_ep_rew_mean "
        "eval_mean_reward eval_reward train_reward episode_return episodic_return return_mean mean_return",
        Role.ACCURACY: "accuracy acc train_accuracy train_acc eval_accuracy eval_acc val_accuracy val_acc "
        "validation_accuracy",
        Role.LEARNING_RATE: "learning_rate lr train_learning_rate train_lr",
        Role.GRAD_NORM: "grad_norm gradient_norm train_grad_norm train_gradient_norm total_norm grad_norm_total",
    }.items()
    for name in names.split()
}
_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
EPOCH_NAMES: Final = ("epoch", "train/epoch")
"""Metrics that tell how many epochs are done."""


@lru_cache(maxsize=4096)
def role_of(name: str) -> Role:
    """Role of a metric by its name, in any framework's spelling."""
    plain = _SEPARATORS.sub("_", name.lower()).strip("_")
    for spelling in (plain, plain.removesuffix("_step"), plain.removesuffix("_epoch")):
        if spelling in _EXACT:
            return _EXACT[spelling]
    return Role.LEARNING_RATE if plain.startswith("lr_") else Role.OTHER


def sign_of(name: str, declared: Mapping[str, str]) -> int | None:
    """1 where lower is better, -1 where higher is, None where nobody said so. ``declared`` maps names to min or max."""
    if name in declared:
        return {"min": 1, "max": -1}.get(declared[name])
    role = role_of(name)
    if role in (Role.TRAIN_LOSS, Role.EVAL_LOSS):
        return 1
    return -1 if role in (Role.REWARD, Role.ACCURACY) else None
