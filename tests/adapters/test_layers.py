"""Several layers see the same steps, found by themselves: one run, one count, one value for each step."""

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
pytest.importorskip("torch", reason="pip install --group frameworks")

MODEL = """
    import sys, time
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    def train_one(batch=None):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
"""


@pytest.fixture
def auto(tmp_path: Path, heard: Any) -> Callable[..., Any]:
    """Runs a script through ``python -m headway.auto``, to its end; what it reported is heard."""

    def run(code: str, **environ: str) -> Any:
        script = tmp_path / "train.py"
        script.write_text(textwrap.dedent(MODEL) + textwrap.dedent(code))
        done = subprocess.run(
            [sys.executable, "-m", "headway.auto", str(script)],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HEADWAY_INTERVAL": "0.1", **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "is not tracked" not in done.stderr
        return heard

    return run


def runs(heard: Any) -> set[str]:
    return {report["run"] for report in heard.reports}


def runs_in_order(heard: Any) -> list[list[dict[str, Any]]]:
    """The reports of each run."""
    ids = dict.fromkeys(report["run"] for report in heard.reports)
    return [[report for report in heard.reports if report["run"] == each] for each in ids]


def count(reports: list[dict[str, Any]], metric: str) -> int:
    """How many values of a metric they bring."""
    cells = [cells[metric] for report in reports for _, _, cells in report.get("points", ()) if metric in cells]
    return sum(cell[1] if isinstance(cell, list) else 1 for cell in cells)


def never_falls(heard: Any) -> bool:
    steps = [report["progress"]["step"] for report in heard.reports if report.get("progress")]
    return steps == sorted(steps)


def test_an_optimizer_within_bars(auto: Any) -> None:
    heard = auto("""
        from tqdm import tqdm, trange
        for epoch in trange(3):
            for batch in tqdm(range(10)):
                train_one()
    """)
    assert len(runs(heard)) == 1
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (30, 30)
    assert heard.progress["epoch"] == heard.progress["totalEpochs"] == 3
    assert heard.info["framework"] == "pytorch"
    assert heard.count("learning_rate") == 30
    assert heard.server.endings()[-1]["kind"] == "completed"


def test_a_script_that_counts_is_heard_and_its_optimizer_is_not(auto: Any) -> None:
    heard = auto("""
        import headway
        from tqdm import trange
        run = headway.track(total_steps=40)
        for step in trange(20):
            train_one()
            run.step(loss=train_one())     # two steps of the optimizer for each of the script's
    """)
    assert len(runs(heard)) == 1
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (20, 40), "the script's own word, not the bar's"
    assert heard.count("loss") == 20
    assert heard.values("learning_rate") == {}


def test_a_script_s_run_and_a_trainer_with_accelerate_bars_and_an_optimizer_below(auto: Any) -> None:
    pytest.importorskip("transformers", reason="pip install --group frameworks")
    heard = auto("""
        import headway, transformers
        from tqdm import tqdm
        run = headway.track(config={"mine": 1})
        for row in tqdm(range(100)):
            pass                           # data
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(4, 1)
            def forward(self, x):
                return {"loss": self.line(x).pow(2).mean()}
        arguments = transformers.TrainingArguments(
            output_dir="out", max_steps=20, gradient_accumulation_steps=2, logging_steps=5, save_strategy="no",
            report_to="none", use_cpu=True)
        rows = [{"x": torch.ones(4)} for _ in range(400)]
        transformers.Trainer(model=Model(), args=arguments, train_dataset=rows).train()
    """)
    assert len(runs(heard)) == 1
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (20, 20)
    assert heard.info["framework"] == "transformers"
    assert heard.info["config"]["mine"] == 1
    assert {name: heard.count(name) for name in ("loss", "learning_rate", "grad_norm")} == {
        "loss": 20,
        "learning_rate": 20,
        "grad_norm": 20,
    }


def test_accelerate_with_bars_and_an_optimizer(auto: Any) -> None:
    pytest.importorskip("accelerate", reason="pip install --group frameworks")
    heard = auto("""
        from accelerate import Accelerator
        from tqdm import tqdm
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
        model, optimizer = accelerator.prepare(model, optimizer)
        accelerator.init_trackers("project", config={"lr": 0.01})
        accelerator.log({"before": 1.0})   # nothing trains yet
        bar = tqdm(total=20)
        for epoch in range(2):
            for batch in range(20):
                with accelerator.accumulate(model):
                    accelerator.backward(model(torch.randn(8, 4)).pow(2).mean())
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()
                if accelerator.sync_gradients:
                    bar.update(1)
            accelerator.log({"score": epoch, "epoch": epoch}, step=epoch)
        accelerator.save_state("saved")
    """)
    assert len(runs(heard)) == 1
    assert (heard.progress["step"], heard.progress["totalSteps"]) == (20, 20)
    assert heard.info["framework"] == "accelerate"
    assert heard.info["config"] == {"lr": 0.01}
    assert heard.count("loss") == 20, "one for each step, of two micro-batches"
    assert heard.count("grad_norm") == 20
    assert heard.values("score") == {10: 0.0, 20: 1.0}
    assert heard.values("before") == {}
    assert heard.reports[-1]["checkpoint"]["step"] == 20


def test_two_losses_a_step_are_not_mixed(auto: Any) -> None:
    pytest.importorskip("accelerate", reason="pip install --group frameworks")
    heard = auto("""
        import headway
        from accelerate import Accelerator
        accelerator = Accelerator(cpu=True)
        other = nn.Linear(4, 1)
        second = torch.optim.AdamW(other.parameters(), lr=0.01)
        model, optimizer, other, second = accelerator.prepare(model, optimizer, other, second)
        both = ((model, optimizer), (other, second))
        def train(steps, *parts):
            for step in range(steps):
                for which, how in parts:
                    accelerator.backward(which(torch.randn(8, 4)).pow(2).mean())
                    how.step()
                    how.zero_grad()
        train(20, *both)
        headway.current_run().finish()
        train(3, both[0])
    """)
    first, second = runs_in_order(heard)
    assert first[-1]["progress"]["step"] == 20
    assert count(first, "loss") <= 1
    assert second[-1]["progress"]["step"] == 23, "as the optimizer itself counts"
    assert count(second, "loss") == 3, "the next training is another matter"


def test_a_loss_whose_step_a_scaler_skipped_is_no_second_one(auto: Any) -> None:
    pytest.importorskip("accelerate", reason="pip install --group frameworks")
    heard = auto("""
        from accelerate import Accelerator
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
        accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=8.0)     # as mixed precision makes one on a GPU
        model, optimizer = accelerator.prepare(model, optimizer)
        for factor in (1, 1, float("inf"), 1, 1, 1, 1, 1):
            for micro in range(2):
                with accelerator.accumulate(model):
                    accelerator.backward(model(torch.randn(8, 4)).pow(2).mean() * factor)
                    optimizer.step()
                    optimizer.zero_grad()
    """)
    assert heard.progress["step"] == 7
    assert [(cell[1], len(cell)) for cell in heard.values("loss").values()] == [(7, 3)], "all are finite"


def test_what_does_not_train_reports_nothing(auto: Any) -> None:
    heard = auto("""
        import transformers
        from accelerate import Accelerator
        from tqdm import tqdm
        accelerator = Accelerator(cpu=True)
        model = accelerator.prepare(model)
        with torch.no_grad():
            for batch in tqdm(range(50)):
                score = model(torch.randn(8, 4)).mean().item()
        accelerator.log({"score": score})
        accelerator.save_state("saved")
    """)
    assert heard.server.posts == []


def test_workers_that_load_data_report_nothing_however_they_start(auto: Any) -> None:
    heard = auto("""
        from torch.utils.data import DataLoader, TensorDataset
        def main():
            for method in ("fork", "forkserver", "spawn"):
                rows = TensorDataset(torch.ones(8, 4))
                for batch in DataLoader(rows, batch_size=4, num_workers=1, multiprocessing_context=method):
                    train_one()
                    time.sleep(0.15)
        if __name__ == "__main__":
            main()
    """)
    assert len(runs(heard)) == 1
    assert {report["rank"] for report in heard.reports if "rank" in report} <= {0}
    assert heard.progress["step"] == 6
    assert heard.count("learning_rate") == 6
    assert len(heard.server.endings()) == 1


def test_an_evaluation_that_training_starts_does_not_disturb_it(auto: Any, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(textwrap.dedent(MODEL) + "for _ in range(500): train_one()\n")
    heard = auto("""
        import subprocess
        for step in range(10):
            train_one()
            if step == 5:
                subprocess.run([sys.executable, "probe.py"], check=True)
    """)
    assert len(runs(heard)) == 1
    assert never_falls(heard)
    assert heard.progress["step"] == 10


def test_once_a_run_has_ended_what_its_process_starts_may_train_for_itself(auto: Any, tmp_path: Path) -> None:
    (tmp_path / "next.py").write_text(textwrap.dedent(MODEL) + "for _ in range(4): train_one()\n")
    heard = auto("""
        import headway, subprocess
        for step in range(3):
            train_one()
        headway.current_run().finish()
        subprocess.run([sys.executable, "next.py"], check=True)
    """)
    assert sorted(ending["step"] for ending in heard.server.endings()) == [3, 4]


def test_fully_sharded_data_parallel_of_the_first_kind(auto: Any) -> None:
    heard = auto("""
        import os
        import torch.distributed as dist
        from torch.distributed.fsdp import FullyShardedDataParallel
        dist.init_process_group("gloo", rank=0, world_size=1, init_method="file://" + os.path.abspath("store"))
        for original in (False, True):         # one flat parameter, or the model's own
            model = FullyShardedDataParallel(nn.Linear(4, 1), device_id=torch.device("cpu"), use_orig_params=original)
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
            for step in range(5):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).pow(2).mean().backward()
                norm = model.clip_grad_norm_(1.0)
                optimizer.step()
        dist.destroy_process_group()
    """)
    assert heard.progress["step"] == 10
    assert heard.info["framework"] == "pytorch-fsdp"
    assert heard.count("grad_norm") == 10
