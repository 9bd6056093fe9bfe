"""The demo's language model is a real one: its gradient is exact, it learns, and a checkpoint holds all of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway.demo import corpus, model


def _params(seed: int = 0) -> model.Parameters:
    return model.initial(97, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def text() -> corpus.Corpus:
    return corpus.load(300_000)


def test_corpus_is_real_text_and_keeps_validation_apart(text: corpus.Corpus) -> None:
    assert len(text.train) > 8 * len(text.validation) > 0
    written = "".join(text.characters[index] for index in text.train[:200_000])
    assert "def " in written
    assert "import " in written
    held_out = "".join(text.characters[index] for index in text.validation[:4096])
    assert held_out not in written


def test_corpus_says_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        corpus.load(folder=tmp_path)


@pytest.mark.parametrize("name", ["embedding", "hidden", "hidden_bias", "output", "output_bias"])
def test_gradient_is_exact(name: str, text: corpus.Corpus) -> None:
    parameters = {key: value.astype(np.float64) for key, value in _params().items()}
    inputs, targets = corpus.batch(text.train, 8, model.CONTEXT, np.random.default_rng(1))
    _, gradient = model.loss_and_gradient(parameters, inputs, targets)
    part, slope = parameters[name].reshape(-1), gradient[name].reshape(-1)
    for index in np.argsort(-np.abs(slope))[:5]:
        kept = part[index]
        part[index] = kept + 1e-5
        above = model.loss_only(parameters, inputs, targets)
        part[index] = kept - 1e-5
        below = model.loss_only(parameters, inputs, targets)
        part[index] = kept
        assert slope[index] == pytest.approx((above - below) / 2e-5, rel=1e-3)


def test_it_learns(text: corpus.Corpus) -> None:
    random = np.random.default_rng(0)
    parameters = _params()
    optimizer = model.Adam(parameters)
    losses = []
    for step in range(1, 201):
        inputs, targets = corpus.batch(text.train, 64, model.CONTEXT, random)
        loss, gradient = model.loss_and_gradient(parameters, inputs, targets)
        optimizer.update(parameters, gradient, step, 0.006)
        losses.append(loss)
    assert losses[0] == pytest.approx(np.log(97), abs=0.3), "an untrained model guesses evenly"
    assert np.mean(losses[-20:]) < 2.9
