"""Nothing waits for a device on the training thread: a scalar notes who reads it, and on which thread."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(120)]
torch = pytest.importorskip("torch", reason="pip install --group frameworks")

import headway  # noqa: E402
from headway.adapters import torch as torch_adapter  # noqa: E402
from headway.reporter.slots import Layer  # noqa: E402
from headway.reporter.start import speak, track  # noqa: E402

OURS = str(Path(headway.__file__).parent)
READS = {"item", "__float__", "__int__", "__bool__", "tolist", "numpy", "cpu", "__format__", "__repr__", "is_nonzero"}


class Scalar(torch.Tensor):
    """Lies, as it says, on a device; reading it is noted."""

    reads: ClassVar[list[tuple[str, str]]] = []
    """Thread and function, of reads from within Headway."""
    is_cpu = property(lambda self: False)  # type: ignore[assignment]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in READS and within_headway():
            cls.reads.append((threading.current_thread().name, func.__name__))
        return super().__torch_function__(func, types, args, kwargs or {})


def within_headway() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return False


@pytest.fixture(autouse=True)
def reads() -> list[tuple[str, str]]:
    torch_adapter.steps.forget()
    Scalar.reads.clear()
    return Scalar.reads


def on_the_reporter_s_thread_alone(reads: list[tuple[str, str]]) -> None:
    assert reads, "somebody has read it"
    assert {thread for thread, _ in reads} == {"headway"}


def scalar(value: float) -> Any:
    return torch.tensor(value).as_subclass(Scalar)


def test_a_read_on_the_training_thread_would_be_seen(reads: Any, heard: Any) -> None:
    run = track()
    run.log(loss=type("Eager", (), {"__float__": lambda self: float(scalar(1.0))})())
    run._slots.samples.sort_out(
        {"loss": torch.tensor(1.0).as_subclass(type("OnCpu", (Scalar,), {"is_cpu": True}))}, 1, 0.0
    )
    assert threading.main_thread().name in {thread for thread, _ in reads}


@pytest.mark.parametrize("way", ["step", "note", "log"])
@pytest.mark.parametrize("layer", [Layer.TRAINER, Layer.LIBRARY, Layer.OPTIMIZER])
def test_a_voice_leaves_a_value_where_it_is(way: str, layer: Layer, reads: Any, heard: Any) -> None:
    voice = speak(layer)
    for value in range(3):
        if way == "log":
            voice.log(loss=scalar(value))
            voice.step()
        elif way == "note":
            voice.note(loss=scalar(value))
            voice.note(loss=scalar(value))
            voice.step()
        else:
            voice.step(loss=scalar(value))
    heard.finish()
    assert heard.values("loss")
    on_the_reporter_s_thread_alone(reads)


def test_the_optimizer_s_hook_leaves_values_where_they_are(reads: Any, heard: Any) -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    optimizer.param_groups[0]["lr"] = scalar(0.1)
    voice = torch_adapter.watch(optimizer, start_step=0)
    for _ in range(3):
        loss = (weight.sum() ** 2).as_subclass(Scalar)
        voice.note(loss=loss)
        loss.backward()
        torch_adapter.steps.clipped(scalar(2.0))
        optimizer.step()
    heard.finish()
    assert heard.progress["step"] == 3
    assert heard.values("loss")
    assert heard.values("grad_norm")
    on_the_reporter_s_thread_alone(reads)


def test_the_trainer_s_callback_leaves_the_loss_where_it_is(reads: Any, heard: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="pip install --group frameworks")
    from headway.adapters.transformers import HeadwayCallback

    class Trainer(transformers.Trainer):
        def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
            return super().compute_loss(*args, **kwargs).as_subclass(Scalar)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(4, 1)

        def forward(self, x: Any) -> dict[str, Any]:
            return {"loss": self.line(x).pow(2).mean()}

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=4,
        gradient_accumulation_steps=2,
        logging_steps=2,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    rows = [{"x": torch.ones(4)} for _ in range(64)]
    Trainer(model=Model(), args=arguments, train_dataset=rows, callbacks=[HeadwayCallback()]).train()
    heard.finish()
    assert heard.values("loss")
    on_the_reporter_s_thread_alone(reads)


def test_accelerate_leaves_the_loss_where_it_is(reads: Any, heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    accelerate = pytest.importorskip("accelerate", reason="pip install --group frameworks")
    from headway.adapters import accelerate as adapter

    module = sys.modules["accelerate.accelerator"]
    for name in ("backward", "log", "init_trackers", "save_state"):
        monkeypatch.setattr(module.Accelerator, name, getattr(module.Accelerator, name))  # put back afterwards
    adapter.hook(module)
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)  # a Trainer may have left its own
    accelerate.state.GradientState._reset_state()
    accelerator = accelerate.Accelerator(cpu=True)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = accelerator.prepare(torch.optim.SGD([weight], lr=0.1))
    torch_adapter.hook(sys.modules["torch.optim.optimizer"])
    for _ in range(3):
        accelerator.backward((weight.sum() ** 2).as_subclass(Scalar))
        optimizer.step()
        accelerator.log({"score": scalar(1.0)})
    heard.finish()
    assert heard.progress["step"] == 3
    assert heard.values("loss")
    assert heard.values("score")
    on_the_reporter_s_thread_alone(reads)


def test_lightning_s_callback_leaves_values_where_they_are(reads: Any, heard: Any, tmp_path: Path) -> None:
    pl = pytest.importorskip("lightning.pytorch", reason="pip install --group frameworks")
    from headway.adapters.lightning import HeadwayCallback

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any) -> Any:
            loss = self.line(batch).pow(2).mean().as_subclass(Scalar)
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch: Any) -> None:
            self.log("val_loss", self.line(batch).pow(2).mean().as_subclass(Scalar))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=1,
        accumulate_grad_batches=2,
        log_every_n_steps=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        callbacks=[HeadwayCallback()],
    )
    rows = torch.utils.data.DataLoader(torch.ones(32, 4), batch_size=4)
    trainer.fit(Model(), rows, rows)
    heard.finish()
    assert heard.progress["step"] == 4
    assert heard.values("loss")
    on_the_reporter_s_thread_alone(reads)
