"""The same in every framework: each trains for real, and Headway says of it what the framework itself says.

A case is a script in ``scripts/`` that trains half-way, saves and ends badly, and then resumes and trains to its end. It leaves
what the framework says of each attempt (:class:`truth.Truth`), and everything else is the same for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.protocol.history import Series
from headway.protocol.job import State
from headway.protocol.report import EndingKind, Unit

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(240)]

HALF = 20
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@dataclass(frozen=True)
class Case:
    """A framework, and what is particular to it."""

    script: str
    framework: str
    needs: str = "torch"
    mode: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    ranks: int = 1
    unit: Unit = Unit.OPTIMIZER_STEP
    sampled: bool = False
    """Values come from a device now and then; each is one of its tick's, not their mean."""
    loss: str = "loss"
    grad_norm: bool = True
    learning_rate: bool = True
    evaluates_each_step: bool = False
    renamed: tuple[tuple[str, str], ...] = ()
    """Metrics of an evaluation that Headway calls otherwise than the framework."""


CASES = {
    "torch": Case("torch_loop.py", "pytorch"),
    "ddp": Case("torch_loop.py", "pytorch-ddp", mode=("--mode", "ddp"), launch=TORCHRUN, ranks=2),
    "fsdp2": Case("torch_loop.py", "pytorch-fsdp", mode=("--mode", "fsdp"), launch=TORCHRUN, ranks=2),
    "deepspeed": Case("deepspeed_loop.py", "deepspeed", "deepspeed", launch=TORCHRUN, ranks=2),
    "lightning": Case("lightning_fit.py", "lightning", "lightning"),
    "jax": Case("jax_loop.py", "jax", "orbax.checkpoint", sampled=True),
    "xgboost": Case(
        *("xgboost_train.py", "xgboost", "xgboost"),
        unit=Unit.TREE,
        loss="train-rmse",
        grad_norm=False,
        learning_rate=False,
        evaluates_each_step=True,
    ),
    "transformers": Case("trainer.py", "transformers", needs="transformers"),
    "trl": Case("trainer.py", "trl", needs="trl", mode=("--mode", "trl")),
    "accelerate": Case("accelerate_loop.py", "accelerate", needs="accelerate"),
    "tqdm": Case("bars_loop.py", "pytorch", needs="tqdm"),
}


@dataclass(frozen=True)
class Trained:
    """Both attempts of a case."""

    case: Case
    broken: Any
    done: Any

    @property
    def truths(self) -> list[dict[str, Any]]:
        return self.done.truths


