"""What one call costs in the training loop: Headway's ``run.step`` with two numbers, and what people put there today.

    python benchmarks/hotpath.py [--rounds 40] [--turn-ms 20] [--quick]

Each contender is a process of its own; they take turns, a short one each a round, calling as fast as they can. A call is timed
by two clock readings around it, which the row "nothing" shows. "CPU" is the processor time per call of all threads of the
process, with flushing at the end, so work that a contender puts off to another thread shows there (wandb's own service, a
process of another language, is not in it).

Kubeflow's ``update_trainjob_status`` and Transformers' callback are measured while they throttle, which is their cheapest state:
nothing is sent, the numbers are thrown away. Once in five seconds they post instead, on the training thread: those are the rows
"that posts", to a loopback server that answers at once.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import tempfile
import time
from array import array
from collections.abc import Callable, Generator
from contextlib import contextmanager
from statistics import median
from typing import Any

from turns import Make, Turn, contenders, keep, table

Call = Callable[[int], object]
MOST = 2000
PACKAGES = ("tqdm", "torch", "tensorboard", "trackio", "wandb", "mlflow", "kubeflow", "transformers")


def turns_of(call: Call) -> Turn:
    """A turn: calls for so many milliseconds, at most ``MOST``; answers the nanoseconds of each, and CPU seconds so far."""
    count = 0

    def turn(milliseconds: float) -> tuple[bytes, float]:
        nonlocal count
        clock = time.perf_counter_ns
        times = array("q")
        spent = times.append
        warm = clock() + int(milliseconds * 1e5)
        while clock() < warm:  # caches, after another's turn
            call(count)
            count += 1
        used = time.process_time()
        end = clock() + int(milliseconds * 1e6)
        for number in range(count, count + MOST):
            began = clock()
            call(number)
            now = clock()
            spent(now - began)
            if now > end:
                break
        count += len(times)
        return times.tobytes(), used

    return turn


@contextmanager
def nothing() -> Generator[Turn, None, None]:
    yield turns_of(lambda _: None)


@contextmanager
def headway_floats() -> Generator[Turn, None, None]:
    import headway

    run = headway.track(total_steps=10**9)
    step = run.step
    yield turns_of(lambda i: step(loss=i * 0.5, learning_rate=2e-5))
    run.finish()


@contextmanager
def headway_torch() -> Generator[Turn, None, None]:
    import torch

    import headway

    losses = [torch.tensor(i * 0.5) for i in range(500)]
    run = headway.track(total_steps=10**9)
    step = run.step
    yield turns_of(lambda i: step(loss=losses[i % 500], learning_rate=2e-5))
    run.finish()


@contextmanager
def kubeflow(interval: float) -> Generator[Turn, None, None]:
    from kubeflow.trainer.backends.kubernetes import utils

    update = utils.update_trainjob_status
    if not update(progress_percent=0):
        raise RuntimeError("the status server did not take the first post")
    utils._MIN_UPDATE_INTERVAL_SECONDS = interval
    yield turns_of(lambda i: update(progress_percent=i % 100, metrics={"loss": i * 0.5, "learning_rate": 2e-5}))


@contextmanager
def transformers_callback(interval: float) -> Generator[Turn, None, None]:
    from transformers import TrainerState
    from transformers.integrations import KubeflowCallback

    callback: Any = KubeflowCallback()
    callback._MIN_UPDATE_INTERVAL = interval
    state = TrainerState(max_steps=10**9, epoch=0.5)
    callback.on_train_begin(None, state, None)
    callback.on_log(None, state, None, logs={"loss": 0.5, "learning_rate": 2e-5})

    def call(i: int) -> None:
        state.global_step = i
        callback.on_step_end(None, state, None)

    yield turns_of(call)


@contextmanager
def tqdm_bar(postfix: bool) -> Generator[Turn, None, None]:
    from tqdm import tqdm

    bar = tqdm(total=10**9, file=io.StringIO())

    def both(i: int) -> None:
        bar.set_postfix(loss=i * 0.5, learning_rate=2e-5)
        bar.update()

    yield turns_of(both if postfix else lambda _: bar.update())
    bar.close()


@contextmanager
def tensorboard() -> Generator[Turn, None, None]:
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = SummaryWriter("events")
    add = writer.add_scalar

    def call(i: int) -> None:
        add("loss", i * 0.5, i)
        add("learning_rate", 2e-5, i)

    yield turns_of(call)
    writer.close()


@contextmanager
def trackio_log() -> Generator[Turn, None, None]:
    os.environ["TRACKIO_DIR"] = os.getcwd()
    import trackio

    trackio.init(project="bench", name="run", embed=False)
    log = trackio.log
    yield turns_of(lambda i: log({"loss": i * 0.5, "learning_rate": 2e-5}))
    trackio.finish()


@contextmanager
def wandb_log() -> Generator[Turn, None, None]:
    import wandb

    run = wandb.init(project="bench", mode="offline", dir=os.getcwd())
    log = run.log
    yield turns_of(lambda i: log({"loss": i * 0.5, "learning_rate": 2e-5}))
    run.finish()


@contextmanager
def mlflow_log(synchronous: bool) -> Generator[Turn, None, None]:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{os.getcwd()}/mlflow.db")
    mlflow.start_run()
    log = mlflow.log_metrics
    yield turns_of(lambda i: log({"loss": i * 0.5, "learning_rate": 2e-5}, step=i, synchronous=synchronous))
    if not synchronous:
        mlflow.flush_async_logging()
    mlflow.end_run()


HEADWAY, KUBEFLOW = "Headway run.step, floats", "Kubeflow SDK update_trainjob_status, throttled"
NO_NUMBERS = {"nothing", "tqdm update alone (no numbers)"}
MAKES: list[tuple[str, Make, tuple[Any, ...]]] = [
    ("nothing", nothing, ()),
    (HEADWAY, headway_floats, ()),
    ("Headway run.step, torch scalar", headway_torch, ()),
    (KUBEFLOW, kubeflow, (1e9,)),
    ("Transformers KubeflowCallback, throttled", transformers_callback, (1e9,)),
    ("tqdm update alone (no numbers)", tqdm_bar, (False,)),
    ("tqdm update + set_postfix", tqdm_bar, (True,)),
    ("TensorBoard add_scalar x 2", tensorboard, ()),
    ("trackio.log", trackio_log, ()),
    ("wandb log, offline", wandb_log, ()),
    ("mlflow.log_metrics, asynchronous", mlflow_log, (False,)),
    ("mlflow.log_metrics (SQLite)", mlflow_log, (True,)),
    ("Kubeflow SDK, the call that posts", kubeflow, (0.0,)),
    ("Transformers callback, the call that posts", transformers_callback, (0.0,)),
]


def measure(rounds: int, turn_ms: float) -> dict[str, dict[str, Any]]:
    """Figures by contender, in microseconds; ``blocks`` are the medians of its turns."""
    from headway.testing.servers import ScriptedServer

    with ScriptedServer(interval=1.0) as server, tempfile.NamedTemporaryFile("w", suffix=".token") as token:
        token.write("t")
        token.flush()
        env = {"HEADWAY_URL": server.url, "HEADWAY_TOKEN": "t", "HEADWAY_JOB": "local/bench"}
        stock = {"KUBEFLOW_TRAINER_SERVER_URL": server.status_url(), "KUBEFLOW_TRAINER_SERVER_TOKEN": token.name}
        found: dict[str, dict[str, Any]] = {}
        with contenders((name, make, args, {**env, **stock}) for name, make, args in MAKES) as those:
            times = {name: array("q") for name in those}
            blocks: dict[str, list[float]] = {name: [] for name in those}
            first: dict[str, float] = {}
            for number in range(-2, rounds):  # two to warm up
                for name, contender in those.items():
                    spent, used = contender.turn(turn_ms)
                    if number >= 0:
                        turn = array("q")
                        turn.frombytes(spent)
                        times[name].extend(turn)
                        blocks[name].append(median(turn) / 1e3)
                        first.setdefault(name, used)
            for name, contender in those.items():
                every = sorted(times[name])
                cpu = contender.close() - first[name]
                found[name] = {
                    "median": every[len(every) // 2] / 1e3,
                    "p99": every[len(every) * 99 // 100] / 1e3,
                    "p99.9": every[len(every) * 999 // 1000] / 1e3,
                    "cpu": cpu / len(every) * 1e6,
                    "calls": len(every),
                    "blocks": blocks[name],
                }
        return found


def ratio(found: dict[str, dict[str, Any]], name: str) -> float:
    """Headway's median over another's, taken in each round; the median of them."""
    pairs = zip(found[HEADWAY]["blocks"], found[name]["blocks"], strict=True)
    return median(mine / theirs for mine, theirs in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--turn-ms", type=float, default=20.0)
    parser.add_argument("--quick", action="store_true", help="8 rounds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 8
    gc.freeze()
    found = measure(arguments.rounds, arguments.turn_ms)
    rows = []
    for name, figures in found.items():
        figures["headway_over_it"] = ratio(found, name)
        shown = [f"{figures[key]:,.2f}" for key in ("median", "p99", "p99.9", "cpu")]
        rows.append([name, *shown, f"{figures['headway_over_it']:.2f}"])
    print(table(["one call, in us", "median", "p99", "p99.9", "CPU", "Headway over it"], rows))
    if KUBEFLOW in found:
        print(
            f"\nHeadway over Kubeflow's throttled call: {found[KUBEFLOW]['headway_over_it']:.2f} (goal: at most 0.70)"
        )
    mine = {"nothing", HEADWAY, "Headway run.step, torch scalar"}
    cheaper = [name for name, each in found.items() if name not in mine and each["headway_over_it"] >= 1]
    print(f"Cheaper than Headway: {', '.join(cheaper) or 'none'}")
    for figures in found.values():
        del figures["blocks"]
    keep("hotpath", found, {"rounds": arguments.rounds, "turn_ms": arguments.turn_ms, "unit": "us"}, PACKAGES)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
