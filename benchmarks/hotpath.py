"""What one call costs in the training loop: Headway's ``run.step``, and its peers, in the same process, call by call in turn.

    python benchmarks/hotpath.py [--calls 100000] [--json FILE]

Peers that are not installed are left out. Kubeflow's ``update_trainjob_status`` is measured while it throttles, which is its
cheapest state: it takes a lock, looks at the clock, and returns. Each figure contains the two clock readings around the call,
which the row "nothing" shows.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

Call = Callable[[int], None]
BLOCK = 500


def nothing_call() -> Call:
    return lambda _: None


def headway_call(loss: Callable[[int], object]) -> Call:
    import headway

    run = headway.track(total_steps=10**9)
    values = [loss(i) for i in range(BLOCK)]
    step = run.step

    def call(i: int) -> None:
        step(loss=values[i % BLOCK], learning_rate=2e-5)

    return call


def kubeflow_call() -> Call:
    from kubeflow.trainer.backends.kubernetes import utils

    utils._update_last_time()  # as after a post that was taken: from here on it throttles
    utils._MIN_UPDATE_INTERVAL_SECONDS = 1e9
    update = utils.update_trainjob_status
    values = [i * 0.5 for i in range(BLOCK)]

    def call(i: int) -> None:
        update(progress_percent=i, metrics={"loss": values[i % BLOCK], "learning_rate": 2e-5})

    return call


def tqdm_call() -> Call:
    from tqdm import tqdm

    bar = tqdm(total=10**9, file=io.StringIO())
    return lambda _: bar.update()


def peers() -> dict[str, Callable[[], Call]]:
    def torch_scalar(i: int) -> object:
        import torch

        return torch.tensor(i * 0.5)

    return {
        "nothing": nothing_call,
        "headway run.step, 2 floats": lambda: headway_call(lambda i: i * 0.5),
        "headway run.step, torch scalar": lambda: headway_call(torch_scalar),
        "kubeflow update_trainjob_status, throttled": kubeflow_call,
        "tqdm update": tqdm_call,
    }


def measure(calls: dict[str, Call], count: int) -> dict[str, list[int]]:
    """Nanoseconds of each call. The peers take turns in short blocks, so that what disturbs one disturbs all."""
    clock = time.perf_counter_ns
    times: dict[str, list[int]] = {name: [] for name in calls}
    for start in range(0, count, BLOCK):
        for name, call in calls.items():
            spent = times[name].append
            for i in range(start, start + BLOCK):
                began = clock()
                call(i)
                spent(clock() - began)
        time.sleep(0.001)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    from headway.testing.servers import ScriptedServer

    server = ScriptedServer(interval=1.0)
    os.environ.update(HEADWAY_URL=server.url, HEADWAY_TOKEN="t", HEADWAY_JOB="local/bench")
    os.environ.setdefault("KUBEFLOW_TRAINER_SERVER_URL", server.status_url())
    calls: dict[str, Call] = {}
    for name, make in peers().items():
        try:
            calls[name] = make()
        except ImportError as error:
            print(f"left out: {name} ({error})")
    measure(calls, 20 * BLOCK)
    gc.collect()
    times = measure(calls, arguments.calls)
    rows = {}
    print(f"\n{'':45}{'median':>10}{'p99':>10}{'p99.9':>10}   (us)")
    for name, spent in times.items():
        spent.sort()
        figures = {
            "median": spent[len(spent) // 2],
            "p99": spent[len(spent) * 99 // 100],
            "p99.9": spent[len(spent) * 999 // 1000],
        }
        rows[name] = {key: value / 1000 for key, value in figures.items()}
        print(f"{name:45}" + "".join(f"{value:10.2f}" for value in rows[name].values()))
    peer = rows.get("kubeflow update_trainjob_status, throttled")
    ratio = None if peer is None else rows["headway run.step, 2 floats"]["median"] / peer["median"]
    if ratio is not None:
        print(f"\nheadway, floats : kubeflow, throttled = {ratio:.2f} (goal: at most 0.7)")
    if arguments.json:
        report = {
            "python": sys.version,
            "machine": platform.platform(),
            "calls": arguments.calls,
            "us": rows,
            "ratio": ratio,
        }
        arguments.json.write_text(json.dumps(report, indent=2))
    import headway

    if (run := headway.current_run()) is not None:
        run.finish(timeout=1)
    server.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
