"""What the callback says of a Trainer's loop, beside what the Trainer itself says; the Trainers are real, the server scripted."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(120)]
transformers = pytest.importorskip("transformers", reason="pip install --group frameworks")
torch = pytest.importorskip("torch", reason="pip install --group frameworks")

from headway.adapters.transformers import HeadwayCallback  # noqa: E402 - where Transformers is missing this module is skipped
from headway.reporter.start import current_run, track  # noqa: E402


class Line(torch.nn.Module):
    """Learns a number; its loss is not finite wherever the data says so."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(4, 1)

    def forward(self, x: Any, labels: Any) -> dict[str, Any]:
        guess = self.line(x)
        return {"loss": torch.nn.functional.mse_loss(guess, labels), "logits": guess}


class Rows(torch.utils.data.Dataset):
    def __init__(self, count: int = 64, bad: frozenset[int] = frozenset()) -> None:
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(count, 4, generator=generator)
        self.y = self.x.sum(1, keepdim=True)
        for row in bad:
            self.y[row] = math.nan

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": self.x[index], "labels": self.y[index]}


Make = Callable[..., Any]


@pytest.fixture
def trainer(tmp_path: Path, heard: Any) -> Make:
    """A Trainer with our callback; eight rows a step, so eight steps an epoch."""

    def make(*, callbacks: Any = None, rows: Any = None, **arguments: Any) -> Any:
        transformers.set_seed(1)
        given: dict[str, Any] = {
            "output_dir": str(tmp_path / "out"),
            "per_device_train_batch_size": 8,
            "max_steps": 12,
            "logging_steps": 1,
            "save_strategy": "no",
            "disable_tqdm": True,
            "use_cpu": True,
            "learning_rate": 0.1,
            "dataloader_pin_memory": False,
        }
        return transformers.Trainer(
            model=Line(),
            args=transformers.TrainingArguments(**{**given, **arguments}),
            train_dataset=rows or Rows(),
            eval_dataset=Rows(16),
            callbacks=[HeadwayCallback()] if callbacks is None else callbacks,
        )

    return make


def logged(trainer: Any, name: str) -> dict[int, float]:
    return {entry["step"]: entry[name] for entry in trainer.state.log_history if name in entry}


def test_steps_metrics_and_facts_are_the_trainer_s(trainer: Make, heard: Any) -> None:
    made = trainer(
        eval_strategy="steps", eval_steps=5, save_strategy="steps", save_steps=6, gradient_accumulation_steps=2
    )
    made.train()
    heard.finish()
    progress = heard.progress
    assert progress["step"] == progress["totalSteps"] == made.state.global_step == 12
    assert progress["epoch"] == pytest.approx(made.state.epoch)
    assert "totalEpochs" not in progress
    for name in ("loss", "learning_rate"):
        assert heard.count(name) == 12
        truth = logged(made, name)
        seen = sum(cell[0] * cell[1] if isinstance(cell, list) else cell for cell in heard.values(name).values())
        assert seen == pytest.approx(sum(truth.values()), abs=1e-5)
    assert heard.values("grad_norm") == pytest.approx(logged(made, "grad_norm"))
    assert heard.values("eval_loss") == pytest.approx(logged(made, "eval_loss"))
    assert set(logged(made, "eval_loss")) == {5, 10, 12}
    info = heard.info
    assert info["framework"] == "transformers"
    assert info["config"]["learning_rate"] == 0.1
    assert info["config"]["gradient_accumulation_steps"] == 2
    assert info["config"]["model"] == "Line"
    names = {name for _, _, cells in heard.server.points() for name in cells}
    assert names == {"loss", "learning_rate", "grad_norm", "eval_loss"}
    checkpoint = heard.reports[-1]["checkpoint"]
    assert checkpoint["step"] == 12
    assert checkpoint["seconds"] > 0
    assert Path(checkpoint["path"]).is_dir()


def test_epochs_rule_where_max_steps_does_not(trainer: Make, heard: Any) -> None:
    made = trainer(max_steps=-1, num_train_epochs=2)
    made.train()
    heard.finish()
    assert heard.progress["totalSteps"] == 16
    assert heard.progress["epoch"] == heard.progress["totalEpochs"] == 2


def test_what_may_be_secret_is_not_shown(trainer: Make, heard: Any) -> None:
    trainer(hub_token="hf_secret", run_name="named").train()
    heard.finish()
    assert heard.info["config"]["run_name"] == "named"
    assert "hf_secret" not in json.dumps(heard.reports)


