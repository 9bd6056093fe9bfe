"""DeepSpeed below a trainer or a library: the outermost that counts is heard, with what only the engine knows."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.timeout(150)]
pytest.importorskip("deepspeed", reason="pip install --group frameworks")

BEFORE = """
    import os
    os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(1)
    deepspeed.ops.__compatible_ops__.clear()   # nothing is compiled
    deepspeed.init_distributed("gloo", rank=0, world_size=1, init_method="file://" + os.path.abspath("store"))
    rows = torch.utils.data.TensorDataset(torch.ones(160, 4))
    CONFIG = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 2,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 10_000,
    }
"""


@pytest.fixture
def auto(tmp_path: Path, heard: Any) -> Callable[[str], Any]:
    """Runs a script through ``python -m headway.auto``, to its end; what it reported is heard."""

    def run(code: str) -> Any:
        script = tmp_path / "train.py"
        script.write_text(textwrap.dedent(BEFORE) + textwrap.dedent(code))
        environ = {"OMP_NUM_THREADS": "1", "HEADWAY_INTERVAL": "0.1"}
        alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
        command = [sys.executable, "-m", "headway.auto", str(script)]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **environ, **alone},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "is not tracked" not in done.stderr
        assert len({report["run"] for report in heard.reports}) == 1
        heard.output = done.stdout
        return heard

    return run


def test_an_engine_alone(auto: Any) -> None:
    heard = auto("""
        model = nn.Linear(4, 1)
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=CONFIG)
        for step in range(1, 11):
            for micro in range(2):
                loss = engine(torch.ones(4, 4)).pow(2).mean() * 0 + step + micro
                engine.backward(loss)
                engine.step()
    """)
    assert heard.progress["step"] == 10
    assert heard.info["framework"] == "deepspeed"
    assert {name: heard.count(name) for name in ("loss", "learning_rate", "grad_norm")} == {
        "loss": 10,
        "learning_rate": 10,
        "grad_norm": 10,
    }
    (loss,) = heard.values("loss").values()
    assert loss[0] == pytest.approx(sum(step + 0.5 for step in range(1, 11)) / 10)


def test_a_pipeline_takes_a_whole_batch_at_a_time(auto: Any) -> None:
    heard = auto("""
        from itertools import repeat
        from deepspeed.pipe import PipelineModule
        layers = [nn.Linear(4, 4), nn.Linear(4, 1)]
        model = PipelineModule(layers=layers, num_stages=1, loss_fn=lambda y, target: (y - target).pow(2).mean())
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=CONFIG)
        rows = repeat((torch.ones(4, 4), torch.ones(4, 1)))
        losses = [engine.train_batch(rows).item() for step in range(6)]
        engine.save_checkpoint("saved")
        print("mean", sum(losses) / 6)
    """)
    assert heard.progress["step"] == 6
    assert {name: heard.count(name) for name in ("loss", "learning_rate")} == {"loss": 6, "learning_rate": 6}
    (loss,) = heard.values("loss").values()
    assert loss[0] == pytest.approx(float(heard.output.split("mean ")[1].split()[0]))


def test_an_engine_s_loss_stays_where_it_is(auto: Any) -> None:
    heard = auto("""
        import sys, threading
        reads = set()
        class Scalar(torch.Tensor):
            is_cpu = property(lambda self: False)      # it lies, as it says, on a device
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                frame, names = sys._getframe(), set()
                while frame is not None:
                    names.add(frame.f_globals.get("__name__", "").partition(".")[0])
                    frame = frame.f_back
                if "headway" in names - {"headway.auto"} and func.__name__ in ("item", "__float__", "cpu", "tolist", "numpy"):
                    reads.add(threading.current_thread().name)
                return super().__torch_function__(func, types, args, kwargs or {})

        model = nn.Linear(4, 1)
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=CONFIG)
        for step in range(5):
            for micro in range(2):
                engine.backward(engine(torch.ones(4, 4)).pow(2).mean().as_subclass(Scalar))
                engine.step()
        import headway
        headway.current_run().finish()
        assert reads == {"headway"}, reads
    """)
    assert heard.progress["step"] == 5
    assert heard.values("loss")


def test_steps_that_overflow_are_none(auto: Any) -> None:
    heard = auto("""
        deepspeed.accelerator.get_accelerator().is_fp16_supported = lambda: True   # slow here, but it works
        model = nn.Linear(4, 1)
        half = {**CONFIG, "gradient_accumulation_steps": 1, "fp16": {"enabled": True, "initial_scale_power": 8, "hysteresis": 1}}
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters()), config=half)
        for factor in (1, 1e30, 1, 1e30, 1):
            loss = engine(torch.ones(4, 4).half()).float().pow(2).mean() * factor
            engine.backward(loss)
            engine.step()
        assert (engine.global_steps, engine.skipped_steps) == (5, 2)
    """)
    assert heard.progress["step"] == 3
    assert list(heard.values("skipped_steps").values()) == [1, 2]
    assert heard.count("loss") == 3
    assert heard.count("loss_scale") == 5


def test_an_engine_within_lightning(auto: Any) -> None:
    pytest.importorskip("lightning", reason="pip install --group frameworks")
    heard = auto("""
        import lightning.pytorch as pl
        from lightning.pytorch.strategies import DeepSpeedStrategy

        class Model(pl.LightningModule):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(4, 1)
            def training_step(self, batch):
                return self.line(batch[0]).pow(2).mean()
            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters(), lr=0.01)

        class CPU(DeepSpeedStrategy):              # Lightning itself lets it run on GPUs only
            def setup_environment(self):
                super(DeepSpeedStrategy, self).setup_environment()
            def setup_distributed(self):
                self.set_world_ranks()
            root_device = torch.device("cpu", 0)

        config = {key: value for key, value in CONFIG.items() if key != "gradient_accumulation_steps"}
        trainer = pl.Trainer(
            accelerator="cpu", devices=1, max_epochs=1, accumulate_grad_batches=2, strategy=CPU(config=config), logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(Model(), torch.utils.data.DataLoader(rows, batch_size=4))
        assert trainer.global_step == 20
    """)
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (20, 20)
    assert heard.info["framework"] == "lightning"


def test_an_engine_within_accelerate(auto: Any) -> None:
    pytest.importorskip("accelerate", reason="pip install --group frameworks")
    heard = auto("""
        from accelerate import Accelerator, DeepSpeedPlugin
        accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=CONFIG))
        model = nn.Linear(4, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(rows, batch_size=4))
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(batch[0]).pow(2).mean())
                optimizer.step()
                optimizer.zero_grad()
        assert model.global_steps == 20
    """)
    assert heard.progress["step"] == 20
    assert {name: heard.count(name) for name in ("loss", "learning_rate", "grad_norm")} == {
        "loss": 20,
        "learning_rate": 20,
        "grad_norm": 20,
    }
