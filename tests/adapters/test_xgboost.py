"""XGBoost's trainings of other kinds: by the classes that follow scikit-learn, several in a row, on several processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(150)]
xgboost = pytest.importorskip("xgboost", reason="pip install --group frameworks")

from headway.adapters import xgboost as adapter  # noqa: E402
from headway.protocol.job import State  # noqa: E402
from headway.reporter.start import current_run  # noqa: E402

OPTIONS = {"max_depth": 2, "nthread": 1}


@pytest.fixture
def data() -> Any:
    import numpy as np

    x = np.random.default_rng(1).normal(size=(100, 4))
    return xgboost.DMatrix(x, x.sum(1))


@pytest.fixture
def boost(heard: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``xgboost.train``, as it is under ``headway run``."""
    module = sys.modules["xgboost.training"]
    monkeypatch.setattr(module, "train", module.train)  # put back afterwards
    adapter.hook(module)
    return module.train


def test_a_training_that_is_only_told_its_rounds(boost: Any, data: Any, heard: Any) -> None:
    boost(OPTIONS, data, 7, evals=[(data, "train")], verbose_eval=False)
    heard.finish()
    assert (heard.progress["step"], heard.progress["totalSteps"], heard.progress["unit"]) == (7, 7, "tree")
    assert heard.count("train-rmse") == 7
    assert heard.info["metrics"] == {"train-rmse": "min"}
    assert heard.info["config"] == {**OPTIONS, "num_boost_round": 7}


def test_arguments_by_position_as_in_xgboost_s_own_introduction(boost: Any, data: Any, heard: Any) -> None:
    class Count(xgboost.callback.TrainingCallback):
        rounds = 0

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            self.rounds += 1
            return False

    count = Count()
    boost({**OPTIONS, "gamma": None}, data, 4, [(data, "train")])
    boost(OPTIONS, data, 3, (), None, None, None, None, False, None, [count])
    heard.finish()
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (7, 7)
    assert heard.count("train-rmse") == 4
    assert "gamma" not in heard.info["config"]
    assert count.rounds == 3


def test_a_callback_by_hand_and_by_itself_is_one(boost: Any, data: Any, heard: Any) -> None:
    boost(OPTIONS, data, 5, callbacks=[adapter.HeadwayCallback()])
    heard.finish()
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (5, 5)


def test_a_second_training_goes_on_and_one_that_continues_a_model_counts_its_rounds(boost: Any, data: Any) -> None:
    model = boost(OPTIONS, data, 5)
    run = current_run()
    assert run is not None
    boost(OPTIONS, data, 10, xgb_model=model)
    assert (run._slots.completed, run._slots.total_steps) == (15, 15)
    boost(OPTIONS, data, 3)
    assert (run._slots.completed, run._slots.total_steps) == (18, 18)


def test_cross_validation_and_prediction_are_no_training(boost: Any, data: Any) -> None:
    xgboost.cv(OPTIONS, data, 3, nfold=2, callbacks=[adapter.HeadwayCallback(3)])
    assert current_run() is None


def test_a_training_is_stopped_when_it_is_asked_to(boost: Any, data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.reporter.voice import Voice

    monkeypatch.setattr(Voice, "should_stop", property(lambda voice: voice.last_step >= 4))
    model = boost(OPTIONS, data, 50)
    assert model.num_boosted_rounds() == 4


@pytest.mark.slow
def test_two_processes_have_one_writer(train: Any, client: Any, tmp_path: Path) -> None:
    done = train("xgboost_workers.py", name="xgboost-workers", folder=tmp_path)
    assert done.code == 0, done.output
    job, attempts = done.job, client.attempts("xgboost-workers")
    assert job.state is State.COMPLETE
    assert job.progress.step == job.progress.total_steps == 30
    assert [rank.rank for rank in attempts.ranks if not rank.auxiliary] == [0, 1], done.output
    assert attempts.attempts[0].world_size == 2