def test_a_loss_that_is_not_finite_is_seen_through_the_filter(trainer: Make, heard: Any) -> None:
    made = trainer(rows=Rows(bad=frozenset({5})), max_steps=8, max_grad_norm=0.0)
    made.train()
    assert all(math.isfinite(value) for value in logged(made, "loss").values()), "the Trainer's own log hides it"
    heard.finish()
    bad = [cell for cell in heard.values("loss").values() if not isinstance(cell, float)]
    assert bad, heard.values("loss")


def test_resumed_it_begins_at_its_true_step(trainer: Make, heard: Any) -> None:
    trainer(max_steps=6, save_strategy="steps", save_steps=6).train()
    heard.finish()
    before = len(heard.reports)

    class Look(transformers.TrainerCallback):
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            assert os.environ["HEADWAY_TRAINING_PID"] == str(os.getpid())
            seen.append((current_run()._slots.completed, current_run()._slots.total_steps))  # type: ignore[union-attr]

    seen: list[Any] = []
    made = trainer(max_steps=12, save_strategy="no", callbacks=[HeadwayCallback(), Look()])
    made.train(resume_from_checkpoint=str(Path(made.args.output_dir) / "checkpoint-6"))
    heard.finish()
    assert seen == [(6, 12)]
    assert min(report["progress"]["step"] for report in heard.reports[before:]) >= 6
    assert heard.progress["step"] == 12


