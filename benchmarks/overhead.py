"""What a reporter adds to a real training step: a small PyTorch model on the CPU, or any workload that is named.

    python benchmarks/overhead.py [--seconds 15] [--rounds 4] [--quick] [--workload MODULE:FUNCTION] [--reporters NAME ...]

Each row is a process of its own in which steps with and without the reporter take turns (:mod:`laps` says how, and what the
columns are). Every reported step tells its loss and its gradient norm, as the tensors that they are, and its learning rate.
Per cent of a step, each with the 95 % interval of the median; "alike" is what two equal steps came out at.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from laps import Found, Laps
from turns import Make, Turn, contenders, keep, table

PACKAGES = ("torch", "transformers", "kubeflow", "lightning", "accelerate", "jax")
ROWS = {
    "Headway, healthy server": ("headway", "ok"),
    "Headway, hung server": ("headway", "hang"),
    "Headway, no server": ("headway", "refuse"),
    "Kubeflow SDK, healthy server": ("kubeflow", "ok"),
}
Workload = Callable[[Laps, str], None]


def torch_loop(laps: Laps, reporter: str) -> None:
    """A loop of one's own: a multi-layer perceptron, a few milliseconds a step."""
    import torch

    model, batches = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tell, finish = REPORTERS[reporter]()
    count = 0
    while laps.lap():
        inputs, labels = batches[count % len(batches)]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        count += 1
        if laps.reported:
            tell(count, loss, norm)
    finish()


def perceptron() -> tuple[Any, list[Any]]:
    """A model, and more batches than it can learn by heart."""
    import torch

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)
    )
    return model, [(torch.randn(64, 256), torch.randint(0, 10, (64,))) for _ in range(200)]


def headway_reporter() -> Any:
    import headway

    run = headway.track(total_steps=10**9)
    return (lambda _, loss, norm: run.step(loss=loss, learning_rate=1e-4, grad_norm=norm)), lambda: run.finish(
        timeout=0.2
    )


def kubeflow_reporter() -> Any:
    from kubeflow.trainer.backends.kubernetes import utils

    def tell(step: int, loss: Any, norm: Any) -> None:
        utils.update_trainjob_status(
            progress_percent=step % 100, metrics={"loss": loss.item(), "learning_rate": 1e-4, "grad_norm": norm.item()}
        )

    return tell, (lambda: None)


REPORTERS = {"headway": headway_reporter, "kubeflow": kubeflow_reporter}

STEADY = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**30)}
"""Memory of a step's tensors is kept for the next one: else chance decides which step asks the kernel for it."""


@contextmanager
def training(workload: str, reporter: str) -> Generator[Turn, None, None]:
    """A turn trains for so many seconds and answers what was found."""
    module, _, function = workload.partition(":")
    sys.path.insert(0, str(Path(__file__).parent))
    train: Workload = getattr(importlib.import_module(module), function)

    def turn(request: tuple[float, int, int]) -> Found:
        seconds, seed, block = request
        laps = Laps(seconds, seed=seed, block=block)
        train(laps, reporter)
        return laps.found

    yield turn


def measure(
    workload: str, rounds: int, seconds: float, *, block: int = 1, rows: dict[str, tuple[str, str]] | None = None
) -> dict[str, dict[str, float]]:
    """Figures by row."""
    from headway.testing.servers import ScriptedServer

    with ExitStack() as stack:
        token = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".token"))
        token.write("t")
        token.flush()
        home = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="headway-overhead-")
        )  # what is spooled goes there

        def env(behaviour: str) -> dict[str, str]:
            server = stack.enter_context(ScriptedServer(interval=1.0))  # as the server asks
            server.behave(behaviour)
            return {
                "HEADWAY_HOME": home,
                "HEADWAY_URL": server.url,
                "HEADWAY_TOKEN": "t",
                "HEADWAY_JOB": "local/bench",
                "KUBEFLOW_TRAINER_SERVER_URL": server.status_url(),
                "KUBEFLOW_TRAINER_SERVER_TOKEN": token.name,
            }

        makes: list[tuple[str, Make, tuple[str, str], dict[str, str]]] = [
            (name, training, (workload, reporter), env(behaviour))
            for name, (reporter, behaviour) in (rows or ROWS).items()
        ]
        found: dict[str, Found] = {}
        with contenders(makes) as those:
            for number in range(rounds):
                for name in those if number % 2 else reversed(those):
                    found.setdefault(name, Found()).add(those[name].turn((seconds, number, block)))
        return {name: found[name].figures() for name in those}


def interval(figures: dict[str, float], name: str) -> str:
    """A median and its bounds, in per cent."""
    middle, low, high = (100 * figures[key] for key in (name, f"{name}_low", f"{name}_high"))
    return f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"


HEADS = (
    "per cent of a training step",
    "step ms",
    "rounds",
    "alike",
    "the call, wall",
    "the call, CPU",
    "beside",
    "in all, CPU",
)


def show(
    name: str, found: dict[str, dict[str, float]], expected: int, settings: dict[str, Any], packages: Sequence[str]
) -> int:
    """Prints a table of what was found, and keeps it; exit code 1 if any of the rows ``expected`` is missing."""
    lines = [
        [
            row,
            f"{each['step_ms']:.2f}",
            f"{each['rounds']:,.0f}",
            interval(each, "alike_wall"),
            interval(each, "wall"),
            interval(each, "cpu"),
            f"{100 * each['beside']:.2f}",
            interval(each, "total_cpu"),
        ]
        for row, each in found.items()
        if each
    ]
    print(table(HEADS, lines))
    keep(name, found, settings, packages)
    return 0 if len(lines) == expected else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15.0, help="of training, each row each round")
    parser.add_argument("--block", type=int, default=1, help="steps of one kind in a row")
    parser.add_argument("--workload", default="overhead:torch_loop", help="who trains: MODULE:FUNCTION(laps, reporter)")
    parser.add_argument("--only", nargs="+", choices=tuple(ROWS), default=tuple(ROWS))
    parser.add_argument("--quick", action="store_true", help="one round of 10 s")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds = 1, 10.0
    os.environ.update(STEADY)  # read when a process starts
    rows = {name: ROWS[name] for name in arguments.only}
    found = measure(arguments.workload, arguments.rounds, arguments.seconds, block=arguments.block, rows=rows)
    return show("overhead", found, len(rows), vars(arguments), PACKAGES)


if __name__ == "__main__":
    raise SystemExit(main())
