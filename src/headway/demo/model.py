"""A character-level language model with one hidden layer, its exact gradient, and Adam."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float32]"
Parameters: TypeAlias = "dict[str, NDArray[np.float32]]"

CONTEXT = 16
_EMBEDDING = 20
_HIDDEN = 160
_LEAK = np.float32(0.1)
"""Slope below zero: without one, units that a bad step has silenced never come back."""


def initial(vocabulary: int, random: np.random.Generator) -> Parameters:
    """Fresh parameters: embeddings of the last 16 characters, a leaky rectified layer, logits over the next character."""

    def normal(*shape: int, scale: float) -> Array:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    width = CONTEXT * _EMBEDDING
    return {
        "embedding": normal(vocabulary, _EMBEDDING, scale=0.3),
        "hidden": normal(width, _HIDDEN, scale=width**-0.5),
        "hidden_bias": np.zeros(_HIDDEN, np.float32),
        "output": normal(_HIDDEN, vocabulary, scale=0.3 * _HIDDEN**-0.5),
        "output_bias": np.zeros(vocabulary, np.float32),
    }


def loss_only(parameters: Parameters, inputs: NDArray[np.int64], targets: NDArray[np.int64]) -> float:
    """Mean cross entropy in nats. ``inputs`` (n, 16), ``targets`` (n,)."""
    *_, log_probabilities = _forward(parameters, inputs)
    return float(-log_probabilities[np.arange(len(targets)), targets].mean())


def loss_and_gradient(
    parameters: Parameters, inputs: NDArray[np.int64], targets: NDArray[np.int64]
) -> tuple[float, Parameters]:
    """Mean cross entropy in nats, and its gradient by backpropagation."""
    size = len(targets)
    flat, hidden, log_probabilities = _forward(parameters, inputs)
    rows = np.arange(size)
    loss = float(-log_probabilities[rows, targets].mean())
    delta = np.exp(log_probabilities)
    delta[rows, targets] -= 1
    delta /= size
    before = (delta @ parameters["output"].T) * np.where(hidden > 0, np.float32(1), _LEAK)
    embedding = np.zeros_like(parameters["embedding"])
    np.add.at(embedding, inputs, (before @ parameters["hidden"].T).reshape(*inputs.shape, -1))
    return loss, {
        "embedding": embedding,
        "hidden": flat.T @ before,
        "hidden_bias": before.sum(0),
        "output": hidden.T @ delta,
        "output_bias": delta.sum(0),
    }


def _forward(parameters: Parameters, inputs: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    flat = parameters["embedding"][inputs].reshape(len(inputs), -1)
    hidden = flat @ parameters["hidden"] + parameters["hidden_bias"]
    hidden = np.maximum(hidden, _LEAK * hidden)
    logits = hidden @ parameters["output"] + parameters["output_bias"]
    logits -= logits.max(1, keepdims=True)
    return flat, hidden, logits - np.log(np.exp(logits).sum(1, keepdims=True))


def norm(gradient: Parameters) -> float:
    """Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.square(part, dtype=np.float64).sum()) for part in gradient.values())))


class Adam:
    """Adam with bias correction; its moments are part of a checkpoint."""

    def __init__(self, parameters: Parameters) -> None:
        self.first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.second = {name: np.zeros_like(value) for name, value in parameters.items()}

    def update(self, parameters: Parameters, gradient: Parameters, step: int, learning_rate: float) -> None:
        """One step in place; ``step`` counts from 1."""
        correction = (1 - 0.99**step) ** 0.5 / (1 - 0.9**step)
        for name, part in gradient.items():
            self.first[name] += 0.1 * (part - self.first[name])
            self.second[name] += 0.01 * (part * part - self.second[name])
            parameters[name] -= learning_rate * correction * self.first[name] / (np.sqrt(self.second[name]) + 1e-8)


class Momentum:
    """Gradient descent with momentum 0.9: nothing rescales a step, so too high a learning rate shows."""

    def __init__(self, parameters: Parameters) -> None:
        self.first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.second: Parameters = {}

    def update(self, parameters: Parameters, gradient: Parameters, step: int, learning_rate: float) -> None:  # noqa: ARG002
        """One step in place."""
        for name, part in gradient.items():
            self.first[name] = 0.9 * self.first[name] + part
            parameters[name] -= learning_rate * self.first[name]