def test_early_stopping_ends_at_the_true_step(trainer: Make, heard: Any) -> None:
    class Enough(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop = state.global_step >= 7

    trainer(callbacks=[Enough(), HeadwayCallback()]).train()
    heard.finish()
    (ending,) = heard.server.endings()
    assert (ending["step"], ending["totalSteps"]) == (7, 12)


def test_evaluating_and_predicting_alone_begin_no_run(trainer: Make, heard: Any) -> None:
    made = trainer()
    made.evaluate()
    made.predict(Rows(8))
    assert current_run() is None
    assert heard.reports == []


def test_an_evaluation_after_training_is_shown_at_its_last_step(trainer: Make, heard: Any) -> None:
    made = trainer()
    made.train()
    assert "HEADWAY_TRAINING_PID" not in os.environ, "what is started now is not within the training"
    score = made.evaluate()["eval_loss"]
    made.predict(Rows(8))
    heard.finish()
    assert heard.values("eval_loss") == {12: pytest.approx(score)}
    assert heard.progress["step"] == 12


def test_a_second_training_in_the_process_goes_on_where_the_first_ended(trainer: Make, heard: Any) -> None:
    made = trainer(max_steps=6)
    made.train()
    made.train()
    trainer(max_steps=4).train()
    heard.finish()
    steps = [report["progress"]["step"] for report in heard.reports]
    assert steps == sorted(steps)
    epochs = [report["progress"].get("epoch", 0.0) for report in heard.reports]
    assert epochs == sorted(epochs)
    assert heard.progress["step"] == heard.progress["totalSteps"] == 16
    assert heard.progress["epoch"] == pytest.approx(2)
    assert heard.count("loss") == 16


def test_a_training_that_broke_off_and_is_resumed_in_the_process_keeps_its_numbers(trainer: Make, heard: Any) -> None:
    class Break(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 7 and not broken:
                broken.append(7)
                raise RuntimeError("out of memory")

    broken: list[int] = []
    trainer(max_steps=4).train()
    made = trainer(save_strategy="steps", save_steps=5, callbacks=[HeadwayCallback(), Break()])
    with pytest.raises(RuntimeError, match="out of memory"):
        made.train()
    made.train(resume_from_checkpoint=True)
    heard.finish()
    assert made.state.global_step == 12
    assert heard.progress["step"] == heard.progress["totalSteps"] == 4 + 12
    steps = [report["progress"]["step"] for report in heard.reports]
    assert steps == sorted(steps)
    assert heard.progress["epoch"] == pytest.approx(0.5 + 1.5)


def test_two_callbacks_say_one_thing(trainer: Make, heard: Any) -> None:
    other = type("HeadwayCallback", (HeadwayCallback,), {})
    trainer(callbacks=[other(), HeadwayCallback()]).train()
    heard.finish()
    assert heard.count("loss") == 12
    assert heard.progress["step"] == 12


def test_the_script_s_own_word_on_the_whole_wins_and_the_trainer_counts(trainer: Make, heard: Any) -> None:
    run = track(total_steps=40, config={"mine": 1}, framework="my-framework")
    trainer().train()
    run.log(score=0.5)
    run.finish()
    assert heard.progress["step"] == 12
    assert heard.progress["totalSteps"] == 40
    assert heard.info["framework"] == "my-framework"
    assert {"mine": 1, "learning_rate": 0.1}.items() <= heard.info["config"].items()
    assert heard.values("score") == {12: 0.5}
    assert heard.count("loss") == 12


def test_directives_become_the_trainer_s_own_flags(trainer: Make, heard: Any) -> None:
    class Ask(transformers.TrainerCallback):
        """Waits until the directive has arrived, at steps where the test wants it."""

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (3, 6):
                kind = "checkpoint" if state.global_step == 3 else "stop"
                heard.server.answer_with(directives=[{"id": kind, "kind": kind}])
                run = current_run()
                assert heard.server.wait_for(
                    lambda _: run.should_checkpoint if kind == "checkpoint" else run.should_stop
                )

    made = trainer(callbacks=[Ask(), HeadwayCallback()], save_strategy="steps", save_steps=100, max_steps=50)
    made.train()
    heard.finish()
    folders = sorted(path.name for path in Path(made.args.output_dir).glob("checkpoint-*"))
    assert folders == ["checkpoint-4", "checkpoint-7"], "saved when asked to, and again at the end that was asked for"
    assert made.state.global_step == 7
    acks = {ack for report in heard.reports for ack in report.get("acks", ())}
    assert acks == {"checkpoint", "stop"}
    assert heard.server.endings()[-1]["kind"] == "cancelled"


def test_the_built_in_callback_for_kubeflow_is_quiet(
    trainer: Make, heard: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_URL", heard.server.status_url())
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_TOKEN", str(token))
    made = trainer()
    assert "kubeflow" in made.args.report_to
    made.train()
    heard.finish()
    assert all(post.headway for post in heard.server.posts), "none but the reporter posts"


def test_what_the_adapter_does_wrong_does_not_reach_the_trainer(
    trainer: Make, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.adapters.transformers.speak", lambda *_, **__: 1 / 0)
    made = trainer()
    made.train()
    assert made.state.global_step == 12


def test_switched_off_the_callback_says_nothing(trainer: Make, heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DISABLED", "1")
    made = trainer()
    made.train()
    assert made.state.global_step == 12
    assert heard.server.posts == []


def test_of_a_search_over_trials_the_whole_is_unknown(heard: Any, tmp_path: Path) -> None:
    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), max_steps=4, report_to="none", use_cpu=True)
    callback = HeadwayCallback()
    for _ in range(2):
        state, control = (
            transformers.TrainerState(max_steps=4, is_hyper_param_search=True),
            transformers.TrainerControl(),
        )
        callback.on_train_begin(arguments, state, control, model=Line())
        for _ in range(4):
            state.global_step += 1
            callback.on_step_end(arguments, state, control)
        callback.on_train_end(arguments, state, control)
    heard.finish()
    assert heard.progress["step"] == 8
    assert "totalSteps" not in heard.progress


def test_what_the_trainer_does_besides_training_is_said_while_it_does_it(heard: Any, tmp_path: Path) -> None:
    class Slow(transformers.Trainer):
        def evaluation_loop(self, *args: Any, **kwargs: Any) -> Any:
            time.sleep(0.5)
            return super().evaluation_loop(*args, **kwargs)

        def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            time.sleep(0.5)
            super()._save_checkpoint(*args, **kwargs)

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=6,
        eval_strategy="steps",
        eval_steps=3,
        save_strategy="steps",
        save_steps=3,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    Slow(
        model=Line(), args=arguments, train_dataset=Rows(), eval_dataset=Rows(8), callbacks=[HeadwayCallback()]
    ).train()
    checkpoint = heard.server.wait_for(lambda _: any(report.get("checkpoint") for report in heard.reports))
    heard.finish()
    assert checkpoint
    assert {"eval", "checkpoint"} <= {report["progress"].get("phase") for report in heard.reports}
    assert heard.progress.get("phase") not in {"eval", "checkpoint"}
    assert heard.reports[-1]["checkpoint"]["seconds"] >= 0.5
