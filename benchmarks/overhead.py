"""What Headway costs a real training step: a small PyTorch model on the CPU, with and without it, in the same run.

    python benchmarks/overhead.py [--rounds 120] [--turn-ms 100] [--quick]

Each loop is a process of its own and trains on one thread; they take turns, a tenth of a second each a round, forwards and
backwards. Every step reports its loss and its gradient norm, as the tensors that they are, and its learning rate. The reporter
sends five times as often as by default, as it has a fifth of the time. The ratio is taken between the medians of the same
round, of wall time and of processor time (all threads of the process); half of the rounds lie within the quartiles. "ratio of
p10" compares the steps that nothing disturbed: the fastest tenth ends there, over all rounds.
"without, again" is the same loop as "without" once more: how far apart two equal loops come out on this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from statistics import median, quantiles
from typing import Any

from turns import Make, Turn, contenders, keep, table

BASE = "without"
PACKAGES = ("torch", "transformers", "kubeflow")


@contextmanager
def training(reporter: str) -> Generator[Turn, None, None]:
    """Trains; a turn answers the seconds of each step, and the processor seconds per step of the whole process."""
    import torch

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batches = [
        (torch.randn(64, 256), torch.randint(0, 10, (64,))) for _ in range(200)
    ]  # more than it can learn by heart
    tell, finish = REPORTERS[reporter]()
    count = 0

    def turn(seconds: float) -> tuple[list[float], float]:
        nonlocal count
        clock, spent, used = time.perf_counter, [], time.process_time()
        until = clock() + seconds
        began = clock()
        while began < until:
            inputs, labels = batches[count % len(batches)]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            count += 1
            tell(count, loss, norm)
            now = clock()
            spent.append(now - began)
            began = now
        return spent, (time.process_time() - used) / len(spent)

    yield turn
    finish()


def no_reporter() -> Any:
    return (lambda *_: None), (lambda: None)


def headway_reporter() -> Any:
    import headway

    run = headway.track(total_steps=10**9)
    return (lambda _, loss, norm: run.step(loss=loss.detach(), learning_rate=1e-4, grad_norm=norm)), lambda: run.finish(
        timeout=0.2
    )


def kubeflow_reporter() -> Any:
    from kubeflow.trainer.backends.kubernetes import utils

    def tell(step: int, loss: Any, norm: Any) -> None:
        utils.update_trainjob_status(
            progress_percent=step % 100, metrics={"loss": loss.item(), "learning_rate": 1e-4, "grad_norm": norm.item()}
        )

    return tell, (lambda: None)


REPORTERS = {"none": no_reporter, "headway": headway_reporter, "kubeflow": kubeflow_reporter}


STEADY = {"MALLOC_TRIM_THRESHOLD_": str(2**30), "MALLOC_MMAP_THRESHOLD_": str(2**30)}
"""Memory of a step's tensors is kept for the next one: else chance decides which loop asks the kernel for it each time."""


def measure(rounds: int, seconds: float) -> dict[str, dict[str, Any]]:
    """Figures by loop; seconds."""
    from headway.testing.servers import ScriptedServer

    with ExitStack() as stack:
        token = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".token"))
        token.write("t")
        token.flush()
        servers = {}
        for behaviour in ("ok", "hang"):
            servers[behaviour] = stack.enter_context(ScriptedServer(interval=0.2))
            servers[behaviour].behave(behaviour)

        def env(behaviour: str) -> dict[str, str]:
            server = servers[behaviour]
            return {
                "HEADWAY_URL": server.url,
                "HEADWAY_TOKEN": "t",
                "HEADWAY_JOB": "local/bench",
                "HEADWAY_INTERVAL": "0.2",
                "KUBEFLOW_TRAINER_SERVER_URL": server.status_url(),
                "KUBEFLOW_TRAINER_SERVER_TOKEN": token.name,
            }

        makes: list[tuple[str, Make, tuple[str], dict[str, str]]] = [
            (BASE, training, ("none",), {}),
            ("without, again", training, ("none",), {}),
            ("Headway, healthy server", training, ("headway",), env("ok")),
            ("Headway, hung server", training, ("headway",), env("hang")),
            ("Kubeflow SDK, healthy server", training, ("kubeflow",), env("ok")),
        ]
        times: dict[str, list[tuple[list[float], float]]] = {}
        with contenders(makes) as those:
            names = list(those)
            for number in range(-1, rounds):
                for name in names if number % 2 else reversed(names):
                    spent = those[name].turn(seconds)
                    if number >= 0:
                        times.setdefault(name, []).append(spent)
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        pairs = list(zip(times[name], times[BASE], strict=True))
        ratios = [median(mine) / median(base) for (mine, _), (base, _) in pairs]
        every = sorted(step for steps, _ in times[name] for step in steps)
        found[name] = {
            "median_ms": median(every) * 1e3,
            "p99_ms": every[len(every) * 99 // 100] * 1e3,
            "worst_ms": every[-1] * 1e3,
            "ratio": median(ratios),
            "ratio_quartiles": quantiles(ratios, n=4)[::2],
            "undisturbed_ms": every[len(every) // 10] * 1e3,
            "cpu_ratio": median(mine / base for (_, mine), (_, base) in pairs),
            "steps": len(every),
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--turn-ms", type=float, default=100.0)
    parser.add_argument("--quick", action="store_true", help="30 rounds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 30
    os.environ.update(STEADY)  # read when a process starts
    found = measure(arguments.rounds, arguments.turn_ms / 1e3)
    rows = []
    for name, each in found.items():
        low, high = each["ratio_quartiles"]
        each["undisturbed_ratio"] = each["undisturbed_ms"] / found[BASE]["undisturbed_ms"]
        shown = [f"{each[key]:.2f}" for key in ("median_ms", "p99_ms", "worst_ms")]
        rows.append(
            [
                name,
                *shown,
                f"{each['ratio']:.3f}",
                f"{low:.2f} to {high:.2f}",
                f"{each['cpu_ratio']:.3f}",
                f"{each['undisturbed_ratio']:.3f}",
            ]
        )
    print(
        table(
            ["a training step", "median ms", "p99 ms", "worst ms", "ratio", "quartiles", "CPU ratio", "ratio of p10"],
            rows,
        )
    )
    keep("overhead", found, vars(arguments), PACKAGES)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
