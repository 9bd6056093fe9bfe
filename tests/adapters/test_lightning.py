"""Fits of Lightning of other kinds than the plain one, under both of its names."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(150)]
pytest.importorskip("lightning", reason="pip install --group frameworks")

import lightning.pytorch as lightning  # noqa: E402
import torch  # noqa: E402

from headway.adapters import lightning as adapter  # noqa: E402
from headway.reporter.slots import Layer  # noqa: E402
from headway.reporter.start import current_run  # noqa: E402

Fit = Callable[..., Any]


def model_of(pl: Any, **parts: Any) -> Any:
    """A small module; ``parts`` take the place of its methods."""

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any) -> Any:
            loss = self.line(batch).pow(2).mean()
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    for name, part in parts.items():
        setattr(Model, name, part)
    return Model()


def loader(batches: int = 10) -> Any:
    return torch.utils.data.DataLoader(torch.ones(batches * 4, 4), batch_size=4)


@pytest.fixture
def trainer(heard: Any, tmp_path: Path) -> Iterator[Fit]:
    def make(pl: Any = lightning, **options: Any) -> Any:
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
        options = {"enable_checkpointing": False, "callbacks": [], **options}
        ours = adapter._callback(pl.__name__)()
        options["callbacks"] = [*options["callbacks"], ours]
        return pl.Trainer(accelerator="cpu", default_root_dir=tmp_path, **quiet, **options)

    before = signal.getsignal(signal.SIGTERM)
    yield make
    heard.finish()
    assert signal.getsignal(signal.SIGTERM) == before


def slots() -> Any:
    run = current_run()
    assert run is not None
    return run._slots


@pytest.mark.parametrize("name", ["lightning.pytorch", "pytorch_lightning"])
def test_both_names(name: str, trainer: Fit, heard: Any) -> None:
    pl = importlib.import_module(name)
    made = trainer(pl, max_epochs=2, log_every_n_steps=5)
    made.fit(model_of(pl), loader())
    heard.finish()
    assert made.global_step == 20
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (20, 20)
    assert heard.progress["epoch"] == heard.progress["totalEpochs"] == 2
    assert heard.count("loss") == 20
    assert heard.values("train_loss")


def test_a_trainer_has_the_callback_by_itself_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("lightning.pytorch.trainer.trainer")
    monkeypatch.setattr(module.Trainer, "__init__", module.Trainer.__init__)  # put back afterwards
    adapter.hook(module)
    for callbacks in ([], [adapter.HeadwayCallback()]):
        made = lightning.Trainer(accelerator="cpu", logger=False, callbacks=callbacks)
        assert sum(isinstance(each, adapter.Listener) for each in made.callbacks) == 1
        assert isinstance(made.callbacks[-1], lightning.callbacks.ModelCheckpoint), "it stays the last"


def test_the_sanity_check_is_nothing_and_a_validation_is_said_at_its_step(trainer: Fit, heard: Any) -> None:
    phases = []

    def validation_step(self: Any, batch: Any) -> None:
        phases.append((self.trainer.sanity_checking, slots().phase))
        self.log("val_loss", float(self.trainer.global_step))

    trainer(max_epochs=1, val_check_interval=5).fit(
        model_of(lightning, validation_step=validation_step), loader(), loader(2)
    )
    heard.finish()
    assert heard.values("val_loss") == {5: 5.0, 10: 10.0}
    assert {phase for sanity, phase in phases if sanity} == {None}
    assert {phase for sanity, phase in phases if not sanity} == {"eval"}


def test_a_search_for_a_learning_rate_is_nothing(trainer: Fit, tmp_path: Path) -> None:
    from lightning.pytorch.tuner import Tuner

    heard_then = []

    def training_step(self: Any, batch: Any) -> Any:
        heard_then.append((slots().heard.layer, slots().completed))
        return self.line(batch).pow(2).mean()

    model = model_of(lightning, training_step=training_step)
    model.lr = 0.01
    made = trainer(max_epochs=1)
    Tuner(made).lr_find(model, loader(), num_training=5)
    assert slots().checkpoint is None, "its own is gone again"
    assert set(heard_then) == {(Layer.TRAINER, 0)}
    made.fit(model, loader())
    assert (slots().completed, slots().total_steps, slots().epoch) == (10, 10, 1)


def test_validating_or_testing_alone_begins_no_run(trainer: Fit) -> None:
    def evaluate(self: Any, batch: Any) -> None:
        self.log("score", 1.0)

    model = model_of(lightning, validation_step=evaluate, test_step=evaluate)
    made = trainer()
    made.validate(model, loader(2), verbose=False)
    made.test(model, loader(2), verbose=False)
    assert current_run() is None


def test_manual_optimization_of_two_optimizers_counts_batches(trainer: Fit, heard: Any) -> None:
    def training_step(self: Any, batch: Any) -> None:
        for optimizer in self.optimizers():
            loss = self.line(batch).pow(2).mean()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()

    def configure(self: Any) -> Any:
        return [torch.optim.SGD(self.parameters(), lr=0.01), torch.optim.SGD(self.parameters(), lr=0.02)]

    model = model_of(lightning, training_step=training_step, configure_optimizers=configure)
    model.automatic_optimization = False
    made = trainer(max_epochs=2)
    made.fit(model, loader())
    heard.finish()
    assert made.global_step == 40
    assert (heard.progress["step"], heard.progress["totalSteps"], heard.progress["unit"]) == (20, 20, "batch")


def test_an_unknown_length_is_an_unknown_total(trainer: Fit) -> None:
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(torch.ones(6, 4, 4))

    data = torch.utils.data.DataLoader(Stream(), batch_size=None)
    trainer(max_epochs=2).fit(model_of(lightning), data)
    assert (slots().completed, slots().total_steps, slots().epoch, slots().total_epochs) == (12, None, 2, 2)


def test_max_steps_rules_and_then_no_epochs_are_promised(trainer: Fit) -> None:
    trainer(max_steps=15).fit(model_of(lightning), loader())
    assert (slots().completed, slots().total_steps, slots().total_epochs) == (15, 15, None)
    assert slots().epoch == 1.5


def test_a_second_fit_goes_on(trainer: Fit) -> None:
    trainer(max_epochs=1).fit(model_of(lightning), loader())
    assert (slots().completed, slots().total_steps) == (10, 10)
    trainer(max_epochs=2).fit(model_of(lightning), loader())
    assert (slots().completed, slots().total_steps) == (30, 30)


def test_a_fit_that_goes_back_to_a_checkpoint_keeps_its_numbers(trainer: Fit, tmp_path: Path) -> None:
    saving = lightning.callbacks.ModelCheckpoint(tmp_path, filename="at", every_n_train_steps=6)
    trainer(max_epochs=1, enable_checkpointing=True, callbacks=[saving]).fit(model_of(lightning), loader())
    made = trainer(max_epochs=3)
    made.fit(model_of(lightning), loader(), ckpt_path=str(tmp_path / "at.ckpt"))
    assert made.global_step == 30
    assert (slots().completed, slots().total_steps, slots().epoch) == (30, 30, 3)


def test_what_is_logged_of_an_epoch_is_said_once_and_what_is_logged_of_a_step_with_it(trainer: Fit, heard: Any) -> None:
    def training_step(self: Any, batch: Any) -> Any:
        step = float(self.trainer.global_step)
        self.log("of_step", step)
        self.log("of_epoch", step, on_step=False, on_epoch=True)
        loss = self.line(batch).pow(2).mean()
        self.log("loss", loss)
        return loss

    trainer(max_epochs=3, log_every_n_steps=4).fit(model_of(lightning, training_step=training_step), loader())
    heard.finish()
    assert heard.values("of_epoch") == {10: 4.5, 20: 14.5, 30: 24.5}
    assert heard.count("of_step") == 7, "one for each that Lightning logs"
    assert heard.count("loss") == 30


def test_early_stopping_ends_before_the_total(trainer: Fit) -> None:
    class Enough(lightning.Callback):
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            trainer.should_stop = trainer.global_step == 7

    trainer(max_epochs=3, callbacks=[Enough()]).fit(model_of(lightning), loader())
    assert (slots().completed, slots().total_steps) == (7, 30)
    assert slots().epoch == pytest.approx(0.7)


def test_each_save_is_a_checkpoint(trainer: Fit, tmp_path: Path) -> None:
    saving = lightning.callbacks.ModelCheckpoint(tmp_path / "saved", every_n_train_steps=4)
    made = trainer(max_epochs=1, enable_checkpointing=True, callbacks=[saving])
    made.fit(model_of(lightning), loader())
    saved = slots().checkpoint
    assert saved.step == 8
    assert Path(saved.path).is_file()
    assert saved.seconds > 0
    assert "save_checkpoint" not in vars(made), "the trainer is as it was"


def test_lightning_s_own_handler_of_sigterm_is_put_aside_while_it_fits(trainer: Fit) -> None:
    handlers = []

    def on_train_start(self: Any) -> None:
        handlers.append(signal.getsignal(signal.SIGTERM))

    trainer(max_epochs=1).fit(model_of(lightning, on_train_start=on_train_start), loader())
    (handler,) = handlers
    names = {getattr(each, "__name__", "") for each in getattr(handler, "signal_handlers", [handler])}
    assert "_sigterm_notifier_fn" not in names
    assert handler not in (signal.SIG_DFL, None), "the run hears it"


def test_with_reporting_switched_off_lightning_is_as_it_is(trainer: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DISABLED", "1")
    handlers = []

    def on_train_start(self: Any) -> None:
        handlers.append(signal.getsignal(signal.SIGTERM))

    trainer(max_epochs=1).fit(model_of(lightning, on_train_start=on_train_start), loader())
    assert current_run() is None
    (handler,) = handlers
    assert "_sigterm_notifier_fn" in {getattr(each, "__name__", "") for each in handler.signal_handlers}
