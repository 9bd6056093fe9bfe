"""What a faulty server costs training: a loop of steps of 10 ms with a reporter under each fault, against the same loop without.

    python benchmarks/hung_server.py [--steps 100] [--rounds 5] [--quick]

Every loop is a process of its own; a round runs all of them, in turn, and the ratio is taken within the round. Beside it, once:
Kubeflow SDK's ``update_trainjob_status`` and Transformers' callback, called in every step as they are meant to be. They post
on the training thread with a time-out of 5 s, so their loops are left off after 12 s; the ratio is then that of a step.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from turns import QUIET, keep, table, versions

from headway.protocol.limits import STATUS_PATH

LOOP = """
import sys, time
steps, kind = int(sys.argv[1]), sys.argv[2]
if kind == "headway":
    import headway
    step = headway.track(total_steps=steps).step
elif kind == "kubeflow":
    from kubeflow.trainer.backends.kubernetes.utils import update_trainjob_status
    def step(**metrics):
        update_trainjob_status(progress_percent=1, metrics=metrics)
elif kind == "transformers":
    from transformers import TrainerState
    from transformers.integrations import KubeflowCallback
    callback, state = KubeflowCallback(), TrainerState(max_steps=steps)
    callback._initialized = True
    def step(**metrics):
        state.global_step += 1
        callback.on_step_end(None, state, None)
else:
    def step(**metrics):
        pass
pause, clock, worst = time.sleep, time.perf_counter, 0.0
pause(0.3)
start = clock()
for i in range(steps):
    pause(0.01)
    began = clock()
    step(loss=i * 0.5, learning_rate=2e-5)
    now = clock()
    worst = max(worst, now - began)
    if now - start > 12:
        break
print((clock() - start) / (i + 1), worst)
"""
PEERS = {"kubeflow": "Kubeflow SDK", "transformers": "Transformers callback"}
PEER_SERVERS = ("ok", "hang", "refuses")


def loop(kind: str, steps: int, url: str, home: str) -> tuple[float, float]:
    """Seconds of a step, and of the longest call."""
    environ = {**os.environ, **QUIET, "HEADWAY_HOME": home, "HEADWAY_FINISH_TIMEOUT": "0.2", "HEADWAY_INTERVAL": "0.2"}
    environ |= {"HEADWAY_URL": url, "HEADWAY_TOKEN": "t", "HEADWAY_JOB": "local/bench"}
    token = Path(home) / "token"
    token.write_text("t")
    status = url + STATUS_PATH.format(namespace="local", name="bench")
    environ |= {"KUBEFLOW_TRAINER_SERVER_URL": status, "KUBEFLOW_TRAINER_SERVER_TOKEN": str(token)}
    command = [sys.executable, "-c", LOOP, str(steps), kind]
    done = subprocess.run(
        command, env=environ, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    seconds, worst = done.stdout.splitlines()[-1].split()
    return float(seconds), float(worst)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 1

    from headway.testing.servers import ScriptedServer
    from headway.testing.sockets import black_hole, refused_url

    rows: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        urls: dict[str, str] = {}
        for fault in ("ok", "hang", "error", "slow", "busy", "garbage"):
            server = stack.enter_context(ScriptedServer(interval=0.2))
            server.behave(fault)
            urls[fault] = server.url
        urls["accepts, never reads"] = stack.enter_context(black_hole())
        urls["refuses"] = refused_url()
        urls["name does not resolve"] = "http://no-such-host.invalid:1"
        results: dict[str, list[tuple[float, float]]] = {f"Headway, {name}": [] for name in urls}
        for number in range(arguments.rounds):
            bare, _ = loop("without", arguments.steps, "", home)
            for name, url in urls.items():
                seconds, worst = loop("headway", arguments.steps, url, home)
                results[f"Headway, {name}"].append((seconds / bare, worst))
            for package, peer in PEERS.items() if number == 0 else ():
                if not versions(package):
                    print(f"left out: {peer} (not installed)", file=sys.stderr)
                    continue
                for name in PEER_SERVERS:
                    seconds, worst = loop(package, arguments.steps, urls[name], home)
                    results[f"{peer}, {name}"] = [(seconds / bare, worst)]
    for name, found in results.items():
        rows[name] = {
            "ratio": statistics.median(each[0] for each in found),
            "worst_ms": max(each[1] for each in found) * 1e3,
        }
    shown = [[name, f"{each['ratio']:.3f}", f"{each['worst_ms']:,.2f}"] for name, each in rows.items()]
    print(table([f"server ({arguments.rounds} rounds)", "ratio", "longest call, ms"], shown))
    keep("hung_server", rows, vars(arguments), tuple(PEERS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