@pytest.fixture(scope="module", params=CASES)
def trained(request: pytest.FixtureRequest, train: Any, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    case = CASES[request.param]
    pytest.importorskip(case.needs, reason="pip install --group frameworks")
    folder: Path = tmp_path_factory.mktemp(request.param)
    common = {"name": f"same-{request.param}", "folder": folder, "launch": case.launch}
    broken = train(case.script, *case.mode, "--until", str(HALF), **common)
    assert broken.code != 0
    assert len(broken.truths) == 1, broken.output
    assert broken.truths[0]["checkpoints"], broken.output
    assert broken.job.state is State.FAILED, broken.output
    done = train(case.script, *case.mode, "--resume", **common)
    assert done.code == 0, done.output
    assert len(done.truths) == 2, done.output
    return Trained(case, broken, done)


def test_it_is_complete_at_its_own_total(trained: Trained) -> None:
    job, facts = trained.done.job, trained.truths[-1]["facts"]
    assert job.state is State.COMPLETE
    assert job.ending is not None
    assert job.ending.kind is EndingKind.COMPLETED
    assert job.progress.percent == 100
    assert job.progress.step == job.progress.total_steps == facts["steps"] == facts["total"]
    assert job.progress.unit is trained.case.unit


def test_epochs_are_the_framework_s(trained: Trained) -> None:
    progress, facts = trained.done.job.progress, trained.truths[-1]["facts"]
    assert progress.total_epochs == facts.get("epochs")
    assert progress.epoch == (None if facts.get("epoch") is None else pytest.approx(facts["epoch"]))


def test_the_framework_is_named(trained: Trained) -> None:
    assert trained.done.job.spec.framework == trained.case.framework


def test_each_rank_is_there_once_and_one_of_them_writes(trained: Trained) -> None:
    attempts = trained.done.client.attempts(trained.done.name)
    assert sorted(rank.rank for rank in attempts.ranks if not rank.auxiliary) == list(range(trained.case.ranks))
    assert [attempt.world_size for attempt in attempts.attempts] == [trained.case.ranks] * 2


def test_a_resumed_run_begins_at_its_true_step(trained: Trained) -> None:
    first, second = trained.done.client.attempts(trained.done.name).attempts
    assert first.first_step in (0, 1)
    assert first.last_step == HALF == trained.truths[1]["facts"]["start"]
    assert second.resumed_from_step == HALF
    assert second.first_step in (HALF, HALF + 1)
    assert second.last_step == trained.truths[1]["facts"]["steps"]


def test_the_checkpoint_is_reported(trained: Trained) -> None:
    checkpoint = trained.done.client.attempts(trained.done.name).attempts[0].checkpoint
    assert checkpoint is not None
    assert checkpoint.step == trained.truths[0]["checkpoints"][-1]
    assert checkpoint.seconds is not None
    assert 0 <= checkpoint.seconds < 60
    assert checkpoint.path is not None
    assert Path(checkpoint.path).exists()


def test_losses_are_the_framework_s_own(trained: Trained) -> None:
    for ordinal, truth in enumerate(trained.truths, start=1):
        compare(trained, trained.done.series(trained.case.loss, ordinal), truth["losses"])


def test_learning_rates_are_the_framework_s_own(trained: Trained) -> None:
    if trained.case.learning_rate:
        for ordinal, truth in enumerate(trained.truths, start=1):
            compare(trained, trained.done.series("learning_rate", ordinal), truth["learning_rates"])


def test_gradient_norms_are_the_framework_s_own(trained: Trained) -> None:
    if trained.case.grad_norm:
        for ordinal, truth in enumerate(trained.truths, start=1):
            compare(trained, trained.done.series("grad_norm", ordinal), truth["grad_norms"])


def test_evaluations_are_the_framework_s_own(trained: Trained) -> None:
    names = dict(trained.case.renamed)
    for ordinal, truth in enumerate(trained.truths, start=1):
        assert truth["evaluations"]
        for metric, values in truth["evaluations"].items():
            series = trained.done.series(names.get(metric, metric), ordinal)
            if trained.case.evaluates_each_step:
                compare(trained, series, values)
                continue
            assert series is not None, metric
            seen = {point.step: point.mean for point in series.points}
            assert seen == {step: pytest.approx(value, abs=1e-6, rel=1e-6) for step, value in values.items()}


def compare(trained: Trained, series: Series | None, truth: dict[int, float]) -> None:
    """Each point is the mean of the steps since the last one; a sampled one is the value of one of them."""
    assert series is not None
    assert series.tier == 1
    steps = [point.step for point in series.points]
    assert steps == sorted(set(steps)), "one writer"
    assert steps[-1] > max(truth) - (HALF // 2 if trained.case.sampled else 1), "the last step is there"
    before = min(truth) - 1
    for point in series.points:
        own = [truth[step] for step in range(before + 1, point.step + 1)]
        before = point.step
        assert point.bad == 0
        if trained.case.sampled:
            assert any(math.isclose(point.mean, value, rel_tol=1e-6, abs_tol=1e-6) for value in own)
        else:
            assert point.n == len(own), "one value for each optimizer step"
            assert point.mean == pytest.approx(math.fsum(own) / len(own), abs=1e-6, rel=1e-6)
