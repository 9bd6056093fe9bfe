"""Limits and names that both ends of the wire agree on."""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final = 1
"""Version of the ``headway`` object. A server that does not know it answers as to a stock client."""

MAX_BODY_BYTES: Final = 64 * 1024
"""Largest request body, in bytes."""

MAX_METRICS: Final = 256
"""Most metrics in ``trainerStatus.metrics``."""

MAX_NAME_LENGTH: Final = 64
"""Longest metric name in ``trainerStatus.metrics``, in characters."""

MAX_VALUE_LENGTH: Final = 64
"""Longest metric value in ``trainerStatus.metrics``, in characters."""

STATUS_PATH: Final = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"
"""Where reports are posted; ``namespace`` and ``name`` are percent-encoded, slashes included."""

LEAST_BEAT: Final = 5.0
"""Seconds between two beats of a rank that writes no progress, where there are few of them."""

BEATS_PER_SECOND: Final = 30
"""Most beats a second of all ranks of a job together."""

LOCAL_NAMESPACE: Final = "local"
"""The namespace of jobs on this machine."""

# Request headers by which a relay or a spool hands on what it kept. A report's own ``headway`` object wins over them.
HEADER_AGE: Final = "headway-age"
"""Seconds that the report lay in a relay or spool before this request."""

HEADER_ATTEMPT: Final = "headway-attempt"
"""Attempt id, for posts of stock clients behind a relay."""

HEADER_RUN: Final = "headway-run"
"""Run id that a relay gives to posts of stock clients, so that one sent twice is counted once."""

HEADER_SEQ: Final = "headway-seq"
"""Sequence number that a relay gives to posts of stock clients."""

CANONICAL_METRICS: Final[dict[str, str]] = {
    "train_loss": "loss",
    "train/loss": "loss",
    "val_loss": "eval_loss",
    "validation_loss": "eval_loss",
    "eval/loss": "eval_loss",
    "lr": "learning_rate",
    "train/learning_rate": "learning_rate",
    "gradient_norm": "grad_norm",
    "train/grad_norm": "grad_norm",
}
"""Aliases of the metrics that insight and the dashboard know. Names are stored as given; this is for look-up only."""

CANONICAL_DIRECTIONS: Final[dict[str, str]] = {
    "loss": "min",
    "eval_loss": "min",
    "reward": "max",
    "accuracy": "max",
    "eval_accuracy": "max",
    "throughput": "max",
}
"""Which way is better, where it is known without being told. Other metrics: ``track(metrics={"bleu": "max"})``."""

STREAM_SECONDS: Final = 86_400
"""Longest that an event stream may be asked to last; one that is not asked to end goes on."""


def beat_interval(world_size: int) -> float:
    """Seconds between two beats of a rank that writes no progress."""
    return max(LEAST_BEAT, world_size / BEATS_PER_SECOND)
